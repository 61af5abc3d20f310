"""Gain: by how much one artifact scores better than another on the same examples.

Pure and deterministic: the same scores give the same interval, in every process. What it covers is
the choice of examples, from one run; it says nothing about how another run would end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from random import Random
from statistics import fmean, quantiles

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

    The interval is a percentile bootstrap (Efron 1979): means of resampled examples, from their
    2.5th to their 97.5th percentile. Each example keeps both of its scores together.
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
    cuts = quantiles(means, n=40, method="inclusive")
    return Gain(mean=mean, low=cuts[0], high=cuts[-1], n=n)
