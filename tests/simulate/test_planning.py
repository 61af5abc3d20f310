import random

import pytest

from flashevolve.simulate.attention import Dice
from flashevolve.simulate.planning import MAX_COUNT, MAX_WORDS, Plan, make_plan
from flashevolve.simulate.statements import read
from tests.simulate.usual import USUAL, reader_with


def plan(request: str, advice: str = "", draw: int = 1) -> Plan:
    dice = Dice(random.Random(draw), request, 1.0)
    return make_plan(read(advice), read(request), dice, reader_with(anchoring=0.5))


def test_what_only_one_says_holds() -> None:
    made = plan("Use 3 headings.", 'Headings begin with "## ".')
    assert made.number("exactly heading") == 3
    assert made.mark("heading marks") == ("## ", "")


def test_where_they_differ_the_request_mostly_wins() -> None:
    found = [
        plan("Use 3 headings.", "Use 5 headings.", k).number("exactly heading") for k in range(300)
    ]
    assert 0.6 < found.count(3) / 300 < 0.73
    assert set(found) == {3, 5}


def test_bans_and_counts_add_up() -> None:
    made = plan(
        'Avoid commas. Use the word "fox" twice.', 'Avoid colons. Use "hen" at least twice.'
    )
    assert made.texts("ban") == (",", ":")
    assert made.counts() == [("fox", "exactly", 2), ("hen", "atleast", 2)]


@pytest.mark.parametrize(
    ("advice", "slot"),
    [
        ('A title stands between "<<" and ">>".', "title"),
        ("JSON stands alone.", "format"),
        ("Two answers are divided by a dash.", "variants"),
        ("Tables are written in Markdown.", "table"),
        ("Quotation marks are double.", "wrap"),
        ('A signature begins with "-- ".', "signature"),
    ],
)
def test_advice_that_describes_a_part_does_not_ask_for_it(advice: str, slot: str) -> None:
    assert plan("Describe a tram.", advice).values.get(slot) is None


@pytest.mark.parametrize(
    ("advice", "slot"),
    [
        ("Add a title.", "title"),
        ("The answer must be valid JSON.", "format"),
        ("When the request speaks of trams: the answer must be valid JSON.", "format"),
    ],
)
def test_advice_that_orders_a_part_gets_it(advice: str, slot: str) -> None:
    assert plan("Describe trams.", advice).values.get(slot)


def test_what_asks_for_no_form_is_the_task() -> None:
    made = plan("Describe a tram. Avoid commas. Is it old?")
    assert made.task == "Describe a tram. Is it old?"
    assert "tram" in made.topic
    assert "commas" not in made.topic


def test_paragraphs_are_counted_from_either_end() -> None:
    made = plan('Start the second paragraph with "So". The last paragraph must start with "Now".')
    assert made.openings() == {2: "So", -1: "Now"}


def test_a_task_is_repeated_as_it_stands_even_if_it_was_not_attended_to() -> None:
    whole = read("Describe a tram. First repeat the task. Is it old?")
    made = make_plan((), whole[1:2], Dice(random.Random(1), "", 1.0), USUAL, whole=whole)
    assert made.values["repeat"] == "request"
    assert made.task == "Describe a tram. Is it old?"
    assert made.topic == ()


def test_numbers_are_bounded_by_what_an_answer_can_hold() -> None:
    made = plan('Use 70000000 bullets. Write 8000000 words. Start paragraph 90000000 with "So".')
    assert made.number("exactly bullet") == MAX_COUNT
    assert made.number("exactly word") == MAX_WORDS
    assert made.openings() == {MAX_COUNT: "So"}
