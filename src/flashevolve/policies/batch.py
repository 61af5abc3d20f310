"""Batch: how many examples one step of Combee should take, from one trial step per size.

Pure. T(b) is the time of one epoch in batches of b: that of a step times (training examples / b).
A power law, T(b) = A * b**-alpha, is fitted by least squares between the logarithms; the batch
grows until one more example in it saves no more than tau seconds of an epoch:
b* = (alpha * A / tau) ** (1 / (alpha + 1)). Per example instead of per epoch, A and tau would both
shrink by the same factor, and b* would stay.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

TAU_SHARE = 0.016
"""Tau where none is given: this share of the fit's slope at the smallest size that was tried, which
is where it is steepest."""


class PowerLaw(NamedTuple):
    """T(b) = A * b ** -`alpha`."""

    log_scale: float
    """Of A in seconds; kept as a logarithm, since a steep law's A is larger than any float."""
    alpha: float


def epoch_s(step_s: float, size: int, n_train: int) -> float:
    """Returns the time of an epoch whose steps take `step_s` with `size` examples each."""
    return step_s * n_train / size


def fit(epochs_s: Mapping[int, float]) -> PowerLaw:
    """Returns the power law nearest to size -> seconds of an epoch, between the logarithms.

    A single size tells nothing about others: alpha is 0 then.
    """
    logs = [(math.log(size), math.log(seconds)) for size, seconds in epochs_s.items()]
    x_mean, y_mean = (fmean(side) for side in zip(*logs, strict=True))
    spread = sum((x - x_mean) ** 2 for x, _ in logs)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in logs) / spread if spread else 0.0
    return PowerLaw(y_mean - slope * x_mean, -slope)


def best_size(law: PowerLaw, tau_s: float) -> float:
    """Returns the size at which one more example saves `tau_s` seconds; alpha must be above 0."""
    return math.exp((math.log(law.alpha) + law.log_scale - math.log(tau_s)) / (law.alpha + 1))


def choose_size(epochs_s: Mapping[int, float], tau_s: float | None, largest: int) -> int:
    """Returns the batch size to use: b*, rounded down, no smaller than what was tried.

    `epochs_s` is size -> seconds of an epoch, of which those that are not positive are left out, as
    they have no logarithm; `tau_s` None = `TAU_SHARE` of the steepest slope; `largest` wins over
    all. The smallest size that was tried, if larger ones save nothing.
    """
    smallest = min(epochs_s)
    measured = {size: seconds for size, seconds in epochs_s.items() if seconds > 0}
    law = fit(measured) if measured else PowerLaw(0.0, 0.0)
    if law.alpha <= 0:
        return min(smallest, largest)
    if tau_s is None:
        # The slope falls as b ** -(alpha + 1), so the share alone says how far to go from there.
        found = min(measured) * math.pow(TAU_SHARE, -1 / (law.alpha + 1))
    else:
        found = best_size(law, tau_s)
    # A millionth is rounding: a size of 10 must not become 9 by the last bit of a logarithm.
    found = min(found * (1 + 1e-6), largest)
    return min(max(math.floor(found), smallest), largest)


def trial_sizes(sizes: Sequence[int], largest: int) -> tuple[int, ...]:
    """Returns the sizes to try, ascending, none above `largest` and none twice."""
    return tuple(sorted({min(size, largest) for size in sizes}))
