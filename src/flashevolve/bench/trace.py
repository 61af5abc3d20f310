"""Trace: one run as its events tell it, for measures to read.

Everything is folded from the records; a real run's log is read the same way as a simulated one's.
`bests` are the changes of the best confirmed candidate, in order, with what had been spent by then.
Scoring on the test split comes after evolution: it adds neither calls, nor tokens, nor time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flashevolve.artifact import Artifact
from flashevolve.bench.cell import Job
from flashevolve.bench.spending import Spending, spending_of
from flashevolve.engine.session import TEST_STAGE
from flashevolve.engine.state import RunState
from flashevolve.events import CallReserved, CallSettled, DrainStarted, Record, RunStarted
from flashevolve.pools.pool import Pool

ScoreOnTest = Callable[[Artifact, int], list[float] | None]
"""(artifact, replica) -> its score on each test example, in order; None if it was not scored."""


@dataclass(frozen=True, kw_only=True)
class Best:
    """A candidate became the best confirmed one."""

    t_s: float
    artifact: Artifact
    val: float | None
    """Its mean on validation; None for the seed before it was validated."""
    tokens: float | None = None
    """What had been spent by then; None where it was not watched."""
    metric_calls: float | None = None


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
    """When evolution ended: at the deadline, or with the last event before scoring on test."""
    spending: Spending
    n_calls: int
    tokens: float
    """Of all calls of evolution, input and output."""
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
    best_id, end_s, before_s = -1, None, 0.0
    spending, n_calls, tokens = spending_of(records), 0, 0.0
    for record in records:
        state.apply(record)
        event = record.event
        if isinstance(event, CallSettled):
            n_calls += spending.counts(event)
            tokens += spending.tokens(event)
        elif end_s is None and (
            (isinstance(event, DrainStarted) and event.reason == "deadline")
            or (isinstance(event, CallReserved) and event.stage == TEST_STAGE)
        ):
            end_s = record.t_s if isinstance(event, DrainStarted) else before_s
        before_s = record.t_s
        best = pool.best()
        if best is not None and best.id != best_id:
            best_id = best.id
            bests.append(
                Best(
                    t_s=record.t_s,
                    tokens=tokens,
                    metric_calls=state.ledger.spent["metric_calls"],
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
        spending=spending,
        n_calls=n_calls,
        tokens=tokens,
        test=test,
        simulated=simulated,
    )
