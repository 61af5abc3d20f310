from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.policies.reordering import N_RECENT, Reorder, arranged, streak

BASE = "abcdef"


def sweep(passing: str) -> dict[str, float]:
    return {e: float(e in passing) for e in BASE}


ROUNDS = [sweep("abdf"), sweep("adef"), sweep("abde")]


@pytest.mark.parametrize(
    ("n", "streaks", "order"),
    [
        (0, "000000", "abcdef"),
        (1, "110101", "abcdef"),
        (2, "200212", "abcdef"),
        (3, "310320", "bcefad"),
    ],
)
def test_literal_moves_what_three_sweeps_in_a_row_solved_to_the_end(
    n: int, streaks: str, order: str
) -> None:
    sweeps = ROUNDS[:n]
    assert "".join(str(streak(e, sweeps, 1.0)) for e in BASE) == streaks
    assert "".join(arranged(BASE, sweeps, "literal")) == order


def test_one_failure_brings_an_example_back_to_its_own_place() -> None:
    sweeps = [*ROUNDS, sweep("d")]
    assert "".join(arranged(BASE, sweeps, "literal")) == "abcefd"


def test_where_too_few_are_left_the_least_easy_of_the_easy_follow() -> None:
    sweeps = [sweep("ab"), *[sweep("abcdef")] * 3]
    assert "".join(arranged(BASE, sweeps, "literal")) == "cdefab"


def test_the_window_and_the_perfect_score_are_what_is_said() -> None:
    sweeps = [{"a": 5.0, "b": 4.0}, {"a": 5.0, "b": 4.0}]
    assert arranged("ab", sweeps, "literal", window=2, perfect=5.0) == ["b", "a"]
    assert arranged("ab", sweeps, "literal", window=2, perfect=6.0) == ["a", "b"]
    assert arranged("ab", sweeps, "literal", window=3, perfect=5.0) == ["a", "b"]


def test_discriminative_puts_what_candidates_differ_on_first() -> None:
    sweeps = [sweep("abc"), sweep("ab"), sweep("abd"), sweep("acd")]
    # Solved by 4, 3, 2, 2, 0 and 0 of 4: c and d differ most, then b.
    assert "".join(arranged(BASE, sweeps, "discriminative")) == "cdbaef"


def test_discriminative_needs_two_sweeps_and_forgets_old_ones() -> None:
    assert "".join(arranged(BASE, [sweep("c")], "discriminative")) == BASE
    old, recent = sweep("c"), sweep("")
    assert "".join(arranged(BASE, [old, recent], "discriminative")) == "cabdef"
    assert "".join(arranged(BASE, [old, *[recent] * N_RECENT], "discriminative")) == BASE


def test_an_example_that_a_sweep_did_not_run_is_not_judged_by_it() -> None:
    sweeps = [{"a": 1.0, "b": 1.0}, {"a": 1.0}, {"a": 1.0, "b": 1.0}]
    assert streak("b", sweeps, 1.0) == 2
    assert arranged("ab", sweeps, "literal") == ["b", "a"]


@given(
    st.lists(st.sampled_from(BASE), unique=True),
    st.lists(st.dictionaries(st.sampled_from(BASE), st.sampled_from([0.0, 0.5, 1.0])), max_size=9),
    st.sampled_from(["literal", "discriminative", "none"]),
)
def test_an_order_is_nothing_but_an_order(
    base: Sequence[str], sweeps: list[dict[str, float]], rule: Reorder
) -> None:
    order = arranged(base, sweeps, rule)
    assert sorted(order) == sorted(base)
    assert rule != "none" or order == list(base)
