"""Traces made by hand, with known answers."""

from typing import Any

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.bench.cell import Arm, Cell, Job, Row
from flashevolve.bench.trace import Trace, trace_of
from flashevolve.outcome import Usage
from flashevolve.pools.pareto import ParetoPool, insert

CELL = Cell(minutes=10.0, concurrency=4)
JOB = Job(suite="made", arm=Arm(name="hand"), cell=CELL, seed=0, measures=())
STARTED = ev.RunStarted(
    run_id="", algorithm="gepa", policy="full", schedule="async", rng_seed=0,
    artifact={"system": "0"}, config={}, data={}, pool="", pool_state={}, stages=[],
    simulated=True, prices={}, package="0",
)  # fmt: skip


def select(ticket: int, lineage: tuple[int, ...] = ()) -> ev.ItemSelected:
    return ev.ItemSelected(
        ticket=ticket, source="mutate", ordinal=ticket, version=0, reads=["pool"],
        lineage=list(lineage), enter="rollout", payload={}, ops=[],
    )  # fmt: skip


def call(number: int, ticket: int) -> ev.CallReserved:
    return ev.CallReserved(
        call=number, ticket=ticket, stage="rollout", visit=1, map_key="", name="", request_hash="",
        occurrence=0, attempt=0, role="task", model="m", tokens=100, usd=0.0,
        request={"messages": [], "max_output_tokens": 100},
    )  # fmt: skip


def settle(number: int, ticket: int, tokens: int, latency_s: float) -> ev.CallSettled:
    usage = Usage(calls=1, tokens_in=0, tokens_out=tokens)
    return ev.CallSettled(
        call=number, ticket=ticket, status="ok", usage=usage, usage_known=True, reply=None,
        latency_s=latency_s,
    )  # fmt: skip


def orphan(number: int, ticket: int, tokens: int) -> ev.CallSettled:
    """A call that was cut off, at the worst case that was reserved for it."""
    usage = Usage(calls=1, tokens_in=0, tokens_out=tokens)
    return ev.CallSettled(
        call=number, ticket=ticket, status="orphaned", usage=usage, usage_known=False, reply=None,
    )  # fmt: skip


def admit(ticket: int, text: str, score: float, parents: tuple[int, ...], *marks: str) -> Any:
    op = insert(Artifact({"system": text}), parents=parents, scores={"v": score}, ticket=ticket)
    return ev.PoolChanged(
        ticket=ticket, version=ticket, bumped=True, ops=[op], scopes=["pool"], text="",
        marks=list(marks),
    )  # fmt: skip


def end(ticket: int, outcome: Any) -> ev.ItemEnded:
    return ev.ItemEnded(ticket=ticket, outcome=outcome, reason="", stage=None)


def count(ticket: int, name: str, metric_calls: int = 0) -> list[Any]:
    taken = ev.StageTaken(ticket=ticket, stage="s", visit=1, metric_calls=metric_calls)
    ended = ev.StageEnded(
        ticket=ticket, stage="s", visit=1, to=None, payload=None, metric_calls=metric_calls,
        counts=name,
    )  # fmt: skip
    return [taken, ended]


def gap(ticket: int, width: int) -> ev.GapChecked:
    return ev.GapChecked(ticket=ticket, gap=width, verdict="continue", to=None)


def a_trace(timed: list[tuple[float, Any]], job: Job = JOB) -> Trace:
    """Returns the trace of events at their times; an artifact scores its text's number on test."""
    events = [(0.0, STARTED), *timed]
    records = [ev.Record(seq=i, t_s=t, event=e) for i, (t, e) in enumerate(events, 1)]
    return trace_of(job, records, ParetoPool(), scored, simulated=True)


def scored(artifact: Artifact, replica: int) -> list[float]:
    return [float(artifact["system"])] * 4


def a_row(arm: str, seed: int, world: str = "w", **figures: float | None) -> Row:
    """Returns a row whose anytime curve rises from 0 to `test` at minute `at`."""
    test, at = figures.get("test", 0.5) or 0.0, figures.pop("at", 5.0) or 0.0
    curve = [[0.0, 0, 0, None, 0.0], [60 * at, 100, 10, 0.9, test], [600.0, 200, 20, 0.9, test]]
    return Row(
        suite="made", group="", arm=arm, cell=CELL.name, seed=seed, key=f"{arm}/{seed}",
        simulated=bool(world), world=world, model="m", package="0", cpu_s=1.0,
        figures={"test": test, **figures}, curves={"curve": curve},
    )  # fmt: skip
