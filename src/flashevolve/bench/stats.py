"""Statistics over seeds: interquartile means, paired comparisons, bootstrap intervals.

Seeds are resampled whole, with all that was run on them, so that what two arms share cancels out.
The same values give the same interval, in every process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
    """None with fewer than `LEAST_SEEDS` seeds, or if a resampled divisor is often 0."""
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
            "In the clone: pip install '.[bench]'"
        ) from error


def iqm(values: Sequence[float]) -> float:
    """Returns the interquartile mean: the mean without a quarter of the values at each end."""
    return float(_trimmed(extra("numpy").asarray(values, dtype=float)))


def mean(values: Sequence[float]) -> Estimate:
    """Returns the interquartile mean over seeds with its interval."""
    return _estimate((values,), _trimmed)


def _trimmed(values: Any) -> Any:
    """Returns interquartile means over the last axis, as `scipy.stats.trim_mean` cuts them."""
    ordered = extra("numpy").sort(values, axis=-1)
    n = ordered.shape[-1]
    cut = int(CUT * n)
    return ordered[..., cut : n - cut].mean(axis=-1)


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
    seeds = set.intersection(*(set(values) for values, _ in terms)) if terms else set()
    columns = [[values[s] for s in sorted(seeds)] for values, _ in terms]
    if not seeds or any(sum(column) <= 0 for column in columns):
        return None
    np = extra("numpy")

    def statistic(*resampled: Any) -> Any:
        # A resample without a success has no logarithm: 0 as a factor, infinite as a divisor.
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [np.log(column.mean(axis=-1)) for column in resampled]
            return np.exp(sum(power * log for (_, power), log in zip(terms, logs, strict=True)))

    return _estimate(columns, statistic)


def _pairs(
    ours: Mapping[int, float], theirs: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    seeds = sorted(ours.keys() & theirs.keys())
    return [ours[s] for s in seeds], [theirs[s] for s in seeds]


def _estimate(columns: Sequence[Sequence[float]], statistic: Callable[..., Any]) -> Estimate:
    """Percentile bootstrap (Efron 1979); a place of all columns is one seed, drawn together.

    Here and not by `scipy.stats.bootstrap`, which gives the same interval and takes 30 times as
    long: a page of findings has thousands.
    """
    np = extra("numpy")
    arrays = [np.asarray(column, dtype=float) for column in columns]
    value, n = float(statistic(*arrays)), len(arrays[0])
    if n < LEAST_SEEDS:
        return Estimate(value=value, low=None, high=None, n=n)
    drawn = _draws(n)
    found = statistic(*(array[drawn] for array in arrays))
    with np.errstate(invalid="ignore"):
        low, high = np.percentile(np.nan_to_num(found, nan=np.inf, posinf=np.inf), (2.5, 97.5))
    if not np.isfinite((low, high)).all():
        return Estimate(value=value, low=None, high=None, n=n)
    return Estimate(value=value, low=float(low), high=float(high), n=n)


@cache
def _draws(n: int) -> Any:
    """Returns the places of each resample, the same for all figures of so many seeds."""
    return extra("numpy").random.default_rng(RESAMPLING_SEED).integers(0, n, (N_RESAMPLES, n))
