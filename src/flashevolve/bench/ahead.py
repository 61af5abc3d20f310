"""Ahead: how early parents become available, and how well a sweep's beginning foretells its end.

A sweep *succeeds* if its candidate's full mean exceeds that of the best confirmed candidate at the
time when the sweep began. It was *foretold* if its candidate joined the pool as speculative.
Precision is the share of what was foretold that succeeded, recall the share of successes that were
foretold; both are None without a case.
"""

from bisect import bisect_right
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from flashevolve.bench.trace import Trace
from flashevolve.candidate import Candidate
from flashevolve.events import CallSettled, ItemRepaired, ItemSelected, PoolChanged, StageTaken

SWEEP = "evaluate"
"""The stage that runs a candidate on all validation examples."""


def ahead(trace: Trace) -> dict[str, Any]:
    """Delays, precision and recall, and how many candidates were speculative at all."""
    began = _sweeps(trace)
    joined: dict[int, float] = {}
    foretold: set[int] = set()
    for record in trace.records:
        event = record.event
        if isinstance(event, PoolChanged):
            joined.setdefault(event.ticket, record.t_s)
            if event.speculation == "inserted":
                foretold.add(event.ticket)
    waits = [joined[t] - began[t] for t in joined.keys() & began.keys()]
    full = {c.ticket: c for c in trace.state.pool.candidates.values() if c.status != "speculative"}
    succeeded = {t for t in began.keys() & full.keys() if _succeeded(trace, full[t], began[t])}
    known = foretold & full.keys()
    return {
        "available_s": fmean(waits) if waits else None,
        "foretold": len(foretold),
        "precision": len(known & succeeded) / len(known) if known else None,
        "recall": len(foretold & succeeded) / len(succeeded) if succeeded else None,
    }


def _sweeps(trace: Trace) -> dict[int, float]:
    """Returns when each item that made a sweep began it first."""
    began: dict[int, float] = {}
    for record in trace.records:
        event = record.event
        if isinstance(event, StageTaken) and event.stage == SWEEP:
            began.setdefault(event.ticket, record.t_s)
    return began


def _succeeded(trace: Trace, candidate: Candidate, began_s: float) -> bool:
    if candidate.status == "retracted":
        return False  # The scores that it keeps are those of its prefix.
    before = trace.bests[bisect_right(trace.bests, began_s, key=lambda best: best.t_s) - 1]
    return before.val is not None and candidate.mean > before.val


def lost_tokens(trace: Trace) -> dict[str, Any]:
    """Tokens of steps that descend from a candidate which was retracted, or which missed at all.

    A demoted candidate stays as an ordinary one: what was built on it is not lost, but it was
    chosen as a parent on a promise that it did not keep.
    """
    lineage: dict[int, set[int]] = {}
    spent: dict[int, float] = {}
    missed: set[int] = set()
    for record in trace.records:
        event = record.event
        if isinstance(event, ItemSelected):
            lineage[event.ticket] = set(event.lineage)
        elif isinstance(event, ItemRepaired) and event.base is not None:
            lineage[event.ticket] = {event.base}
        elif isinstance(event, CallSettled):
            spent[event.ticket] = spent.get(event.ticket, 0) + trace.spending.tokens(event)
        elif isinstance(event, PoolChanged) and event.missed is not None:
            missed.add(event.missed)
    candidates = trace.state.pool.candidates
    gone = {n for n, c in candidates.items() if c.status == "retracted"}
    total = sum(spent.values())
    shares = {}
    for name, roots in (("lost_token_share", gone), ("missed_token_share", missed | gone)):
        below = _below(candidates, roots)
        lost = sum(n for ticket, n in spent.items() if lineage.get(ticket, set()) & below)
        shares[name] = lost / total if total else None
    return shares


def _below(candidates: Mapping[int, Candidate], roots: set[int]) -> set[int]:
    """Returns the roots and all that descend from one."""
    found = set(roots)
    for number in sorted(candidates):  # parents come before their children
        if found & set(candidates[number].parents):
            found.add(number)
    return found
