"""Measures: figures and curves of one run, from its trace alone.

Counts are those of the events, up to the end of evolution. Rates are per minute of that time. Every
token of every call of evolution counts, whatever it was for and whether its step came to anything.
Sweeps are those of children: the seed's, which every arm makes alike, is not among them. A figure
that a run cannot give is None.
"""

from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any

from flashevolve.artifact import Artifact
from flashevolve.bench.trace import Trace
from flashevolve.candidate import Candidate
from flashevolve.engine.graph import REPAIR
from flashevolve.events import (
    CallReserved,
    CallSettled,
    GapChecked,
    ItemRepaired,
    ItemSelected,
    PoolChanged,
    StageEnded,
)

COUNTED = ("proposed", "swept", "admitted", "front")
MINIBATCH = 3
N_MINIBATCHES = 2000
"""Minibatches that the null child's rate is a mean over."""

# -- how much was done -----------------------------------------------------------------------------


def work(trace: Trace) -> dict[str, Any]:
    """Counts, rates and tokens."""
    counts, minutes = dict(trace.state.counters), trace.minutes
    counts["swept"] = counts.get("swept", 0) - _seed_sweeps(trace)
    figures: dict[str, Any] = {"minutes": minutes, "calls": trace.n_calls, "tokens": trace.tokens}
    figures["metric_calls"] = trace.state.ledger.spent["metric_calls"]
    for name in COUNTED:
        figures[name] = counts.get(name, 0)
        figures[f"{name}_per_min"] = figures[name] / minutes if minutes else None
    figures["front_per_hour"] = 60 * figures["front"] / minutes if minutes else None
    told = [r.event for r in trace.records if isinstance(r.event, CallSettled)]
    tokens_out = sum(map(trace.spending.tokens_out, told))
    figures["tokens_out_per_s"] = tokens_out / trace.end_s if trace.end_s else None
    return figures


def _seed_sweeps(trace: Trace) -> int:
    """Returns how many counted sweeps were of items without parents: the seed's."""
    orphans = {
        r.event.ticket
        for r in trace.records
        if isinstance(r.event, ItemSelected) and not r.event.lineage
    }
    return sum(
        r.event.n_counted
        for r in trace.records
        if isinstance(r.event, StageEnded)
        and r.event.counts == "swept"
        and r.event.ticket in orphans
    )


def fronts(trace: Trace) -> dict[str, Any]:
    """When each admission improved a per-example best: the count saturates, its times do not."""
    changes = [(r.t_s, r.event) for r in trace.records if isinstance(r.event, PoolChanged)]
    return {"fronts": [t_s for t_s, event in changes for mark in event.marks if mark == "front"]}


def fates(trace: Trace) -> dict[str, Any]:
    """What became of the steps: gaps, repairs, duplicates, and how deep the lineages are."""
    counters = trace.state.counters
    gaps = [r.event.gap for r in trace.records if isinstance(r.event, GapChecked)]
    candidates = trace.state.pool.candidates
    best = trace.state.pool.best()
    depths = depths_of(candidates)
    return {
        "gap": fmean(gaps) if gaps else 0.0,
        "stale_share": _share(sum(gap > 0 for gap in gaps), len(gaps)),
        "discarded_share": _share(counters["discarded"], len(gaps)),
        "repaired_share": _share(counters["repaired"], len(gaps)),
        "duplicate_share": _share(counters["no-op"], counters["proposed"]),
        "depth_of_best": float(depths[best.id]) if best is not None else None,
        "depth": fmean(depths.values()) if depths else None,
        "retracted": sum(c.status == "retracted" for c in candidates.values()),
        "repair_calls": _repair_calls(trace),
        "repairs": sum(isinstance(r.event, ItemRepaired) for r in trace.records),
    }


def _repair_calls(trace: Trace) -> int:
    """Returns how many calls the repairing model was sent; one may judge several steps."""
    return sum(isinstance(r.event, CallReserved) and r.event.stage == REPAIR for r in trace.records)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def depths_of(candidates: Mapping[int, Candidate]) -> dict[int, int]:
    """Returns for each candidate the longest chain of parents down to the seed."""
    depths: dict[int, int] = {}
    for number in sorted(candidates):  # parents were admitted before their children
        parents = candidates[number].parents
        depths[number] = 1 + max(depths[p] for p in parents) if parents else 0
    return depths


# -- what it was worth -----------------------------------------------------------------------------


def quality(trace: Trace) -> dict[str, Any]:
    """Scores at the end, and the anytime curve that they are the end of.

    `curve` holds [t_s, tokens, metric_calls, validation, test] at each change of the best; it ends
    with a point at the end of the run.
    """
    bests = [best for best in trace.bests if best.t_s <= trace.end_s]
    tests = [_mean(trace.test(best.artifact, 0)) for best in bests]
    curve: list[list[float | None]] = [
        [best.t_s, best.tokens, best.metric_calls, best.val, test]
        for best, test in zip(bests, tests, strict=True)
    ]
    spent = trace.state.ledger.spent
    val, test, seed_test = bests[-1].val, tests[-1], tests[0]
    curve.append([trace.end_s, trace.tokens, spent["metric_calls"], val, test])
    return {
        "val": val,
        "test": test,
        "seed_test": seed_test,
        "gain": None if test is None or seed_test is None else test - seed_test,
        "gap_to_validation": None if val is None or test is None else val - test,
        "curve": curve,
    }


def _mean(scores: Sequence[float] | None) -> float | None:
    return fmean(scores) if scores else None


def null_gate(trace: Trace) -> dict[str, Any]:
    """How often the best artifact beats itself on a minibatch, by chance alone.

    Both sides are samples of the same artifact on the same examples. Minibatches on which the
    parent is perfect are left out, as a gate never sees them.
    """
    return {
        "null_gate_seed": _beats_itself(trace, trace.bests[0].artifact),
        "null_gate_best": _beats_itself(trace, trace.bests[-1].artifact),
    }


def _beats_itself(trace: Trace, artifact: Artifact) -> float | None:
    parent, child = trace.test(artifact, 0), trace.test(artifact, 1)
    if parent is None or child is None or len(parent) < MINIBATCH:
        return None
    return pass_rate(parent, child, Random(f"{trace.job.seed}/null"))


def pass_rate(parent: Sequence[float], child: Sequence[float], rng: Random) -> float | None:
    """Returns the share of minibatches on which the child's sum is strictly larger."""
    passed = total = 0
    for _ in range(N_MINIBATCHES):
        examples = rng.sample(range(len(parent)), MINIBATCH)
        if min(parent[e] for e in examples) >= 1:
            continue
        total += 1
        passed += sum(child[e] for e in examples) > sum(parent[e] for e in examples)
    return passed / total if total else None


# -- how well the backend was used -----------------------------------------------------------------


def backend(trace: Trace) -> dict[str, Any]:
    """Requests in flight, on average over the run."""
    mean = next(iter(binned(spans_of(trace), trace.end_s, 1)), None)
    share = None if mean is None else mean / trace.job.cell.concurrency
    return {"in_flight": mean, "in_flight_share": share}


def spans_of(trace: Trace) -> list[tuple[float, float]]:
    """Returns when each request was sent and when it was over; those cut off end with the run."""
    spans, waiting = [], {}
    for record in trace.records:
        event = record.event
        if isinstance(event, CallReserved):
            waiting[event.call] = record.t_s
        elif isinstance(event, CallSettled):
            reserved_s = waiting.pop(event.call, record.t_s)
            sent_s = record.t_s - event.latency_s if event.latency_s else reserved_s
            spans.append((sent_s, record.t_s))
    return [*spans, *((sent_s, trace.end_s) for sent_s in waiting.values())]


def binned(spans: Sequence[tuple[float, float]], end_s: float, n: int) -> list[float]:
    """Returns the mean number of spans under way in each of `n` equal parts of [0, end_s]."""
    if not end_s:
        return []
    width_s, sums = end_s / n, [0.0] * n
    for start_s, stop_s in spans:
        stop_s = min(stop_s, end_s)
        for i in range(int(start_s / width_s), min(n - 1, int(stop_s / width_s)) + 1):
            sums[i] += max(0.0, min(stop_s, (i + 1) * width_s) - max(start_s, i * width_s))
    return [total / width_s for total in sums]


def ceiling(trace: Trace) -> dict[str, Any]:
    """What the run's own calls need at the same C once a backend is full, and the share reached.

    None on a real endpoint, whose calls cannot be replayed.
    """
    if not trace.simulated:
        return {"ceiling_s": None, "share_of_ceiling": None}
    from flashevolve.bench.served import marginal_s, served_calls
    from flashevolve.simulate.world import load_world

    cell = trace.job.cell
    calls = served_calls(trace.records, trace.end_s)
    least_s = marginal_s(calls, load_world().preset(cell.preset), max_in_flight=cell.concurrency)
    return {
        "ceiling_s": least_s,
        "share_of_ceiling": least_s / trace.end_s if trace.end_s else None,
    }


# -- curves of rows --------------------------------------------------------------------------------

X_AXES = {"time": 0, "tokens": 1, "metric calls": 2}
"""What an anytime curve can be drawn against -> its place in a point."""
Y_VAL, Y_TEST = 3, 4


def value_at(curve: Sequence[Sequence[float | None]], x: float, axis: int, y: int) -> float | None:
    """Returns a step curve's value at `x`: that of the last point at or before it."""
    value = None
    for point in curve:
        at = point[axis]
        if at is not None and at > x:
            break
        value = point[y]
    return value


def area(
    curve: Sequence[Sequence[float | None]], until: float, axis: int, y: int = Y_TEST
) -> float | None:
    """Returns a step curve's mean over [0, until]: the area below it, normalised.

    A part without a value (a seed that is not validated yet) is left out; None if all is.
    """
    total = width = 0.0
    for point, after in zip(curve, [*curve[1:], None], strict=True):
        start, value = point[axis] or 0.0, point[y]
        stop = until if after is None else min(until, after[axis] or 0.0)
        if value is not None and stop > start:
            total += value * (stop - start)
            width += stop - start
    return total / width if width else None


def time_to(
    curve: Sequence[Sequence[float | None]], target: float, y: int = Y_TEST
) -> tuple[float, bool]:
    """Returns when a curve first reached a target, and whether it did; if not, when it ended."""
    for point in curve:
        value = point[y]
        if value is not None and value >= target:
            return point[0] or 0.0, True
    return curve[-1][0] or 0.0, False
