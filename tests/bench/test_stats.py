import math
from random import Random

import pytest
import scipy.stats

from flashevolve.bench import stats
from flashevolve.errors import ConfigError


def test_the_interquartile_mean_leaves_a_quarter_out_at_each_end() -> None:
    assert stats.iqm([-1000.0, 1.0, 3.0, 1000.0]) == 2.0
    assert stats.mean([-1000.0, 1.0, 3.0, 1000.0]).value == 2.0


def test_paired_differences_cancel_what_seeds_share() -> None:
    rng = Random(0)
    theirs = {seed: rng.gauss(0, 100) for seed in range(40)}
    ours = {seed: value + 1 + rng.gauss(0, 0.1) for seed, value in theirs.items()}
    found = stats.difference(ours, theirs)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert 0.9 < found.low < found.value < found.high < 1.1
    assert found.sign == 1
    assert found.n == 40


def test_only_seeds_of_both_sides_count() -> None:
    found = stats.difference({0: 1.0, 1: 5.0}, {1: 2.0, 2: 9.0})
    assert found == stats.Estimate(value=3.0, low=None, high=None, n=1)
    assert stats.difference({0: 1.0}, {1: 1.0}) is None
    assert stats.ratio({0: 1.0}, {1: 1.0}) is None


def test_a_ratio_is_one_of_means_so_that_a_seed_with_none_counts() -> None:
    found = stats.ratio({0: 8.0, 1: 4.0}, {0: 3.0, 1: 0.0})
    assert found is not None
    assert found.value == pytest.approx(4.0)
    assert stats.ratio({0: 1.0}, {0: 0.0}) is None


def test_geometric_means_of_ratios_take_cells_alike() -> None:
    twice, eightfold = ({0: 2.0}, {0: 1.0}), ({0: 800.0}, {0: 100.0})
    found = stats.geometric_ratio([twice, eightfold])
    assert found is not None
    assert found.value == pytest.approx(math.sqrt(2 * 8))
    assert stats.geometric_ratio([]) is None


def test_too_few_seeds_have_no_interval_and_equal_ones_have_none_to_speak_of() -> None:
    assert stats.mean([1.0, 2.0]).low is None
    assert stats.mean([1.0, 2.0]).sign == 0
    constant = stats.mean([2.0] * 6)
    assert (constant.low, constant.high) == (2.0, 2.0)


def test_intervals_are_the_same_each_time_and_cover_what_they_promise() -> None:
    rng, hits, n = Random(1), 0, 60
    for _ in range(n):
        values = [rng.gauss(1.0, 1.0) for _ in range(30)]
        found = stats.mean(values)
        assert found == stats.mean(values)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 1.0 <= found.high
    assert hits >= 0.85 * n


@pytest.mark.parametrize("n", [5, 6, 7, 8, 40])
def test_means_and_intervals_are_those_of_scipy(n: int) -> None:
    rng = Random(n)
    values = [rng.expovariate(1.0) for _ in range(n)]
    found = stats.mean(values)
    assert found.value == pytest.approx(scipy.stats.trim_mean(values, 0.25))
    theirs = scipy.stats.bootstrap(
        (values,),
        lambda v, axis=-1: scipy.stats.trim_mean(v, 0.25, axis=axis),
        n_resamples=4000,
        method="percentile",
        rng=1,
    ).confidence_interval
    assert found.low == pytest.approx(theirs.low, abs=0.1)
    assert found.high == pytest.approx(theirs.high, abs=0.1 + 0.05 * theirs.high)


def test_a_missing_extra_is_one_line_that_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"bench: expected the package nowhere, found none"):
        stats.extra("nowhere.stats")
    with pytest.raises(ConfigError, match=r"pip install '\.\[bench\]'"):
        stats.extra("nowhere")
