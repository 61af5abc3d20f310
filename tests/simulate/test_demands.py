import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.simulate.attention import Dice
from flashevolve.simulate.demands import Demand, understand
from flashevolve.simulate.planning import make_plan
from flashevolve.simulate.statements import statement, words_of
from flashevolve.simulate.writing import write
from tests.simulate.usual import USUAL


def slots(text: str) -> dict[str, object]:
    return {d.slot: d.value for d in understand(statement(text)).demands}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Use at least 40 words.", {"atleast word": 40}),
        ("Write no more than three sentences.", {"atmost sentence": 3}),
        ("Write 40 words or more.", {"atleast word": 40}),
        ("Give exactly 5 bullet points.", {"exactly bullet": 5}),
        ("Put a dash between two paragraphs.", {"paragraph separator": "-"}),
        ("Avoid commas.", {"ban": ","}),
        ('Do not use the word "nice".', {"ban": "nice"}),
        ("No capital letters.", {"case": "lower"}),
        ("Write in upper case.", {"case": "upper"}),
        ('Open with "Dear all".', {"start": "Dear all"}),
        ('Finish with the words "The end".', {"end": "The end"}),
        ("Wrap the whole answer in quotes.", {"wrap": "yes"}),
        ('Use "+" and not "-" for bullets.', {"marker": "+"}),
        ("The weather is fine.", {}),
    ],
)
def test_a_statement_fills_the_slots_it_speaks_of(text: str, wanted: dict[str, object]) -> None:
    assert slots(text) == wanted


def test_a_condition_is_not_a_demand() -> None:
    reading = understand(statement("If commas are banned, avoid semicolons."))
    assert [(d.slot, d.value) for d in reading.demands] == [("ban", ";")]
    assert reading.condition == {"comma"}


@pytest.mark.parametrize(
    ("text", "creating"),
    [
        ("Add a title.", True),
        ("Titles are short.", False),
        ("Give every note a title.", False),
        ("The answer must be valid JSON.", True),
        ("JSON stands alone.", False),
        ("There must be two different answers.", True),
        ("Two answers are divided by a dash.", False),
    ],
)
def test_only_an_order_creates_a_part(text: str, creating: bool) -> None:
    assert understand(statement(text)).creating is creating


WORDS = st.sampled_from(
    words_of(
        """at least 3 exactly fewer than between and 12 words sentences paragraphs bullets the every
        first second last must start end with not no in bold capitals "fox" "*" "1." letter "q"
        line before after repeat twice request JSON table title , : ; . when <note> [name] two
        answers"""
    )
)


@given(st.lists(WORDS, max_size=25))
def test_any_words_can_be_understood_and_planned(words: list[str]) -> None:
    said = statement(" ".join(words))
    for demand in understand(said).demands:
        assert demand.slot
    plan = make_plan([], [said], Dice(random.Random(1), "key", 0), USUAL)
    assert isinstance(write(plan, Dice(random.Random(1), "key", 0)), str)


def test_of_an_endless_statement_the_start_is_understood() -> None:
    endless = statement("Use at least 3 words and " + "at least 9 words or " * 9_000)
    assert understand(endless).demands[0] == Demand("atleast word", 3)
    assert len(understand(endless).demands) < 200
