"""Trace: one run as its events tell it, for measures to read.

Everything is folded from the records; a real run's log is read the same way as a simulated one's.
`bests` are the changes of the best confirmed candidate, in order, with what had been spent by then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flashevolve.artifact import Artifact
from flashevolve.bench.cell import Job
from flashevolve.engine.state import RunState
from flashevolve.events import DrainStarted, Record, RunStarted
from flashevolve.pools.pool import Pool

ScoreOnTest = Callable[[Artifact, int], list[float] | None]
"""(artifact, replica) -> its score on each test example, in order; None if it was not scored."""


@dataclass(frozen=True, kw_only=True)
class Best:
    """A candidate became the best confirmed one."""

    t_s: float
    tokens: float
    metric_calls: float
    artifact: Artifact
    val: float | None
    """Its mean on validation; None for the seed before it was validated."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One run, over."""

    job: Job
    records: Sequence[Record]
    state: RunState
    """Folded to the end."""
    bests: Sequence[Best]
    """The first is the seed at time 0."""
    end_s: float
    """When evolution ended: at the deadline, or with the last event."""
    test: ScoreOnTest
    simulated: bool

    @property
    def minutes(self) -> float:
        """How long evolution took."""
        return self.end_s / 60


def trace_of(
    job: Job, records: Sequence[Record], pool: Pool, test: ScoreOnTest, *, simulated: bool
) -> Trace:
    """Folds a run's records; `pool` is a new one of the run's workflow."""
    started = records[0].event
    assert isinstance(started, RunStarted), "a log begins with run_started"
    state = RunState(pool, {}, lambda payload: payload)
    seed = Artifact(started.artifact)
    bests = [Best(t_s=0.0, tokens=0, metric_calls=0, artifact=seed, val=None)]
    best_id, end_s = -1, None
    for record in records:
        state.apply(record)
        if isinstance(record.event, DrainStarted) and record.event.reason == "deadline":
            end_s = record.t_s
        best = pool.best()
        if best is not None and best.id != best_id:
            best_id, spent = best.id, state.ledger.spent
            bests.append(
                Best(
                    t_s=record.t_s,
                    tokens=spent["tokens"],
                    metric_calls=spent["metric_calls"],
                    artifact=best.artifact,
                    val=best.mean,
                )
            )
    return Trace(
        job=job,
        records=records,
        state=state,
        bests=bests,
        end_s=state.t_s if end_s is None else end_s,
        test=test,
        simulated=simulated,
    )
