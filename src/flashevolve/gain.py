"""Gain: by how much one artifact scores better than another on the same examples.

Pure and deterministic: the same scores give the same interval, in every process. What it covers is
the choice of examples, from one run; it says nothing about how another run would end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import atan, cos, fsum, pi, sin, sqrt
from random import Random
from statistics import NormalDist, fmean

MIN_EXAMPLES = 10
"""With fewer, resampling draws the same few examples again and again and promises too much."""

N_RESAMPLES = 2000
"""The ends of an interval then move by a few percent of its width from one seed to another."""

RESAMPLING_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Gain:
    """The mean difference over examples, with a 95 % interval."""

    mean: float
    low: float | None
    """Lower end of the interval; None with `reason`."""
    high: float | None
    n: int
    """Examples that both sides were scored on."""
    reason: str = ""
    """Why there is no interval; empty if there is one."""


def gain_of(differences: Mapping[str, float]) -> Gain:
    """Returns the mean of paired differences by example id, at least one, and its interval.

    The interval is a percentile bootstrap (Efron 1979): means of resampled examples, without the
    share `tail_of` at each end. Each example keeps both of its scores together.
    """
    # In order of ids, so that the order in which examples were scored does not matter.
    values = [differences[example] for example in sorted(differences)]
    mean, n = fmean(values), len(values)
    if n < MIN_EXAMPLES:
        reason = f"{n} examples are too few for an interval, which needs {MIN_EXAMPLES}"
        return Gain(mean=mean, low=None, high=None, n=n, reason=reason)
    if min(values) == max(values):
        reason = "no interval: all examples differ by the same amount"
        return Gain(mean=mean, low=None, high=None, n=n, reason=reason)
    rng = Random(RESAMPLING_SEED)
    means = [fsum(rng.choices(values, k=n)) / n for _ in range(N_RESAMPLES)]
    means.sort()
    tail = tail_of(n)
    # Within the differences, beyond which rounding may put the mean of a resample.
    low, high = max(_at(means, tail), min(values)), min(_at(means, 1 - tail), max(values))
    return Gain(mean=mean, low=low, high=high, n=n)


def tail_of(n: int) -> float:
    """Returns the share of resampled means to leave out at each end, for n >= 2 examples.

    Resampled means spread too little, by the root of (n - 1) / n, and know nothing of how uncertain
    the spread of a few examples is. The expanded percentile interval (Hesterberg 2015, "What
    teachers should know about the bootstrap") goes so far out that where the means are normal the
    interval is that of Student's t. It tends to 2.5 % for many examples.
    """
    return NormalDist().cdf(-sqrt(n / (n - 1)) * _t_quantile(n - 1))


def _t_quantile(df: int) -> float:
    """Returns what Student's t exceeds in 2.5 % of cases, by bisection.

    The one number that scipy would be needed for, which is many times as large as the core.
    """
    low, high = 0.0, 16.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _t_within(middle, df) < 0.95 else (low, middle)
    return high


def _t_within(t: float, df: int) -> float:
    """Returns the chance that |Student's t| is below `t`.

    A finite sum for whole degrees of freedom: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
    """
    angle = atan(t / sqrt(df))
    cos2, odd = cos(angle) ** 2, df % 2
    term = sin(angle) * (cos(angle) if odd else 1.0)
    total = 0.0
    for k in range(1 + odd, df, 2):
        total += term
        term *= cos2 * k / (k + 1)
    return 2 / pi * (angle + total) if odd else total


def _at(ordered: Sequence[float], share: float) -> float:
    """Returns the value below which a share of ordered values lies, between two of them if need."""
    place = share * (len(ordered) - 1)
    i = min(int(place), len(ordered) - 2)
    return ordered[i] + (place - i) * (ordered[i + 1] - ordered[i])
