"""The reader understands and writes what the task's kinds of constraints ask, in real text."""

import random
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import pytest

from flashevolve.llm.messages import system, user
from flashevolve.simulate.lessons import Trace, learn, phrase
from flashevolve.simulate.reader import TextReader
from flashevolve.workloads.instructions import score
from flashevolve.workloads.instructions.drawing import Deck, draw
from flashevolve.workloads.instructions.kinds import ALL_KINDS, UNSEEN, go_together
from flashevolve.workloads.instructions.vocabulary import SPLITS
from flashevolve.workloads.instructions.wording import FORMS, QUESTIONS, ways
from tests.simulate.instructing import FLAWLESS, SEED

N = 12
CAREFUL = TextReader(FLAWLESS)
CHOICE = "detectable_format:constrained_response"


def example(kinds: Sequence[str], key: int, *, full: bool) -> dict[str, Any]:
    """Returns an example with constraints of these kinds."""
    rng = random.Random(f"{kinds}/{key}")
    words = SPLITS["test" if UNSEEN.intersection(kinds) else "val"]
    topic = rng.choice(QUESTIONS if CHOICE in kinds else FORMS).format(
        subject=rng.choice(words.subjects)
    )
    deck = Deck(words, rng)
    kwargs = [draw(kind, rng, deck, topic) for kind in kinds]
    asked = [rng.choice(ways(k, a, full=full)) for k, a in zip(kinds, kwargs, strict=True)]
    return {
        "key": key,
        "prompt": " ".join([topic, *asked]),
        "instruction_id_list": list(kinds),
        "kwargs": kwargs,
    }


def scored(prompt: str, one: Any, reader: TextReader = CAREFUL) -> tuple[float, str]:
    messages = [system(prompt), user(one["prompt"])]
    return score(one, reader.answer(messages, random.Random(one["key"])))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_full_request_is_met_by_who_makes_no_mistake(kind: str) -> None:
    for key in range(N):
        one = example([kind], key, full=True)
        assert scored(SEED, one) == (1.0, scored(SEED, one)[1]), one["prompt"]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_feedback_of_a_failure_is_enough_to_meet_a_terse_request(kind: str) -> None:
    for key in range(N):
        one = example([kind], key, full=False)
        value, feedback = scored(SEED, one)
        if value < 1:
            assert scored(feedback, one)[0] == 1.0, (one["prompt"], feedback)


LEAVING_OPEN = [
    kind
    for kind in ALL_KINDS
    if fmean(scored(SEED, example([kind], key, full=False))[0] for key in range(N)) < 0.8
]
"""Kinds whose terse requests leave something to be learnt."""


def test_many_kinds_leave_something_to_be_learnt() -> None:
    assert 20 <= len(LEAVING_OPEN) <= 40


@pytest.mark.parametrize("kind", LEAVING_OPEN)
def test_a_lesson_from_one_example_helps_on_another(kind: str) -> None:
    bare: list[float] = []
    taught: list[float] = []
    for key in range(3 * N):
        one = example([kind], key, full=False)
        value, feedback = scored(SEED, one)
        lessons = learn([Trace(one["prompt"], "x", feedback)]) if value < 1 else []
        if lessons:
            advice = phrase(lessons[0], random.Random(key), FLAWLESS)
            for other in range(key + 1, key + 4):
                new = example([kind], other, full=False)
                bare.append(scored(SEED, new)[0])
                taught.append(scored(f"{SEED}\n{advice}", new)[0])
    assert fmean(taught) > max(0.85, fmean(bare) + 0.1)


def test_kinds_can_be_met_together() -> None:
    rng = random.Random(5)
    values: list[float] = []
    while len(values) < 200:
        kinds = rng.sample(ALL_KINDS, 3)
        if go_together(kinds):
            values.append(scored(SEED, example(kinds, len(values), full=True))[0])
    assert fmean(values) > 0.97
