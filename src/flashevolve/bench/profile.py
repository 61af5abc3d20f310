"""Profile: where a run's time and tokens go, from its trace alone.

A step's time is what its stages held it: waiting in a queue is left out, and waiting for a slot of
the request limit is not. The seed's own validation is no step. Lengths are those of answers that
were written to the end or cut at their limit.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from flashevolve.bench.measure import binned, spans_of
from flashevolve.bench.served import SERVED
from flashevolve.bench.trace import Trace
from flashevolve.events import CallReserved, CallSettled, StageEnded, StageTaken

LONG_TOKENS = 5000
"""The paper's Figure 2 speaks of answers above this."""
ALL = "all"
N_BINS = 60


def stages(trace: Trace) -> dict[str, Any]:
    """Shares of the steps' time by stage: of all steps, and of those that were swept."""
    took, swept, proposed = _durations(trace)
    steps = [took[ticket] for ticket in proposed]
    whole = [took[ticket] for ticket in proposed & swept]
    names = trace.state.started.stages if trace.state.started else []
    figures: dict[str, Any] = {"steps": len(steps), "whole_steps": len(whole)}
    for what, those in (("share", steps), ("whole_share", whole)):
        for name, share in _shares(those, names).items():
            figures[f"{what}_{name}"] = share
    totals = [sum(step.values()) for step in whole]
    figures["whole_step_s"] = fmean(totals) if totals else None
    return figures


def _durations(trace: Trace) -> tuple[dict[int, dict[str, float]], set[int], set[int]]:
    """Returns seconds by ticket and stage, and which tickets were swept and proposed."""
    took: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    since: dict[tuple[int, str], float] = {}
    swept, proposed = set(), set()
    for record in trace.records:
        event = record.event
        if isinstance(event, StageTaken):
            since[event.ticket, event.stage] = record.t_s
        elif isinstance(event, StageEnded):
            began_s = since.pop((event.ticket, event.stage), record.t_s)
            took[event.ticket][event.stage] += record.t_s - began_s
            if event.counts == "swept":
                swept.add(event.ticket)
            elif event.counts == "proposed":
                proposed.add(event.ticket)
    return took, swept, proposed


def _shares(steps: Sequence[Mapping[str, float]], names: Sequence[str]) -> dict[str, float | None]:
    total = sum(sum(step.values()) for step in steps)
    return {
        name: sum(step.get(name, 0.0) for step in steps) / total if total else None
        for name in names
    }


def lengths(trace: Trace) -> dict[str, Any]:
    """Output tokens of an answer by role: mean, median, tails."""
    roles: dict[int, str] = {}
    tokens: dict[str, list[int]] = {ALL: []}
    for record in trace.records:
        event = record.event
        if isinstance(event, CallReserved):
            roles[event.call] = event.role
        elif isinstance(event, CallSettled) and event.status in SERVED:
            written = event.usage.tokens_out
            tokens[ALL].append(written)
            tokens.setdefault(roles[event.call], []).append(written)
    figures: dict[str, Any] = {}
    for role, found in tokens.items():
        figures |= {f"{name}_{role}": value for name, value in tail(found).items()}
    return figures


def tail(values: Sequence[int]) -> dict[str, float | None]:
    """Returns mean, quantiles (the smallest value that so many do not exceed) and long share."""
    if not values:
        return dict.fromkeys(("n", "mean", "p50", "p90", "p99", "long"))
    ranked = sorted(values)
    n = len(ranked)

    def at(percent: int) -> float:
        return float(ranked[max(0, -(-percent * n // 100) - 1)])

    long = sum(value > LONG_TOKENS for value in ranked) / n
    return {"n": n, "mean": fmean(ranked), "p50": at(50), "p90": at(90), "p99": at(99),
            "long": long}  # fmt: skip


def in_flight(trace: Trace) -> dict[str, Any]:
    """Requests in flight: mean, most at one moment, and over time."""
    spans = spans_of(trace)
    loads = binned(spans, trace.end_s, N_BINS)
    return {
        "in_flight": fmean(loads) if loads else None,
        "peak_in_flight": peak(spans),
        "loads": [round(load, 2) for load in loads],
    }


def peak(spans: Sequence[tuple[float, float]]) -> int:
    """Returns the most spans that overlap; one that ends makes room for one that begins."""
    changes = sorted([(start, 1) for start, _ in spans] + [(stop, -1) for _, stop in spans])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
