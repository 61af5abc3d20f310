"""What starts GEPA's steps: the seed, a merge that is due, a mutation.

Everything that a step will need is chosen here, from the pool as it is; the operations that move
pointers past it are recorded with the selection.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from flashevolve.algorithms.components import next_components
from flashevolve.algorithms.gepa.merge import N_SCREENED, find_merge
from flashevolve.algorithms.minibatch import next_minibatch
from flashevolve.algorithms.objectives import Named
from flashevolve.algorithms.options import Options
from flashevolve.engine.item import Selection
from flashevolve.engine.workflow import Setup
from flashevolve.policies import selection
from flashevolve.policies.sampling import contrasting_ids
from flashevolve.pools.pareto import Ops, ParetoPool, expect, pareto, put
from flashevolve.pools.pool import Pool
from flashevolve.task import Split

SEED_STARTED, MERGES_DUE, MERGES_ADMITTED = "seed.started", "merge.due", "merge.admitted"
MUTATIONS = ("mutate", "trial")
"""Names of the sources of mutations, those of algorithms included that build on this one."""


@dataclass(frozen=True, kw_only=True)
class Step(Named):
    """One step: what was selected, and what its stages have found out so far."""

    parents: tuple[int, ...] = ()
    """One for a mutation, two for a merge, none for the seed."""
    split: Split = "train"
    """Where `examples` come from: a mutation's from train, a merge's from val."""
    examples: tuple[str, ...] = ()
    """Ids on which the child is screened."""
    components: tuple[str, ...] = ()
    """Names of what the step rewrites."""
    base_scores: Mapping[str, float] | None = None
    """The parent's scores on `examples`; None = not known, as after a repair."""
    records: str = ""
    """What the parent did on `examples`, in words."""
    child: Mapping[str, str] | None = None
    """The new artifact's components; None until there is one."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """The child's scores on the validation set."""


@dataclass(frozen=True)
class SeedSource:
    """Starts the run: the seed is scored on the validation set, once.

    It is a candidate from the start, since nothing can keep it from being admitted: its rollouts
    need not wait for the last of its scores.
    """

    setup: Setup
    step: type[Step] = Step
    name: str = "seed"

    def select(self, pool: Pool, rng: Random) -> Selection[Step] | None:
        """Returns the seed, to enter at `evaluate`, unless that was started before."""
        if pool.candidates or pareto(pool).state.get(SEED_STARTED):
            return None
        seed = self.step(child=self.setup.seed.to_json())
        ops = (put(SEED_STARTED, True), expect(self.setup.seed))
        return Selection(payload=seed, enter="evaluate", ops=ops)


@dataclass(frozen=True)
class MergeSource:
    """Starts a merge when one is due and two candidates complement each other.

    Admitted and in flight together are never more than `merge_max`.
    """

    config: Options
    step: type[Step] = Step
    name: str = "merge"

    def cap(self, pool: Pool) -> int:
        """Returns how many merges may still be admitted."""
        return merges_left(pareto(pool), self.config)

    def select(self, pool: Pool, rng: Random) -> Selection[Step] | None:
        """Returns a merge, to enter at `screen`, and takes one off those that are due."""
        pool = pareto(pool)
        due = pool.state.get(MERGES_DUE, 0)
        if not due:
            return None
        # What is only believed in has too few scores to compare with.
        candidates = [
            c for c in sorted(pool.parent_weights) if pool.candidates[c].status == "confirmed"
        ]
        found = find_merge(pool, candidates, self.config.merge_overlap_floor, rng)
        if found is None:
            return None
        first, second = (pool.candidates[p].scores for p in found.parents)
        examples, child = contrasting_ids(first, second, N_SCREENED, rng), found.artifact.to_json()
        step = self.step(parents=found.parents, split="val", examples=examples, child=child)
        ops = (*found.ops, put(MERGES_DUE, due - 1))
        return Selection(payload=step, lineage=found.parents, enter="screen", ops=ops)


@dataclass(frozen=True)
class MutateSource:
    """Starts a mutation as soon as there is a candidate."""

    config: Options
    setup: Setup
    n_examples: int
    """Size of a minibatch."""
    step: type[Step] = Step
    name: str = "mutate"

    def select(self, pool: Pool, rng: Random) -> Selection[Step] | None:
        """Returns a parent, the next minibatch and the components to rewrite."""
        pool = pareto(pool)
        if not self.can_start(pool):
            return None
        return self.mutation(pool.state, self.parent(pool, rng), rng)

    def can_start(self, pool: ParetoPool) -> bool:
        """Says whether there is a candidate to mutate; one that is awaited will do."""
        return bool(pool.means) or pool.awaited is not None

    def parent(self, pool: ParetoPool, rng: Random) -> int:
        """Returns the candidate to mutate; the awaited one while no other has a score."""
        if not pool.means and pool.awaited is not None:
            return pool.awaited.id
        match self.config.selection:
            case "pareto":
                return selection.draw_parent(pool.parent_weights, rng)
            case "current_best":
                return selection.current_best(pool.means)
            case "epsilon_greedy":
                return selection.epsilon_greedy(pool.means, rng, self.config.epsilon)
            case "top_k_pareto":
                return selection.draw_parent(pool.top_weights(self.config.top_k), rng)

    def mutation(self, state: Mapping[str, Any], parent: int, rng: Random) -> Selection[Step]:
        """Returns the start of a mutation of `parent`; `state` is the pool's."""
        ids, ops = next_minibatch(state, self.setup.train_ids, self.n_examples, rng)
        names, moves = next_components(
            state, parent, tuple(self.setup.seed), self.config.components
        )
        step = self.step(parents=(parent,), examples=tuple(dict.fromkeys(ids)), components=names)
        return Selection(payload=step, lineage=(parent,), ops=(*ops, *moves))


def merges_left(pool: ParetoPool, config: Options) -> int:
    """Returns how many merges may be admitted beyond those that were."""
    return config.merge_max - int(pool.state.get(MERGES_ADMITTED, 0))


def admission(source: str, pool: ParetoPool, config: Options) -> Ops:
    """Returns what an admitted step changes: a merge is counted, a mutation makes one due."""
    if source == "merge":
        return (put(MERGES_ADMITTED, pool.state.get(MERGES_ADMITTED, 0) + 1),)
    if source in MUTATIONS and config.merge and merges_left(pool, config):
        return (put(MERGES_DUE, pool.state.get(MERGES_DUE, 0) + 1),)
    return ()
