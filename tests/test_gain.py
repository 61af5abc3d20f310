from math import sqrt
from random import Random
from statistics import NormalDist, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.gain import MIN_EXAMPLES, Gain, gain_of, tail_of

DIFFERENCES = st.lists(
    st.floats(-1, 1, allow_subnormal=False), min_size=MIN_EXAMPLES, max_size=40
).filter(lambda values: min(values) < max(values))


def named(values: list[float]) -> dict[str, float]:
    return {f"test-{i}": value for i, value in enumerate(values)}


def interval(values: list[float]) -> tuple[float, float]:
    gain = gain_of(named(values))
    assert gain.low is not None
    assert gain.high is not None
    return gain.low, gain.high


@settings(max_examples=25, deadline=None)
@given(DIFFERENCES, st.randoms(use_true_random=False))
def test_an_interval_lies_within_the_differences_and_ignores_their_order(
    values: list[float], rng: Random
) -> None:
    low, high = interval(values)
    assert min(values) <= low <= high <= max(values)
    shuffled = list(named(values).items())
    rng.shuffle(shuffled)
    assert gain_of(dict(shuffled)) == gain_of(named(values))


@settings(max_examples=15, deadline=None)
@given(DIFFERENCES, st.floats(-2, 2, allow_subnormal=False))
def test_a_gain_that_all_examples_share_shifts_the_interval(
    values: list[float], shift: float
) -> None:
    low, high = interval(values)
    moved = [value + shift for value in values]
    if min(moved) < max(moved):
        assert interval(moved) == pytest.approx((low + shift, high + shift), abs=1e-9)


def test_about_95_of_100_intervals_hold_the_truth() -> None:
    rng = Random(1)
    hits = 0
    for _ in range(100):
        low, high = interval([rng.gauss(0.1, 0.4) for _ in range(40)])
        hits += low <= 0.1 <= high
    assert 88 <= hits <= 99


def test_an_interval_narrows_with_the_root_of_the_examples() -> None:
    rng = Random(2)
    values = [rng.gauss(0, 1) for _ in range(400)]
    few, many = interval(values[:25]), interval(values)
    assert (few[1] - few[0]) / (many[1] - many[0]) == pytest.approx(4, rel=0.3)
    # A normal mean's own interval: 1.96 standard errors on either side.
    assert many[1] - many[0] == pytest.approx(2 * 1.96 / 20, rel=0.15)


@pytest.mark.parametrize(("n", "t"), [(10, 2.2622), (11, 2.2281), (30, 2.0452), (100, 1.9842)])
def test_for_few_examples_an_interval_is_as_wide_as_students_t_makes_it(n: int, t: float) -> None:
    values = [NormalDist().inv_cdf((i + 0.5) / n) for i in range(n)]
    low, high = interval(values)
    assert high - low == pytest.approx(2 * t * stdev(values) / sqrt(n), rel=0.08)


def test_for_many_examples_it_leaves_out_2_5_percent_at_each_end() -> None:
    tails = [tail_of(n) for n in (2, 10, 100, 10_000)]
    assert tails == sorted(tails)
    assert tails[-1] == pytest.approx(0.025, rel=0.002)


def test_the_ends_of_an_interval_are_not_put_beyond_the_differences_by_rounding() -> None:
    # The mean of eleven times 0.03, as floats have it, is one unit in the last place below it.
    low, _ = interval([0.03] * 10 + [0.9])
    assert low == 0.03


def test_fewer_than_ten_examples_get_a_mean_and_no_interval() -> None:
    gain = gain_of(named([0.0, 1.0, 0.5]))
    expected = "3 examples are too few for an interval, which needs 10"
    assert gain == Gain(mean=0.5, low=None, high=None, n=3, reason=expected)
    assert gain_of(named([0.0, 1.0] * 5)).low is not None


def test_differences_that_are_all_equal_get_no_interval() -> None:
    gain = gain_of(named([0.25] * 12))
    assert (gain.mean, gain.low, gain.high) == (0.25, None, None)
    assert gain.reason == "no interval: all examples differ by the same amount"
