"""The simple reader is a reader too, and shows which signs need none of the first one's."""

import json
import random
from statistics import fmean, stdev
from typing import Any

import pytest

from flashevolve.llm.messages import Request, system, user
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.simple_reader import SimpleReader
from flashevolve.workloads.instructions import score
from tests.simulate.instructing import DATA, FLAWLESS, ORACLE, SEED, fenced, reflection_prompt
from tests.simulate.usual import USUAL, reader_with

SIMPLE = SimpleReader(USUAL)
CERTAIN = SimpleReader(FLAWLESS)
KIND, COUNT, TITLE = "Be kind.", "Count the words.", "Titles are short."


def gain(better: str, worse: str, reader: SimpleReader = SIMPLE) -> tuple[float, float]:
    """Returns the mean difference of two prompts on the test examples, and its standard error."""
    gaps = [scored(better, e, reader) - scored(worse, e, reader) for e in DATA["test"]]
    return fmean(gaps), stdev(gaps) / len(gaps) ** 0.5


def scored(prompt: str, example: Any, reader: SimpleReader) -> float:
    # A draw of each example's own: one draw for all of them would be one anecdote.
    messages = [system(prompt), user(example["prompt"])]
    return score(example, reader.answer(messages, random.Random(f"0/{example['key']}")))[0]


def test_the_same_draw_gives_the_same_answer_and_another_draw_another() -> None:
    asked = [system(ORACLE), user(DATA["test"][0]["prompt"])]
    one, same, other = (SIMPLE.answer(asked, random.Random(k)) for k in (1, 1, 2))
    assert one == same != other


def test_an_overlong_prompt_hurts_here_too() -> None:
    filler = "\n".join(f"The archive of year {1900 + k} holds maps." for k in range(50))
    mean, error = gain(f"{ORACLE}\n{filler}", ORACLE)
    assert mean < -0.1 - 3 * error


def test_nine_rules_crowd_out_the_request_here_and_help_where_there_is_room_for_both() -> None:
    """Its nine places are drawn among all statements alike, whatever is asked."""
    mean, error = gain(ORACLE, SEED)
    assert mean < 3 * error
    roomy = SimpleReader(reader_with(capacity_statements=30))
    mean, error = gain(ORACLE, SEED, roomy)
    assert mean > 0.1 + 3 * error


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
