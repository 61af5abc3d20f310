"""Steady: rates that count from the moment at which the seed is scored.

Every arm scores the seed on the whole validation set first, while it can do nothing else. On a
short run that would count against the faster arm more than on any long one.
"""

from typing import Any

from flashevolve.bench.trace import Trace
from flashevolve.events import CallSettled

COUNTED = ("proposed", "screened", "swept")


def steady(trace: Trace) -> dict[str, Any]:
    """Returns rates between the seed's admission and the end; None if there is no such time."""
    names = [f"steady_{name}_per_min" for name in COUNTED]
    began_s = trace.bests[1].t_s if len(trace.bests) > 1 else trace.end_s
    minutes = (trace.end_s - began_s) / 60
    if minutes <= 0:
        return {name: None for name in (*names, "steady_tokens_out_per_s")}
    within = [r.event for r in trace.records if began_s < r.t_s <= trace.end_s]
    counts = [getattr(event, "counts", None) for event in within]
    tokens = sum(e.usage.tokens_out for e in within if isinstance(e, CallSettled))
    figures: dict[str, Any] = {
        f"steady_{name}_per_min": counts.count(name) / minutes for name in COUNTED
    }
    return {**figures, "steady_tokens_out_per_s": tokens / (60 * minutes)}
