"""The simple reader is a reader too, and shows which signs need none of the first one's."""

import json
import random
from statistics import fmean

import pytest

from flashevolve.llm.messages import Request, system, user
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.simple_reader import SimpleReader
from tests.simulate.instructing import (
    DATA,
    FLAWLESS,
    ORACLE,
    RULES,
    SEED,
    fenced,
    mean,
    reflection_prompt,
)
from tests.simulate.usual import USUAL, reader_with

SIMPLE = SimpleReader(USUAL)
CERTAIN = SimpleReader(FLAWLESS)
KIND, COUNT, TITLE = "Be kind.", "Count the words.", "Titles are short."


def test_the_same_draw_gives_the_same_answer_and_another_draw_another() -> None:
    asked = [system(ORACLE), user(DATA["test"][0]["prompt"])]
    one, same, other = (SIMPLE.answer(asked, random.Random(k)) for k in (1, 1, 2))
    assert one == same != other


def rates(*prompts: str, reader: SimpleReader = SIMPLE) -> list[float]:
    """Returns the mean score of each prompt over 1,500 answers, drawn anew for each example."""
    return [fmean(mean(prompt, draw=k, reader=reader) for k in range(3)) for prompt in prompts]


THREE = "\n".join([SEED, *list(RULES.values())[:3]])


def test_a_few_rules_help_here_too_and_nine_take_the_place_of_the_request() -> None:
    # The difference of two means has a standard error of 0.012.
    bare, three, nine = rates(SEED, THREE, ORACLE)
    assert three > bare + 0.05
    assert nine < bare


def test_with_room_for_all_statements_nine_rules_help_more_than_three() -> None:
    wide = SimpleReader(reader_with(capacity_statements=20))
    bare, three, nine = rates(SEED, THREE, ORACLE, reader=wide)
    assert nine > three + 0.08 > bare + 0.13


def test_an_overlong_prompt_hurts() -> None:
    filler = "\n".join(f"The archive of year {1900 + k} holds maps." for k in range(50))
    long, nine = rates(f"{ORACLE}\n{filler}", ORACLE)
    assert long < nine - 0.1


def test_the_request_always_wins_over_advice() -> None:
    asked = [system("Give exactly 7 bullets."), user("Give exactly 3 bullets.")]
    for k in range(50):
        assert len(CERTAIN.answer(asked, random.Random(k)).splitlines()) == 3


def test_one_lesson_is_learnt_at_a_time() -> None:
    failed = [
        ({"prompt": "Describe a tram. Avoid commas."}, "a, b", "Commas must be avoided; 3 found."),
        ({"prompt": "Add a title."}, "a", 'The title must stand between "<<" and ">>".'),
    ]
    prompt = reflection_prompt(KIND, failed)
    texts = [fenced(CERTAIN.answer([user(prompt)], random.Random(k))) for k in range(40)]
    assert {len(text.splitlines()) for text in texts} == {2}
    assert 8 < sum("<<" in text for text in texts) < 32


@pytest.mark.parametrize(
    ("stale", "current", "verdict"),
    [
        (KIND, f"{KIND}\n{COUNT}", "discard"),
        (f"{KIND}\n{COUNT}", KIND, "accept"),
        (f"{KIND}\n{COUNT}", f"{KIND}\n{TITLE}", "patch"),
    ],
)
def test_verdicts_compare_words(stale: str, current: str, verdict: str) -> None:
    prompt = (
        f"## Stale text\n```\n{stale}\n```\n## Current text\n```\n{current}\n```\n\n"
        "Give a verdict as JSON: accept, patch or discard."
    )
    assert json.loads(CERTAIN.answer([user(prompt)], random.Random(1)))["verdict"] == verdict


def test_merging_holds_no_more_than_the_capacity() -> None:
    texts = ["\n".join(f"Region {k} {n} is there." for k in range(8)) for n in ("north", "south")]
    assert len(CERTAIN.merge(texts[:1], random.Random(1)).splitlines()) == 8
    assert len(CERTAIN.merge(texts, random.Random(1)).splitlines()) == 9


def test_a_simulated_model_can_be_given_this_reader() -> None:
    model = SimulatedModel.from_preset("h100-qwen3-8b", {}, reader=CERTAIN)
    request = Request(messages=(system(KIND), user("Give exactly 3 bullets.")), seed=1)
    reply = run_virtual(model.complete(request))
    assert len(reply.text.splitlines()) == 3
