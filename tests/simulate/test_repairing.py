import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.engine.gathering import batch_prompt, read_verdicts
from flashevolve.engine.history import Told
from flashevolve.engine.repair import regenerate_prompt, repair_prompt
from flashevolve.llm.messages import user
from flashevolve.policies.staleness import Update
from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.prompt import take_apart
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.reflecting import rewrite
from flashevolve.simulate.repairing import repair
from flashevolve.simulate.simple_reader import SimpleReader
from tests.simulate.usual import USUAL, reader_with

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


# -- controls, in the engine's own words -------------------------------------------------------

LINES = st.lists(
    st.sampled_from([KIND, COUNT, TITLE, "Dates are long.", "No commas."]), unique=True
)
UPDATES = [Update(3, ("pool",), f"Candidate 4 scores 0.5.\n+{TITLE}")]
TOLD = Told(UPDATES, n_missed=1)


def artifact(text: str) -> Artifact:
    return Artifact({"system": text})


def reply_to(text: str, parameters: ReaderParameters = CERTAIN, seed: int = 1) -> dict[str, Any]:
    """Asks the whole reader, which has to tell the role by itself."""
    said = TextReader(parameters).answer([user(text)], random.Random(seed))
    reply: dict[str, Any] = json.loads(said)
    return reply


@given(LINES.filter(bool), st.integers(0, 9))
def test_without_the_stale_text_nothing_is_left_but_the_current_one(
    now: list[str], seed: int
) -> None:
    asked = regenerate_prompt(artifact("\n".join(now)), TOLD)
    reply = reply_to(asked, seed=seed)
    assert "verdict" not in reply
    assert reply["components"] == {"system": "\n".join(now)}


@given(LINES.filter(bool), st.integers(0, 9))
def test_writing_anew_errs_as_a_patch_that_adds_nothing(now: list[str], seed: int) -> None:
    """One cause: the same omissions and misreadings, drawn in the same order."""
    asked = regenerate_prompt(artifact("\n".join(now)), TOLD)
    own = TextReader(USUAL).answer([user(asked)], random.Random(seed))
    kept = rewrite(now, random.Random(seed), USUAL)
    assert json.loads(own)["components"]["system"] == "\n".join(dict.fromkeys(kept or now))


@pytest.mark.parametrize("reader", [TextReader, SimpleReader])
def test_updates_teach_nothing_so_that_withholding_them_changes_nothing(
    reader: type[TextReader] | type[SimpleReader],
) -> None:
    stale, current = artifact(f"{KIND}\n{COUNT}"), artifact(f"{KIND}\n{TITLE}")
    other = [Update(3, ("pool",), "Candidate 1 scores 0.1.\n-Dates are long.")]
    told = (TOLD, Told(other, n_missed=1), Told(n_missed=1, withheld=True))
    asked = [repair_prompt(None, stale, current, each) for each in told]
    replies = {reader(USUAL).answer([user(text)], random.Random(7)) for text in asked}
    assert len(replies) == 1


def test_a_text_that_missed_nothing_is_judged_all_the_same() -> None:
    asked = repair_prompt(None, artifact(f"{KIND}\n{COUNT}"), artifact(KIND), Told(UPDATES))
    assert "Proposed text" in asked
    assert reply_to(asked)["verdict"] == "accept"
    asked = repair_prompt(None, artifact(KIND), artifact(f"{KIND}\n{COUNT}"), Told(UPDATES))
    assert reply_to(asked)["verdict"] == "discard"


def test_several_stale_texts_get_a_verdict_each_under_their_numbers() -> None:
    stale = {31: f"{KIND}\n{COUNT}", 7: KIND, 12: f"{KIND}\n{TITLE}\n{COUNT}"}
    current = artifact(f"{KIND}\n{TITLE}")
    asked = batch_prompt({n: artifact(text) for n, text in stale.items()}, current, TOLD)
    verdicts = reply_to(asked)["verdicts"]
    assert {n: said["verdict"] for n, said in verdicts.items()} == {
        "31": "patch",
        "7": "discard",
        "12": "accept",
    }
    assert verdicts["31"]["components"] == {"system": f"{KIND}\n{TITLE}\n{COUNT}"}
    found = read_verdicts(json.dumps({"verdicts": verdicts}), stale, current)
    assert {n: said[0] for n, said in found.items()} == {31: "patch", 7: "discard", 12: "accept"}


def many(n: int, start: int) -> str:
    return "\n".join(
        f"Region{chr(97 + k % 26)}{chr(97 + k // 26)} is there." for k in range(start, start + n)
    )


def test_texts_side_by_side_overload_the_repairer_where_one_alone_does_not() -> None:
    """What it would find said twice in one text, it misses among many."""
    text = many(8, 0)
    alone = repair_prompt(None, artifact(text), artifact(text), TOLD)
    assert reply_to(alone)["verdict"] == "discard"
    stale = {k: artifact(text if k == 1 else many(8, 8 * k)) for k in range(1, 9)}
    said = reply_to(batch_prompt(stale, artifact(text), TOLD))["verdicts"]
    assert said["1"]["verdict"] != "discard"


REWORDED = {
    "plain": "The newest version of our guidance:\n```\n{now}\n```\n\nRevise it, minding what was "
    'changed elsewhere:\n{updates}\n\nReply as JSON: {{"components": {{"system": "..."}}}}',
    "tagged": "<current_text>\n{now}\n</current_text>\n<changes>\n{updates}\n</changes>\nProduce "
    'a better text. JSON only, such as {{"reason": "...", "components": {{"system": "..."}}}}.',
    "headed": "# Latest text\n{now}\n\n# History\n{updates}\n\nRework the text. Your reply is one "
    'JSON object:\n\n{{"components": {{"system": "the text"}}, "reason": "why"}}',
}


@pytest.mark.parametrize("worded", REWORDED.values(), ids=REWORDED)
def test_writing_anew_may_be_asked_for_in_other_words(worded: str) -> None:
    asked = worded.format(now=f"{KIND}\n{COUNT}", updates="Version 3: a line was added.")
    assert reply_to(asked)["components"] == {"system": f"{KIND}\n{COUNT}"}


SEVERAL = {
    "drafts": ("## Draft {n}\n```\n{text}\n```", "## Present text", "What becomes of each draft?"),
    "tagged": ("### Older version {n}\n{text}", "### Newest version", "Judge them one by one."),
}


@pytest.mark.parametrize(("each", "head", "question"), SEVERAL.values(), ids=SEVERAL)
def test_several_verdicts_may_be_asked_for_in_other_words(
    each: str, head: str, question: str
) -> None:
    stale = "\n\n".join(
        each.format(n=n, text=t) for n, t in {5: KIND, 3: f"{KIND}\n{COUNT}"}.items()
    )
    asked = (
        f"{stale}\n\n{head}\n```\n{KIND}\n```\n\n{question} Reply in JSON: "
        '{"verdicts": {"5": {"verdict": "discard"}}}, or "accept", or "patch".'
    )
    verdicts = reply_to(asked)["verdicts"]
    assert {n: v["verdict"] for n, v in verdicts.items()} == {"5": "discard", "3": "accept"}
