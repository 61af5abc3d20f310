"""Figures of one client's run, from the endpoint's log and what the client found. Pure.

The endpoint's log is what counts: a metric call is an answer to the role `task`, and it is there
when that answer is. The floor is what a work-conserving schedule would need for the same calls at
the same number of slots: their time at the slots, evenly spread, or the longest of them. Calls that
the client gave up are no work in this: they count as `left`, and `left_s` is the time they held.
"""

from collections.abc import Sequence
from typing import Any

from flashevolve.bench.realtime.brief import Brief, Found
from flashevolve.bench.realtime.slots import Served

TASK, REFLECT = "task", "reflect"


def figures_of(brief: Brief, found: Found, log: Sequence[Served]) -> dict[str, float | None]:
    """Returns a row's figures. Calls before and after the client's own are left out."""
    everything = during(found, log)
    mine = [call for call in everything if not call.left]
    given_up = [call for call in everything if call.left]
    wall_s = found.ended_s - found.began_s
    busy_s = sum(call.service_s for call in mine)
    task_s = sum(call.service_s for call in mine if call.role == TASK)
    floor_s = max(busy_s / brief.slots, max((call.service_s for call in mine), default=0.0))
    n_task = sum(call.role == TASK for call in mine)
    means = [mean for _, mean in found.candidates]
    return {
        "wall_s": wall_s,
        "floor_s": floor_s,
        "share_of_floor": floor_s / wall_s,
        "steady": steady_share(mine, found, brief.slots),
        "busy": task_s / brief.slots / wall_s,
        "metric_calls": float(n_task),
        "overshoot": float(max(0, n_task - brief.metric_calls)),
        "reflections": float(sum(call.role == REFLECT for call in mine)),
        "left": float(len(given_up)),
        "left_s": sum(call.service_s for call in given_up),
        "waited_s": sum(call.began_s - call.arrived_s for call in mine) / max(1, len(mine)),
        "service_s": busy_s / max(1, len(mine)),
        "cpu_s": found.cpu_s,
        "cpu_share": found.cpu_s / wall_s,
        "cpu_ms_per_call": 1000 * found.cpu_s / max(1, len(everything)),
        "endpoint_cpu_share": _spent_s(everything) / wall_s,
        "peak_mb": found.peak_mb,
        "grown_mb": grown_mb(found),
        "candidates": float(len(found.candidates)),
        "val": max(means, default=None),
        "test": found.test,
        "seed_test": found.seed_test,
    }


def grown_mb(found: Found) -> float | None:
    """Returns by how much the process grew while its client ran; None where it cannot be told."""
    if found.client_peak_mb is None or found.loaded_mb is None:
        return None
    return found.client_peak_mb - found.loaded_mb


def steady_share(calls: Sequence[Served], found: Found, slots: int) -> float:
    """Returns the share of the slots that these calls held in the middle half of the run."""
    quarter_s = (found.ended_s - found.began_s) / 4
    low_s, high_s = found.began_s + quarter_s, found.ended_s - quarter_s
    used_s = (min(c.ended_s, high_s) - max(c.began_s, low_s) for c in calls)
    return sum(max(0.0, used) for used in used_s) / (slots * (high_s - low_s))


def _spent_s(calls: Sequence[Served]) -> float:
    """Returns the endpoint's processor time from the first of these answers to the last."""
    spent = [call.cpu_s for call in calls]
    return max(spent) - min(spent) if spent else 0.0


def during(found: Found, log: Sequence[Served]) -> list[Served]:
    """Returns the calls that began while the client ran."""
    return [call for call in log if found.began_s <= call.arrived_s <= found.ended_s]


def curves_of(found: Found, log: Sequence[Served]) -> dict[str, list[Any]]:
    """Returns when each metric call was there, and after how many each best candidate was found."""
    mine = during(found, log)
    ends = sorted(c.ended_s - found.began_s for c in mine if c.role == TASK and not c.left)
    bests: list[tuple[int, float]] = []
    for n_calls, mean in sorted(found.candidates):
        if not bests or mean > bests[-1][1]:
            bests.append((n_calls, mean))
    return {"ends": [round(end, 3) for end in ends], "bests": [list(best) for best in bests]}


def time_of(ends: Sequence[float], n_calls: int) -> float | None:
    """Returns when the n-th metric call was there; None if there were fewer."""
    return ends[n_calls - 1] if 0 < n_calls <= len(ends) else None


def time_to_score(
    ends: Sequence[float], bests: Sequence[Sequence[float]], score: float
) -> float | None:
    """Returns when a candidate with such a mean had its scores; None if none was found."""
    for n_calls, mean in bests:
        if mean >= score and ends:
            return ends[min(max(1, int(n_calls)), len(ends)) - 1]
    return None
