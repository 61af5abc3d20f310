from collections import Counter

from flashevolve.simulate.writing.habits import COMMAS, MARKERS, TITLES
from tests.simulate.writing.written import habits


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
