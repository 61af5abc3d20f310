import random

import pytest

from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.reflecting import reflect, rewrite
from tests.simulate.instructing import DATA, fenced, reflection_prompt

EXAMPLE = {"request": "Describe a tram. Avoid commas."}
FEEDBACK = "The answer must contain no commas and no semicolons; it has 3."
CERTAIN = ReaderParameters(
    vague_rate=0, wrong_rate=0, overreach_rate=0, over_specific_rate=0, omission_rate=0,
    misread_rate=0,
)  # fmt: skip


def test_a_lesson_is_added_to_the_old_text() -> None:
    prompt = reflection_prompt("Be kind.", [(EXAMPLE, "a, b", FEEDBACK)])
    assert fenced(reflect(prompt, random.Random(1), CERTAIN)) == (
        "Be kind.\nWhen the request speaks of commas: the answer must contain no commas and no "
        "semicolons."
    )


def test_a_known_lesson_is_not_said_twice() -> None:
    prompt = reflection_prompt("Be kind.", [(EXAMPLE, "a, b", FEEDBACK)])
    once = fenced(reflect(prompt, random.Random(1), CERTAIN))
    again = reflection_prompt(once, [(EXAMPLE, "a, b", FEEDBACK)])
    assert fenced(reflect(again, random.Random(2), CERTAIN)) == once


@pytest.mark.parametrize("feedback", ["", "Its punctuation is fine."])
def test_without_a_lesson_the_mutation_is_blind(feedback: str) -> None:
    prompt = reflection_prompt("Be kind.", [(EXAMPLE, "a, b", feedback)])
    new = fenced(reflect(prompt, random.Random(1), CERTAIN)).splitlines()
    assert new[0] == "Be kind."
    assert new[1] in ("Describe a tram.", "Avoid commas.")


def test_frequent_failures_are_taken_up_first() -> None:
    other = {"request": "Describe a tram. Add a title."}
    rare = 'The title must stand between "<<" and ">>".'
    shown = [(EXAMPLE, "a, b", FEEDBACK)] * 5 + [(other, "a", rare)]
    prompt = reflection_prompt("Be kind.", shown)
    replies = [reflect(prompt, random.Random(k), CERTAIN) for k in range(100)]
    assert sum("semicolons" in r for r in replies) > 1.5 * sum("<<" in r for r in replies)


def test_long_texts_lose_more_when_rewritten() -> None:
    parameters = ReaderParameters(omission_rate=0.1, misread_rate=0)
    short, long = [f"Rule {k}." for k in range(9)], [f"Rule {k}." for k in range(36)]

    def lost(text: list[str]) -> float:
        kept = sum(len(rewrite(text, random.Random(k), parameters)) for k in range(200))
        return 1 - kept / (200 * len(text))

    assert 0.07 < lost(short) < 0.13
    assert lost(long) > 0.3


def test_a_reply_always_holds_a_text() -> None:
    everything_lost = ReaderParameters(omission_rate=1)
    shown = [(DATA["train"][0], "", "")]
    reply = reflect(reflection_prompt("Be kind.", shown), random.Random(1), everything_lost)
    assert fenced(reply)
