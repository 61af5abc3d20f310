"""Steady: rates over whole steps, from the moment at which the seed is scored.

Every arm scores the seed on the whole validation set first, while it can do nothing else. On a
short run that would count against the faster arm more than on any long one. And where one step at
a time holds many proposals, what the deadline cuts off is left out, time and all.
"""

from typing import Any

from flashevolve.bench.trace import Trace
from flashevolve.events import CallSettled, ItemEnded, StageEnded

COUNTED = ("proposed", "swept")
TOKENS = "steady_tokens_out_per_s"


def steady(trace: Trace) -> dict[str, Any]:
    """Returns rates between the seed's admission and the last end of a step; None without one."""
    began_s = trace.bests[1].t_s if len(trace.bests) > 1 else trace.end_s
    ends = [
        r.t_s
        for r in trace.records
        if isinstance(r.event, ItemEnded) and r.event.outcome != "dropped"
    ]
    ended_s = max((t_s for t_s in ends if t_s <= trace.end_s), default=began_s)
    minutes = (ended_s - began_s) / 60
    if minutes <= 0:
        return {**{f"steady_{name}_per_min": None for name in COUNTED}, TOKENS: None}
    counts, tokens = dict.fromkeys(COUNTED, 0), 0.0
    for record in trace.records:
        event = record.event
        if not began_s < record.t_s <= ended_s:
            continue
        if isinstance(event, StageEnded) and event.counts in counts:
            counts[event.counts] += event.n_counted
        elif isinstance(event, CallSettled):
            tokens += trace.spending.tokens_out(event)
    rates = {f"steady_{name}_per_min": n / minutes for name, n in counts.items()}
    return {**rates, TOKENS: tokens / (60 * minutes)}
