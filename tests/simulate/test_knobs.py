"""Each knob of the reader has one mechanism; at zero the mechanism does nothing, help included."""

import random
import re
from collections import Counter
from dataclasses import fields, replace
from typing import Any

import pytest

from flashevolve.llm.messages import system, user
from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.reader import TextReader
from tests.simulate.instructing import (
    DATA,
    FLAWLESS,
    ORACLE,
    SEED,
    answer,
    fenced,
    mean,
    reflection_prompt,
)
from tests.simulate.usual import USUAL, reader_with

FILLER = "\n".join(f"The archive of year {1900 + k} holds maps of region {k}." for k in range(50))
REQUEST = "Describe a tram. Give exactly 3 bullets."
REMINDER = "Pay attention to the bullets."
"""Advice that tells nothing which the request does not say."""
FAILED = (
    {"prompt": "Describe a tram. Give exactly 3 bullet points."},
    "- The tram is old.",
    'There must be exactly 3 bullet lines and each must begin with "* "; 0 were found.',
)


def reader(**knobs: Any) -> TextReader:
    return TextReader(reader_with(**knobs))


def bullets(standing: str, n_draws: int = 300, **knobs: Any) -> Counter[int]:
    """Counts the bullets of many answers to `REQUEST`, all other mistakes switched off."""
    one = TextReader(replace(FLAWLESS, fickleness=1, **knobs))
    asked = [system(standing), user(REQUEST)]
    replies = [one.answer(asked, random.Random(f"draw {k}")) for k in range(n_draws)]
    return Counter(len(re.findall(r"(?m)^[-*•+~] ", reply)) for reply in replies)


def learnt(n_draws: int = 200, **knobs: Any) -> list[str]:
    """What reflections on one failure add to a text, with all other mistakes switched off."""
    one = TextReader(replace(FLAWLESS, **knobs))
    prompt = reflection_prompt(SEED, [FAILED])
    replies = [one.answer([user(prompt)], random.Random(k)) for k in range(n_draws)]
    return ["\n".join(fenced(reply).splitlines()[1:]) for reply in replies]


def test_there_is_a_test_here_for_every_knob() -> None:
    tested = "\n".join(name for name in globals() if name.startswith("test_"))
    for knob in fields(ReaderParameters):
        word = knob.name.removesuffix("_rate").removesuffix("_statements")
        assert word in tested, f"no test names {word}"


def test_with_boundless_capacity_a_long_prompt_costs_nothing() -> None:
    long = f"{ORACLE}\n{FILLER}"
    assert mean(long) < mean(ORACLE) - 0.08
    boundless = reader(capacity_statements=1_000, fickleness=0, misread_rate=0)
    for example in DATA["test"][:50]:
        assert answer(long, example, reader=boundless) == answer(ORACLE, example, reader=boundless)


def test_without_support_advice_on_what_the_request_says_already_earns_nothing() -> None:
    # Of 1,200 draws half succeed: the difference of two counts has a standard error of 25.
    reminded, n = f"{SEED}\n{REMINDER}", 1_200
    bare = bullets(SEED, n, lapse_rate=0.5)[3]
    assert bullets(reminded, n, lapse_rate=0.5)[3] > bare + 300
    assert abs(bullets(reminded, n, lapse_rate=0.5, support=0)[3] - bare) < 3 * 25


def test_with_lapse_rate_zero_support_has_nothing_to_prevent() -> None:
    assert bullets(SEED)[3] == bullets(f"{SEED}\n{REMINDER}")[3] == 300
    assert 20 < 300 - bullets(SEED, lapse_rate=0.15)[3] < 80


def test_with_misread_rate_zero_every_count_is_the_one_that_was_asked() -> None:
    assert bullets(SEED, misread_rate=0) == {3: 300}
    assert 40 < 300 - bullets(SEED, misread_rate=0.3)[3] < 140


def test_with_fickleness_zero_every_draw_gives_the_same_answer() -> None:
    steady = reader(fickleness=0, misread_rate=0)
    for example in DATA["test"][:20]:
        assert answer(SEED, example, 1, steady) == answer(SEED, example, 2, steady)


def test_with_anchoring_zero_advice_never_overrules_a_request_but_still_fills_in() -> None:
    other = "Give exactly 7 bullets."
    assert bullets(other, anchoring=0) == {3: 300}
    # The draw is 0.35 against 1, and the advice is always seen: 78 of 300 expected.
    assert 50 < bullets(other, anchoring=0.35)[7] < 106
    free = TextReader(replace(FLAWLESS, anchoring=0))
    marked = free.answer(
        [system('Begin every bullet line with "~ ".'), user(REQUEST)], random.Random(1)
    )
    assert all(line.startswith("~ ") for line in marked.splitlines())


def test_values_that_are_mentioned_more_often_anchor_more() -> None:
    once, twice = "Give exactly 7 bullets.", "Give exactly 7 bullets.\nWrite exactly 7 bullets."
    assert bullets(twice)[7] > bullets(once)[7] + 20


def test_with_omission_rate_zero_rewriting_loses_nothing() -> None:
    long = "\n".join([SEED, *FILLER.splitlines()])

    def n_lost(rate: float) -> int:
        one = TextReader(replace(FLAWLESS, omission_rate=rate))
        reply = one.answer([user(reflection_prompt(long, [FAILED]))], random.Random(1))
        return sum(line not in fenced(reply).splitlines() for line in long.splitlines())

    assert n_lost(0) == 0
    assert n_lost(0.04) > 4


def test_without_mistakes_every_reflection_finds_the_same_general_lesson() -> None:
    (lesson,) = set(learnt(50))
    assert '"* "' in lesson
    assert "exactly 3" not in lesson


def test_with_over_specific_rate_zero_no_lesson_keeps_the_numbers_of_its_example() -> None:
    assert not any("exactly 3" in text for text in learnt(over_specific_rate=0, wrong_rate=0.5))
    assert 40 < sum("exactly 3" in text for text in learnt(over_specific_rate=0.4)) < 120


def test_with_overreach_rate_zero_every_lesson_says_when_it_holds() -> None:
    assert 30 < sum(not text.startswith("When") for text in learnt(overreach_rate=0.3)) < 90


def test_with_vague_rate_zero_every_lesson_tells_the_rule() -> None:
    assert 70 < sum('"* "' not in text for text in learnt(vague_rate=0.5)) < 130


def test_with_wrong_rate_zero_no_lesson_is_misread() -> None:
    (right,) = learnt(1)
    assert 25 < sum(text != right for text in learnt(wrong_rate=0.25)) < 75


@pytest.mark.parametrize("feedback", ["", "All requirements are met."])
def test_without_a_failure_in_the_feedback_a_reflection_learns_no_rule(feedback: str) -> None:
    prompt = reflection_prompt(SEED, [(*FAILED[:2], feedback)])
    for k in range(50):
        reply = TextReader(FLAWLESS).answer([user(prompt)], random.Random(k))
        assert '"* "' not in fenced(reply)


@pytest.mark.slow
def test_a_stronger_reader_answers_and_learns_better() -> None:
    readers = [TextReader(USUAL.at_strength(s)) for s in (0.3, 1.0, 3.0)]
    scores = [mean(ORACLE, reader=one) for one in readers]
    assert scores[0] + 0.05 < scores[1] < scores[2] - 0.02
    prompt = reflection_prompt(SEED, [FAILED])
    (lesson,) = learnt(1)
    yields = [
        sum(lesson in one.answer([user(prompt)], random.Random(k)) for k in range(300)) / 300
        for one in readers
    ]
    assert yields[0] + 0.05 < yields[1] < yields[2] - 0.05
