import json
import random
from typing import Any

import pytest

from flashevolve.llm.messages import user
from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.prompt import take_apart
from flashevolve.simulate.repairing import repair
from tests.simulate.usual import reader_with

CERTAIN = reader_with(wrong_rate=0, omission_rate=0, misread_rate=0)
KIND, COUNT, TITLE = "Be kind.", "Count the words.", "Titles are short."


def prompt(stale: str, current: str, name: str = "system") -> str:
    return (
        f"## Stale text\n### {name}\n```\n{stale}\n```\n\n## Current text\n### {name}\n"
        f"```\n{current}\n```\n\n## Updates since\nVersion 2: a change\n\n"
        "Give a verdict as JSON: accept, patch or discard."
    )


def decide(stale: str, current: str, parameters: ReaderParameters = CERTAIN) -> dict[str, Any]:
    return decide_on(prompt(stale, current), parameters)


def decide_on(text: str, parameters: ReaderParameters = CERTAIN) -> dict[str, Any]:
    reply = repair(take_apart([user(text)]), random.Random(1), parameters)
    decided: dict[str, Any] = json.loads(reply)
    return decided


def test_a_text_that_adds_nothing_is_discarded() -> None:
    assert decide(KIND, f"{KIND}\n{COUNT}")["verdict"] == "discard"


def test_a_text_that_holds_everything_is_accepted() -> None:
    assert decide(f"{KIND}\n{COUNT}", KIND)["verdict"] == "accept"


def test_two_texts_that_both_hold_something_are_merged() -> None:
    decided = decide(f"{KIND}\n{COUNT}", f"{KIND}\n{TITLE}")
    assert decided["verdict"] == "patch"
    assert decided["components"] == {"system": f"{KIND}\n{TITLE}\n{COUNT}"}


def test_the_component_keeps_its_name() -> None:
    text = prompt(f"{KIND}\n{COUNT}", f"{KIND}\n{TITLE}", name="Final_answer")
    assert list(decide_on(text)["components"]) == ["Final_answer"]


def test_a_wrong_verdict_is_still_readable() -> None:
    decided = decide(KIND, f"{KIND}\n{COUNT}", reader_with(wrong_rate=1))
    assert decided["verdict"] in ("accept", "patch")


@pytest.mark.parametrize("n_statements", [4, 60])
def test_overload_makes_the_repairer_miss_what_is_already_said(n_statements: int) -> None:
    text = "\n".join(
        f"Region{chr(97 + k % 26)}{chr(97 + k // 26)} is there." for k in range(n_statements)
    )
    assert (decide(text, text)["verdict"] == "discard") == (n_statements == 4)
