from collections import Counter

from flashevolve.simulate.writing.habits import COMMAS, MARKERS, TITLES, Habits
from tests.simulate.writing.written import dice, habits, planned


def test_a_habit_stays_within_an_answer_and_varies_between_answers() -> None:
    one = habits(3)
    assert len({one.pick("marker", MARKERS) for _ in range(20)}) == 1
    assert {habits(draw).pick("marker", MARKERS) for draw in range(60)} == {m for m, _ in MARKERS}


def test_habits_are_drawn_by_their_weights() -> None:
    found = Counter(habits(draw).pick("commas", COMMAS) for draw in range(1000))
    assert 0.87 < found[","] / 1000 < 0.93


def test_weights_add_up_to_one() -> None:
    for options in (MARKERS, TITLES, COMMAS):
        assert abs(sum(weight for _, weight in options) - 1) < 1e-9


def test_a_refused_option_is_never_taken_unless_no_other_is_left() -> None:
    plan = planned("List 3 bullets.", 'Never begin a bullet with "* ".')
    found = {Habits(dice(draw), plan).pick("marker", MARKERS) for draw in range(60)}
    assert found == {mark for mark, _ in MARKERS} - {"* "}
    assert Habits(dice(), plan).pick("marker", (("* ", 1.0),)) == "* "
