"""What starts Combee's steps where the batch is dynamic: trials first, then steps of the best size.

Invariants: trials run one at a time and are named state of the pool, so that a resumed run goes on
with them; a size is tried up to `MAX_TRIES` times, until a step got as far as its screening and was
not interrupted by a kill; a try counts when it has ended, so that neither mutation nor merge starts
before the last one is over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from flashevolve.algorithms.gepa.sources import MergeSource, MutateSource, Step
from flashevolve.algorithms.options import Options
from flashevolve.engine.item import Selection
from flashevolve.engine.workflow import Setup
from flashevolve.policies.batch import choose_size, epoch_s, trial_sizes
from flashevolve.pools.pareto import Ops, ParetoPool, pareto, put
from flashevolve.pools.pool import Pool

TRIED, TIMED = "batch.tried", "batch.timed"
"""Pool state: size -> trials that ended, and size -> [examples, seconds] of the one that was timed;
where padding repeats examples, a batch holds fewer. Keys are texts, as JSON wants them."""
MAX_TRIES = 3
TIMED_STAGES = ("rollout", "propose", "screen")
"""What a trial's time is made of. The full validation does not depend on the batch, and only some
steps get to it."""


@dataclass(frozen=True, kw_only=True)
class CombeeStep(Step):
    """GEPA's step with single reflections in place of one text."""

    reflections: tuple[str, ...] = ()
    """What the parent did on each of `examples`, in words."""
    trial: int = 0
    """The batch size that the step tries; 0 = it is no trial."""
    n_drawn: int = 0
    """Examples that a trial began with; an early release may go on with fewer."""


@dataclass(frozen=True)
class Batches:
    """The sizes of a dynamic batch, as the pool's state has them."""

    sizes: tuple[int, ...]
    """To be tried."""
    tau_s: float | None
    largest: int
    n_train: int

    def due(self, state: Mapping[str, Any]) -> int | None:
        """Returns the size to try next; None if the trials are over."""
        timed, tried = state.get(TIMED, {}), state.get(TRIED, {})
        left = (s for s in self.sizes if str(s) not in timed and tried.get(str(s), 0) < MAX_TRIES)
        return next(left, None)

    def chosen(self, state: Mapping[str, Any]) -> int:
        """Returns the size that the trials speak for; the smallest if none was measured."""
        trials = state.get(TIMED, {}).values()
        epochs_s = {n: epoch_s(step_s, n, self.n_train) for n, step_s in trials}
        return choose_size(epochs_s, self.tau_s, self.largest) if epochs_s else self.sizes[0]


def batches(sizes: tuple[int, ...], tau_s: float | None, largest: int, n_train: int) -> Batches:
    """Returns the sizes of a dynamic batch for a training set."""
    return Batches(trial_sizes(sizes, largest), tau_s, largest, n_train)


@dataclass(frozen=True)
class TrialSource:
    """Starts one step of each size, one at a time."""

    config: Options
    setup: Setup
    batches: Batches
    name: str = "trial"

    def cap(self, pool: Pool) -> int:
        """Returns 1: steps beside a trial would be measured with it."""
        return 1

    def select(self, pool: Pool, rng: Random) -> Selection[CombeeStep] | None:
        """Returns a step of the size that is to be tried next."""
        pool = pareto(pool)
        if not pool.means or (size := self.batches.due(pool.state)) is None:
            return None
        found = mutation(self.config, self.setup, pool, size, rng)
        n_drawn = len(found.payload.examples)
        return replace(found, payload=replace(found.payload, trial=size, n_drawn=n_drawn))


@dataclass(frozen=True)
class BatchSource:
    """Starts steps of the chosen size once the trials are over."""

    config: Options
    setup: Setup
    batches: Batches
    name: str = "mutate"

    def select(self, pool: Pool, rng: Random) -> Selection[CombeeStep] | None:
        """Returns a parent, the next batch and the components to rewrite."""
        pool = pareto(pool)
        if not pool.means or self.batches.due(pool.state) is not None:
            return None
        size = self.batches.chosen(pool.state)
        return mutation(self.config, self.setup, pool, size, rng)


@dataclass(frozen=True)
class LaterMerges:
    """Starts merges, too, only once the trials are over."""

    merges: MergeSource
    batches: Batches
    name: str = "merge"

    def cap(self, pool: Pool) -> int:
        """Returns how many merges may still be admitted."""
        return self.merges.cap(pool)

    def select(self, pool: Pool, rng: Random) -> Selection[Step] | None:
        """Returns a merge that is due."""
        trying = self.batches.due(pareto(pool).state) is not None
        return None if trying else self.merges.select(pool, rng)


def mutation(
    config: Options, setup: Setup, pool: ParetoPool, size: int, rng: Random
) -> Selection[CombeeStep]:
    """Returns the start of a step on the next `size` examples."""
    source = MutateSource(config, setup, size, CombeeStep)
    return source.mutation(pool.state, source.parent(pool, rng), rng)  # type: ignore[return-value]


def timed(step: CombeeStep, worked_s: Mapping[str, float], state: Mapping[str, Any]) -> Ops:
    """Returns what an ended trial adds to the pool's state: a try, and its time if it has one."""
    if not step.trial:
        return ()
    size, tried = str(step.trial), state.get(TRIED, {})
    ops: Ops = (put(TRIED, {**tried, size: tried.get(size, 0) + 1}),)
    if not all(stage in worked_s for stage in TIMED_STAGES):
        return ops
    seconds = sum(worked_s[stage] for stage in TIMED_STAGES)
    return (*ops, put(TIMED, {**state.get(TIMED, {}), size: [step.n_drawn, seconds]}))
