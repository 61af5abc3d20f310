"""What starts steps of several tasks: P parents with N minibatches each; all else is one task."""

from dataclasses import dataclass
from random import Random

from flashevolve.algorithms.gepa.sources import MutateSource, Step
from flashevolve.engine.item import Selection
from flashevolve.engine.workflow import Capped, Source
from flashevolve.pools.pareto import pareto
from flashevolve.pools.pool import Pool


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """The tasks of one step."""

    steps: tuple[Step, ...]
    """Those that have not ended."""
    n_counted: int = 1
    """How many the stage before this one counts."""


@dataclass(frozen=True)
class PxNSource:
    """Starts P x N mutations as one step."""

    one: MutateSource
    parents: int
    proposals: int
    name: str = "mutate"

    def select(self, pool: Pool, rng: Random) -> Selection[Tasks] | None:
        """Returns N minibatches for each of P parents, one parent drawn after the other's N."""
        pool = pareto(pool)
        if not self.one.can_start(pool):
            return None
        # Each task moves the pointers on, and the next one starts from there.
        state, drawn = dict(pool.state), list[Selection[Step]]()
        for _ in range(self.parents):
            parent = self.one.parent(pool, rng)
            for _ in range(self.proposals):
                drawn.append(self.one.mutation(state, parent, rng))
                state |= {op["key"]: op["value"] for op in drawn[-1].ops}
        return Selection(
            payload=Tasks(steps=tuple(one.payload for one in drawn)),
            lineage=tuple(dict.fromkeys(parent for one in drawn for parent in one.lineage)),
            ops=tuple(op for one in drawn for op in one.ops),
        )


@dataclass(frozen=True)
class OneTask:
    """A source of single steps as one of steps with a single task."""

    source: Source[Step]

    @property
    def name(self) -> str:
        """Names the source as before."""
        return self.source.name

    def select(self, pool: Pool, rng: Random) -> Selection[Tasks] | None:
        """Returns what the source starts, as the only task."""
        found = self.source.select(pool, rng)
        return (
            None
            if found is None
            else Selection(
                payload=Tasks(steps=(found.payload,)),
                lineage=found.lineage,
                enter=found.enter,
                ops=found.ops,
            )
        )


@dataclass(frozen=True)
class OneCappedTask(OneTask):
    """The same of a source that may have only so many in flight."""

    def cap(self, pool: Pool) -> int:
        """Returns how many may be in flight."""
        assert isinstance(self.source, Capped)
        return self.source.cap(pool)


def together(source: Source[Step]) -> OneTask:
    """Returns a source of single steps as one of steps with a single task."""
    return OneCappedTask(source) if isinstance(source, Capped) else OneTask(source)
