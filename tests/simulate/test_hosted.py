from dataclasses import replace
from math import log
from random import Random
from statistics import fmean, median, quantiles, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.hosted import MINUTE_S, Account, Bucket, HostedSettings
from flashevolve.simulate.lengths import digest
from flashevolve.simulate.world import load_world

SETTINGS = HostedSettings(
    first_token_s=0.5,
    first_token_sigma=0.3,
    tokens_per_s=80.0,
    tokens_per_s_sigma=0.4,
    requests_per_min=6,
    tokens_per_min=600,
)
EPSILON = 1e-3
"""Requests or tokens by which sums of refills may be off."""


def shipped() -> HostedSettings:
    preset = load_world().preset("hosted-api")
    assert isinstance(preset, HostedSettings)
    return preset


# -- speed -------------------------------------------------------------------------------------


def test_speeds_have_the_medians_and_spreads_that_are_stated() -> None:
    speeds = [SETTINGS.speed(digest(b"%d" % k)) for k in range(20_000)]
    first = [log(s.first_token_s / 0.5) for s in speeds]
    rate = [log(s.tokens_per_s / 80) for s in speeds]
    assert fmean(first) == pytest.approx(0, abs=0.01)
    assert fmean(rate) == pytest.approx(0, abs=0.015)
    assert (stdev(first), stdev(rate)) == pytest.approx((0.3, 0.4), rel=0.02)
    product = fmean(f * r for f, r in zip(first, rate, strict=True))
    assert product == pytest.approx(0, abs=0.005)


def test_a_speed_is_the_requests_own() -> None:
    assert SETTINGS.speed(7) == SETTINGS.speed(7) != SETTINGS.speed(8)


def test_the_preset_reproduces_the_published_first_tokens_and_rates() -> None:
    """See world.toml: 645 ms at the median, 1,094 ms at the 95th percentile; 94.1 tokens/s."""
    speeds = [shipped().speed(digest(b"%d" % k)) for k in range(20_000)]
    first = [s.first_token_s for s in speeds]
    assert median(first) == pytest.approx(0.645, rel=0.02)
    assert quantiles(first, n=20)[-1] == pytest.approx(1.094, rel=0.03)
    assert fmean(s.tokens_per_s for s in speeds) == pytest.approx(94.1, rel=0.02)
    rng = Random(0)
    ranges = [
        (min(drawn), max(drawn))
        for drawn in ([s.tokens_per_s for s in rng.sample(speeds, 100)] for _ in range(200))
    ]
    # The published range of a hundred is skewed to the slow side; its width is what was fitted.
    assert fmean(log(high / low) for low, high in ranges) == pytest.approx(
        log(128.6 / 26.8), rel=0.05
    )


def test_nothing_is_written_before_the_first_token() -> None:
    speed = replace(SETTINGS, first_token_sigma=0, tokens_per_s_sigma=0).speed(1)
    assert [speed.written_tokens(t) for t in (0.1, 0.5, 0.51, 1.5)] == [0, 0, 0, 80]


# -- limits ------------------------------------------------------------------------------------


def test_a_bucket_is_full_at_first_and_refilled_all_the_time() -> None:
    bucket = Bucket(60.0)
    bucket.take(60, 0.0)
    assert bucket.wait_s(1, 0.0) == 1.0
    assert bucket.level(10.0) == 10.0
    assert bucket.wait_s(30, 10.0) == 20.0
    assert bucket.level(1000.0) == 60.0


def test_what_is_given_back_never_overfills_a_bucket() -> None:
    bucket = Bucket(60.0)
    bucket.take(10, 0.0)
    bucket.give_back(50, 0.0)
    assert bucket.level(0.0) == 60.0


def test_each_limit_turns_requests_away_by_itself() -> None:
    account = Account(SETTINGS)
    assert [account.admit(1, 0.0) for _ in range(7)] == [0] * 6 + [10.0]
    account = Account(SETTINGS)
    assert [account.admit(300, 0.0) for _ in range(3)] == [0, 0, 30.0]


def test_what_a_request_did_not_use_is_there_for_the_next() -> None:
    account = Account(SETTINGS)
    assert account.admit(600, 0.0) == 0
    assert account.admit(200, 0.0) == 20.0
    account.settle(600, 100, 5.0)
    assert account.levels(5.0)[1] == 550.0
    assert account.admit(200, 5.0) == 0


def test_a_request_that_is_larger_than_the_limit_is_refused_for_good() -> None:
    with pytest.raises(ValueError, match=r"a request for 601 tokens .* account's 600 tokens per m"):
        Account(SETTINGS).admit(601, 0.0)


Arrival = tuple[float, int, float, float]
"""Pause before it, tokens reserved, share of them used, and how long it runs."""
arrivals = st.lists(
    st.tuples(
        st.floats(0, 30),
        st.integers(1, 600),
        st.floats(0, 1),
        st.floats(0, 120),
    ),
    max_size=40,
)


def play(arrivals: list[Arrival]) -> tuple[list[tuple[float, int, int]], list[tuple[float, float]]]:
    """Returns what was admitted as (time, reserved, used), and what was given back as (time, n).

    On the way it checks that exactly those are turned away for whom there is too little, and that
    the wait they are told is the shortest one.
    """
    account, now_s = Account(SETTINGS), 0.0
    ends: list[tuple[float, int, int]] = []
    admitted: list[tuple[float, int, int]] = []
    returned: list[tuple[float, float]] = []
    for pause_s, reserved, share, lasts_s in arrivals:
        now_s += pause_s
        for end_s, was_reserved, used in sorted(e for e in ends if e[0] <= now_s):
            account.settle(was_reserved, used, end_s)
            returned.append((end_s, was_reserved - used))
        ends = [e for e in ends if e[0] > now_s]
        requests, tokens = account.levels(now_s)
        wait_s = account.admit(reserved, now_s)
        if wait_s == 0:
            assert requests >= 1 - EPSILON
            assert tokens >= reserved - EPSILON
            used = int(share * reserved)
            admitted.append((now_s, reserved, used))
            ends.append((now_s + lasts_s, reserved, used))
        else:
            assert requests < 1 or tokens < reserved
            assert account.levels(now_s) == (requests, tokens)
            refilled = (requests + wait_s / 10, tokens + wait_s * 10)
            assert refilled[0] >= 1 - EPSILON
            assert refilled[1] >= reserved - EPSILON
            assert min(refilled[0] - 1, refilled[1] - reserved) <= EPSILON
    return admitted, returned


@given(arrivals)
def test_no_window_ever_holds_more_than_the_limits(arrivals: list[Arrival]) -> None:
    admitted, returned = play(arrivals)
    for first, (from_s, _, _) in enumerate(admitted):
        n_requests = n_tokens = 0.0
        for to_s, reserved, _ in admitted[first:]:
            n_requests += 1
            n_tokens += reserved
            back = sum(n for at_s, n in returned if from_s <= at_s <= to_s)
            minutes = 1 + (to_s - from_s) / MINUTE_S
            assert n_requests <= SETTINGS.requests_per_min * minutes + EPSILON
            assert n_tokens - back <= SETTINGS.tokens_per_min * minutes + EPSILON


@given(arrivals)
def test_buckets_never_run_below_nothing_or_above_a_minute(arrivals: list[Arrival]) -> None:
    account, now_s = Account(SETTINGS), 0.0
    for pause_s, reserved, share, _ in arrivals:
        now_s += pause_s
        if account.admit(reserved, now_s) == 0:
            account.settle(reserved, int(share * reserved), now_s)
        requests, tokens = account.levels(now_s)
        assert 0 <= requests <= SETTINGS.requests_per_min
        assert 0 <= tokens <= SETTINGS.tokens_per_min


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("requests_per_min", 0, "requests_per_min must be at least 1, got 0"),
        ("tokens_per_min", 0, "tokens_per_min must be at least 1, got 0"),
        ("first_token_s", -1, "first_token_s must not be negative, got -1"),
        ("first_token_sigma", -1, "first_token_sigma must not be negative, got -1"),
        ("tokens_per_s_sigma", -1, "tokens_per_s_sigma must not be negative, got -1"),
        ("tokens_per_s", 0, "tokens_per_s must be above 0, got 0"),
    ],
)
def test_settings_that_describe_no_api_are_refused(name: str, value: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SETTINGS, **{name: value})
