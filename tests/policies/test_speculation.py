import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.policies.speculation import (
    OFF,
    Speculation,
    comparable_mean,
    exceeds,
    n_first,
    tainted_verdict,
)


@pytest.mark.parametrize(
    ("fraction", "n", "m"),
    [(0.25, 8, 2), (0.07, 100, 7), (0.5, 3, 2), (0.01, 3, 1), (1.0, 8, 8), (0.5, 0, 0)],
)
def test_a_prefix_is_the_fraction_rounded_up_and_at_least_one(
    fraction: float, n: int, m: int
) -> None:
    assert n_first(fraction, n) == m


@given(st.floats(0.001, 1.0), st.integers(1, 500))
def test_a_prefix_is_never_empty_and_never_more_than_all(fraction: float, n: int) -> None:
    m = n_first(fraction, n)
    assert 1 <= m <= n
    assert m - 1 < fraction * n


def test_nothing_is_released_unless_it_is_asked_for() -> None:
    assert [OFF.fraction(kind) for kind in ("rollout", "sweep", None)] == [1.0, 1.0, 1.0]
    given = Speculation(rollout=0.5, evaluate=0.25)
    assert [given.fraction(kind) for kind in ("rollout", "sweep", None)] == [0.5, 0.25, 1.0]


def test_means_are_compared_on_the_same_examples() -> None:
    reference = {"a": 1.0, "b": 0.0, "c": 0.0}
    assert not exceeds({"a": 1.0}, reference)
    assert exceeds({"b": 0.5}, reference)
    assert not exceeds({"d": 1.0}, reference)
    assert not exceeds({}, reference)


def test_a_partial_mean_is_made_comparable_by_its_lead() -> None:
    reference = {"a": 1.0, "b": 0.0, "c": 0.0, "d": 1.0}
    assert comparable_mean({"a": 1.0, "b": 1.0}, reference) == 1.0
    assert comparable_mean({"a": 1.0, "b": 0.5}, reference) == 0.75
    assert comparable_mean(reference, reference) == 0.5


@pytest.mark.parametrize(
    ("policy", "repairs", "verdict"),
    [
        ("full", 0, "continue"),
        ("full", 1, "continue"),
        ("guarded", 0, "discard"),
        ("guarded", 1, "discard"),
        ("reflective", 0, "repair"),
        ("reflective", 1, "discard"),
    ],
)
def test_what_comes_from_a_missed_candidate_is_the_policys_to_judge(
    policy: str, repairs: int, verdict: str
) -> None:
    assert tainted_verdict(policy, repairs) == verdict
