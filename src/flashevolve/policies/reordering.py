"""Reordering: which validation examples a sweep runs first, so that its beginning is informative.

Pure. A sweep's beginning decides whether a candidate is believed before all its scores are known
(FlashEvolve, section 3.3). The order is a fold of earlier full sweeps, and only ever an order:
scores belong to ids, whatever their place.
"""

from collections.abc import Mapping, Sequence
from statistics import pvariance
from typing import Literal

Reorder = Literal["discriminative", "literal", "none"]
Sweep = Mapping[str, float]
"""Example id -> score, of one full sweep."""

N_RECENT = 8
"""Sweeps whose scores `discriminative` compares: older candidates were solved by other texts."""


def arranged(
    base: Sequence[str],
    sweeps: Sequence[Sweep],
    rule: Reorder,
    *,
    window: int = 3,
    perfect: float = 1.0,
) -> list[str]:
    """Returns `base` in the order in which a sweep that begins now should run it.

    Args:
        base: The examples in their own order.
        sweeps: Completed full sweeps, the earliest first.
        rule: `literal` is the paper's: what was solved in the last `window` sweeps, one after the
            other, goes to the end, and comes back with one failure. `discriminative` puts those
            first whose scores differed most over the last `N_RECENT` sweeps.
        window: The paper's w.
        perfect: The score from which on an example counts as solved.
    """
    match rule:
        case "none":
            return list(base)
        case "literal":
            return _literal(base, sweeps, window, perfect)
        case "discriminative":
            return _discriminative(base, sweeps)


def streak(example: str, sweeps: Sequence[Sweep], perfect: float) -> int:
    """Returns how many of the last sweeps, one after the other, solved the example.

    A sweep that did not run it says nothing of it.
    """
    n = 0
    for sweep in reversed(sweeps):
        score = sweep.get(example)
        if score is None:
            continue
        if score < perfect:
            break
        n += 1
    return n


def _literal(
    base: Sequence[str], sweeps: Sequence[Sweep], window: int, perfect: float
) -> list[str]:
    streaks = {example: streak(example, sweeps, perfect) for example in base}
    # Sorting is stable, so that equal ones stay in base order.
    return sorted(base, key=lambda e: streaks[e] if streaks[e] >= window else -1)


def _discriminative(base: Sequence[str], sweeps: Sequence[Sweep]) -> list[str]:
    recent = sweeps[-N_RECENT:]
    if len(recent) < 2:
        return list(base)
    return sorted(base, key=lambda e: -_variance([s[e] for s in recent if e in s]))


def _variance(scores: Sequence[float]) -> float:
    return pvariance(scores) if len(scores) > 1 else 0.0
