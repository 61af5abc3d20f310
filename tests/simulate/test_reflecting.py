import random

import pytest

from flashevolve.simulate.lessons import Trace
from flashevolve.simulate.reflecting import reflect, rewrite
from tests.simulate.instructing import FLAWLESS
from tests.simulate.usual import reader_with

REQUEST = "Describe a tram. Avoid commas."
FEEDBACK = "The answer must contain no commas and no semicolons; it has 3."
FAILED = Trace(REQUEST, "a, b", FEEDBACK)


def test_a_lesson_is_added_to_the_old_text() -> None:
    assert reflect("Be kind.", [FAILED], random.Random(1), FLAWLESS).text == (
        "Be kind.\nWhen the request speaks of commas: the answer must contain no commas and no "
        "semicolons."
    )


def test_a_known_lesson_is_not_said_twice() -> None:
    once = reflect("Be kind.", [FAILED], random.Random(1), FLAWLESS).text
    assert reflect(once, [FAILED], random.Random(2), FLAWLESS).text == once


@pytest.mark.parametrize("feedback", ["", "Its punctuation is fine."])
def test_without_a_lesson_the_mutation_is_blind(feedback: str) -> None:
    shown = [Trace(REQUEST, "a, b", feedback)]
    new = reflect("Be kind.", shown, random.Random(1), FLAWLESS).text.splitlines()
    assert new[0] == "Be kind."
    assert new[1] in ("Describe a tram.", "Avoid commas.")


def test_without_examples_a_reflection_teaches_nothing() -> None:
    for k in range(50):
        assert reflect("Be kind.", [], random.Random(k), FLAWLESS).text == "Be kind."


def test_frequent_failures_are_taken_up_first() -> None:
    rare = Trace(
        "Describe a tram. Add a title.", "a", 'The title must stand between "<<" and ">>".'
    )
    shown = [FAILED] * 5 + [rare]
    texts = [reflect("Be kind.", shown, random.Random(k), FLAWLESS).text for k in range(100)]
    assert sum("semicolons" in t for t in texts) > 1.5 * sum("<<" in t for t in texts)


def test_long_texts_lose_more_when_rewritten() -> None:
    parameters = reader_with(omission_rate=0.1, misread_rate=0)
    short, long = [f"Rule {k}." for k in range(9)], [f"Rule {k}." for k in range(36)]

    def lost(text: list[str]) -> float:
        kept = sum(len(rewrite(text, random.Random(k), parameters)) for k in range(200))
        return 1 - kept / (200 * len(text))

    assert 0.07 < lost(short) < 0.13
    assert lost(long) > 0.3


def test_a_revision_always_holds_a_text() -> None:
    everything_lost = reader_with(omission_rate=1)
    shown = [Trace(REQUEST, "", "")]
    assert reflect("Be kind.", shown, random.Random(1), everything_lost).text
