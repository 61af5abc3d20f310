"""GEPA's gate on a child that is its own parent: shared by the benchmarks that print its rate."""

from collections.abc import Iterable, Sequence
from statistics import fmean


def pass_rate(minibatches: Iterable[tuple[Sequence[float], Sequence[float]]]) -> float:
    """Returns the share of minibatches on which the child has a strictly larger sum of scores.

    Each is the scores of the parent and of the child. Those on which the parent is perfect are left
    out, as GEPA leaves them out: no child is asked for there. 0 if there is no other.
    """
    passed = [sum(child) > sum(parent) for parent, child in minibatches if min(parent) < 1]
    return fmean(passed) if passed else 0.0
