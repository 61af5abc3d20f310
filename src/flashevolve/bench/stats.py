"""Statistics over seeds: interquartile means, paired comparisons, bootstrap intervals.

Seeds are resampled whole, with all that was run on them, so that what two arms share cancels out.
The same values give the same interval, in every process.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from flashevolve.errors import ConfigError

N_RESAMPLES = 2000
LEAST_SEEDS = 5
"""With fewer there is no interval: resampling a few values promises too much."""
RESAMPLING_SEED = 0
CUT = 0.25
"""Share that an interquartile mean leaves out at each end (Agarwal 2021)."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value over seeds, with a 95 % interval."""

    value: float
    low: float | None
    """None with fewer than `LEAST_SEEDS` seeds."""
    high: float | None
    n: int
    """Seeds."""

    @property
    def sign(self) -> int:
        """1 or -1 if the interval lies on one side of 0, else 0. For a ratio see `side`."""
        return self.side(0.0)

    def side(self, of: float) -> int:
        """Returns 1 or -1 if the interval lies above or below `of`, else 0."""
        if self.low is None or self.high is None:
            return 0
        return (self.low > of) - (self.high < of)


def extra(module: str) -> ModuleType:
    """Imports a module of the extra `bench`. Raises `ConfigError` if it is not there."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"bench: expected the package {module.partition('.')[0]}, found none. "
            "Install it: pip install 'flashevolve[bench]'"
        ) from error


def iqm(values: Sequence[float]) -> float:
    """Returns the interquartile mean: the mean without a quarter of the values at each end."""
    return float(extra("scipy.stats").trim_mean(list(values), CUT))


def mean(values: Sequence[float]) -> Estimate:
    """Returns the interquartile mean over seeds with its interval."""
    stats = extra("scipy.stats")
    return _estimate((values,), lambda v, axis=-1: stats.trim_mean(v, CUT, axis=axis))


def difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate | None:
    """Returns the interquartile mean of paired differences by seed; None without a pair."""
    a, b = _pairs(ours, theirs)
    return mean([x - y for x, y in zip(a, b, strict=True)]) if a else None


def ratio(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate | None:
    """Returns the ratio of the means of paired seeds; None if a mean is 0 or there is no pair.

    Of means and not the mean of ratios, which a seed with a count of 0 makes infinite.
    """
    return product([(ours, 1.0), (theirs, -1.0)])


def geometric_ratio(
    pairs: Sequence[tuple[Mapping[int, float], Mapping[int, float]]],
) -> Estimate | None:
    """Returns the geometric mean over cells of each cell's ratio; seeds are resampled together."""
    share = 1 / len(pairs) if pairs else 1.0
    return product([term for a, b in pairs for term in ((a, share), (b, -share))])


def product(terms: Sequence[tuple[Mapping[int, float], float]]) -> Estimate | None:
    """Returns the product of means over seeds, each raised to an exponent.

    Only seeds that all terms have count. None if there is none, or if a mean is not above 0.
    """
    extra("scipy.stats")
    import numpy as np

    seeds = set.intersection(*(set(values) for values, _ in terms)) if terms else set()
    columns = [[values[s] for s in sorted(seeds)] for values, _ in terms]
    if not seeds or any(sum(column) <= 0 for column in columns):
        return None

    def statistic(*resampled: Any, axis: int = -1) -> Any:
        # A resample without a single success would give infinity; the bound is as bad as can be.
        logs = [np.log(np.maximum(np.mean(column, axis=axis), 1e-9)) for column in resampled]
        return np.exp(sum(power * log for (_, power), log in zip(terms, logs, strict=True)))

    return _estimate(columns, statistic)


def _pairs(
    ours: Mapping[int, float], theirs: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    seeds = sorted(ours.keys() & theirs.keys())
    return [ours[s] for s in seeds], [theirs[s] for s in seeds]


def _estimate(columns: Sequence[Sequence[float]], statistic: Callable[..., Any]) -> Estimate:
    import numpy as np

    stats = extra("scipy.stats")
    arrays = [np.asarray(column, dtype=float) for column in columns]
    value, n = float(statistic(*arrays, axis=-1)), len(arrays[0])
    if n < LEAST_SEEDS:
        return Estimate(value=value, low=None, high=None, n=n)
    if all(np.ptp(array) == 0 for array in arrays):
        return Estimate(value=value, low=value, high=value, n=n)
    found = stats.bootstrap(
        arrays,
        statistic,
        n_resamples=N_RESAMPLES,
        paired=True,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(RESAMPLING_SEED),
    ).confidence_interval
    if math.isnan(found.low):
        return Estimate(value=value, low=value, high=value, n=n)
    return Estimate(value=value, low=float(found.low), high=float(found.high), n=n)
