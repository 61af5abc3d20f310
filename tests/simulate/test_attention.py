import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.attention import ERROR_RATES, Dice, ReaderParameters, attend, misread
from flashevolve.simulate.statements import statement
from tests.simulate.usual import USUAL, reader_with

REQUEST = [statement("Give exactly 4 bullets.")]


def _rate(advice: list[str], parameters: ReaderParameters) -> float:
    heard = [statement(text) for text in advice]
    return fmean(
        len(attend(heard, REQUEST, Dice(random.Random(k), str(k), 1.0), parameters)[1])
        for k in range(400)
    )


def test_related_advice_makes_a_request_surer_of_attention_and_other_advice_does_not() -> None:
    parameters = reader_with(lapse_rate=0.4)
    bare = _rate([], parameters)
    assert _rate(["Count the bullets."], parameters) > bare + 0.1
    assert abs(_rate(["Stay calm."], parameters) - bare) < 0.05


def test_without_support_related_advice_does_not_help_attention() -> None:
    parameters = reader_with(lapse_rate=0.4, support=0)
    assert abs(_rate(["Count the bullets."], parameters) - _rate([], parameters)) < 0.05


def test_statements_beyond_the_capacity_compete() -> None:
    many = [f"Region {k} has a map." for k in range(80)]
    small = reader_with(lapse_rate=0, capacity_statements=4)
    assert _rate(many, small) < 0.6
    assert _rate(many, reader_with(lapse_rate=0, capacity_statements=200)) == 1.0


def test_no_more_statements_are_seen_than_the_capacity() -> None:
    advice = [statement(f"Region {k} has a map.") for k in range(30)]
    dice = Dice(random.Random(1), "key", 0.5)
    heard, acted = attend(advice, REQUEST, dice, reader_with(capacity_statements=5))
    assert len(heard) + len(acted) <= 5


def test_misread_numbers_err_up_as_often_as_down() -> None:
    read = [int(misread("Use 40 words", random.Random(k)).split()[1]) for k in range(2000)]
    assert 40 not in read
    assert abs(fmean(read) - 40) < 0.5
    assert abs(sum(n > 40 for n in read) - 1000) < 100


@given(st.text(min_size=1, max_size=80), st.integers())
def test_any_text_can_be_misread(text: str, seed: int) -> None:
    assert misread(text, random.Random(seed)) == misread(text, random.Random(seed))


def test_steady_dice_depend_on_key_and_purpose_only() -> None:
    one, other = Dice(random.Random(1), "key", 0.0), Dice(random.Random(2), "key", 0.0)
    assert one.draw("a") == other.draw("a") != other.draw("b")
    assert Dice(random.Random(1), "other key", 0.0).draw("a") != one.draw("a")


def test_dice_pick_in_proportion_to_the_weights() -> None:
    dice = Dice(random.Random(5), "key", 1.0)
    picks = [dice.pick("x", [3.0, 1.0]) for _ in range(2000)]
    assert 0.71 < picks.count(0) / 2000 < 0.79


STRENGTHS = st.floats(min_value=0.05, max_value=20)


def test_strength_1_changes_nothing() -> None:
    assert USUAL.at_strength(1) == USUAL


@given(STRENGTHS, STRENGTHS)
def test_a_stronger_reader_errs_less_and_holds_more(one: float, other: float) -> None:
    weak, strong = (USUAL.at_strength(s) for s in sorted((one, other)))
    assert weak.capacity_statements <= strong.capacity_statements
    for name in ERROR_RATES:
        assert getattr(weak, name) >= getattr(strong, name)
    assert (weak.support, weak.anchoring, weak.fickleness) == (
        strong.support, strong.anchoring, strong.fickleness
    )  # fmt: skip


@given(STRENGTHS, STRENGTHS, st.floats(min_value=0, max_value=1))
def test_strengths_in_turn_multiply_and_certainties_stay(s: float, t: float, rate: float) -> None:
    reader = reader_with(lapse_rate=rate, vague_rate=0, wrong_rate=1)
    in_turn, at_once = reader.at_strength(s).at_strength(t), reader.at_strength(s * t)
    assert in_turn.lapse_rate == pytest.approx(at_once.lapse_rate)
    assert (in_turn.vague_rate, in_turn.wrong_rate) == (0, 1)


@pytest.mark.parametrize("strength", [0, -1, 1e-320, 1e308, float("nan"), float("inf")])
def test_a_strength_that_no_reader_could_have_is_refused(strength: float) -> None:
    with pytest.raises(ValueError, match=r"strength must be from 0\.001 to 1000, got"):
        USUAL.at_strength(strength)
