"""Roles follow from what a prompt shows and asks; wording and headings are free."""

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.algorithms.gepa import prompts
from flashevolve.llm.messages import Message, Role, assistant, system, user
from flashevolve.simulate.lessons import Trace
from flashevolve.simulate.prompt import take_apart
from flashevolve.simulate.reader import TextReader
from flashevolve.simulate.roles import current_text, infer_role, shown_texts
from flashevolve.simulate.simple_reader import SimpleReader
from flashevolve.simulate.terms import words_of
from flashevolve.templates import fill, template
from flashevolve.workloads.instructions import generate, score
from flashevolve.workloads.instructions.kinds import ALL_KINDS
from tests.simulate.instructing import (
    DATA,
    FLAWLESS,
    ORACLE,
    RULES,
    SEED,
    answer,
    reflection_prompt,
)
from tests.simulate.templates import REFLECTIONS, REPAIRS
from tests.simulate.usual import USUAL, reader_with

BULLETS = Trace(
    "Describe a tram. Give exactly 3 bullet points.",
    "- The tram is old.\n\n- The tram is slow.",
    'There must be exactly 3 bullet lines and each must begin with "* "; 0 such lines were found.',
)
TITLE = Trace(
    "Describe a harbour. Add a title.",
    "Harbour\nThe harbour is wide.",
    'The title must stand between "<<" and ">>"; no such line was found.',
)
FINE = Trace("Describe a cat.", "The cat sleeps.", "All requirements are met.")
SHOWN = [BULLETS, FINE, TITLE]


def own(old: str, shown: list[Trace]) -> str:
    """This project's own prompt, as its users get it."""
    records = "\n\n".join(
        f"# Example {k}\n## Input\n{t.inputs}\n## Output\n{t.output}\n## Feedback\nScore: 0.5\n"
        f"{t.feedback}"
        for k, t in enumerate(shown, 1)
    )
    return prompts.reflect(None, "system", old, records)


def repairing(stale: str, current: str) -> str:
    """This project's own prompt for repairs."""
    shown = {
        "stale": f"### system\n```\n{stale}\n```",
        "current": f"### system\n```\n{current}\n```",
        "updates": "Version 3: a line was added.",
    }
    return fill(template("flashevolve.engine", "repair"), shown)


def body(reply: str) -> str:
    """Returns the new text of a reply in any of the forms that are asked for."""
    if reply.startswith("{"):
        return str(next(v for k, v in json.loads(reply).items() if k != "why"))
    fenced = re.search(r"```\n(.*)\n```", reply, re.DOTALL)
    return fenced[1] if fenced else reply


def revised(text: str, draw: int, reader: TextReader) -> str:
    return body(reader.answer([user(text)], random.Random(draw)))


def headings(old: str, shown: list[Trace]) -> str:
    """The prompt that the reader's other tests use."""
    examples = [({"prompt": t.inputs}, t.output, t.feedback) for t in shown]
    return reflection_prompt(old, examples)


ALL_REFLECTIONS = {"own": own, "headings": headings, **REFLECTIONS}


@pytest.mark.parametrize("worded", ALL_REFLECTIONS.values(), ids=ALL_REFLECTIONS)
@pytest.mark.parametrize("shown", [[BULLETS], SHOWN])
def test_a_reflection_is_recognised_in_any_wording(
    worded: Callable[..., str], shown: list[Trace]
) -> None:
    prompt = take_apart([user(worded(SEED, shown))])
    assert infer_role(prompt) == "reflect"
    assert (current_text(prompt) or "").strip() == SEED
    assert [(t.inputs.strip(), t.output.strip()) for t in prompt.traces] == [
        (t.inputs, t.output) for t in shown
    ]
    for found, meant in zip(prompt.traces, shown, strict=True):
        assert meant.feedback in found.feedback


@pytest.mark.slow
@pytest.mark.parametrize("worded", REFLECTIONS.values(), ids=REFLECTIONS)
def test_a_reflection_teaches_as_much_in_any_wording(worded: Callable[..., str]) -> None:
    # Rates of 400 draws each: the difference of two has a standard error of at most 0.036, and
    # less than 3 of these pass for noise.
    reader, n = TextReader(reader_with(vague_rate=0.2)), 400

    def learnt(wording: Callable[..., str], first: int) -> float:
        texts = [revised(wording(ORACLE, SHOWN), first + k, reader) for k in range(n)]
        return sum('begin with "* "' in t or 'between "<<"' in t for t in texts) / n

    assert 0.3 < learnt(own, 0) < 0.99
    assert abs(learnt(worded, n) - learnt(own, 0)) < 3 * 0.036


@pytest.mark.parametrize("worded", REFLECTIONS.values(), ids=REFLECTIONS)
def test_the_same_draw_teaches_the_same_in_any_wording(worded: Callable[..., str]) -> None:
    reader = TextReader(USUAL)
    for k in range(30):
        assert revised(worded(ORACLE, SHOWN), k, reader) == revised(own(ORACLE, SHOWN), k, reader)


ALL_REPAIRS = {"own": repairing, **REPAIRS}


@pytest.mark.parametrize("worded", ALL_REPAIRS.values(), ids=ALL_REPAIRS)
@pytest.mark.parametrize(
    ("stale", "current", "verdict"),
    [
        ([SEED, RULES["bullets"]], [SEED, RULES["bullets"], RULES["title"]], "discard"),
        ([SEED, RULES["bullets"]], [SEED], "accept"),
        ([SEED, RULES["bullets"]], [SEED, RULES["title"]], "patch"),
    ],
)
def test_a_repair_gives_the_same_verdict_in_any_wording(
    worded: Callable[[str, str], str], stale: list[str], current: list[str], verdict: str
) -> None:
    text = worded("\n".join(stale), "\n".join(current))
    reply = json.loads(TextReader(FLAWLESS).answer([user(text)], random.Random(1)))
    assert reply["verdict"] == verdict
    if verdict == "patch":
        assert reply["components"] == {"system": "\n".join([*current, RULES["bullets"]])}


MERGES: dict[str, tuple[str, Callable[[str], str]]] = {
    "fenced": (
        "Combine the two prompts below into one.\n```\n{0}\n```\nand\n```\n{1}\n```\n"
        "Put the result in a ``` block.",
        body,
    ),
    "headings": (
        "Below are lessons from several sessions. Merge them: say everything once.\n"
        "## Reflection 1\n- {0}\n## Reflection 2\n- {1}\n\nReturn only the merged lessons.",
        str,
    ),
    "json": (
        "Consolidate these instructions.\n<version_a>\n{0}\n</version_a>\n<version_b>\n{1}\n"
        '</version_b>\nAnswer with a JSON object {{"reasoning": "...", "instructions": "..."}}.',
        lambda reply: str(json.loads(reply)["instructions"]),
    ),
}


@pytest.mark.parametrize(("text", "read"), MERGES.values(), ids=MERGES)
def test_a_merge_is_recognised_and_answered_in_the_form_asked_for(
    text: str, read: Callable[[str], str]
) -> None:
    one, other = f"{SEED}\n{RULES['title']}", f"{RULES['bullets']}\n{SEED}"
    prompt = take_apart([user(text.format(one, other))])
    assert infer_role(prompt) == "merge"
    assert len(shown_texts(prompt)) == 2
    reply = TextReader(FLAWLESS).answer([user(text.format(one, other))], random.Random(1))
    assert read(reply).splitlines() == [SEED, RULES["title"], RULES["bullets"]]


def test_named_fields_are_merged_into_the_one_that_is_wanted() -> None:
    structure = "\n\n".join(
        f"[[ ## {name} ## ]]\n{{{name}}}" for name in ("prompt_a", "prompt_b", "joint_prompt")
    )
    given = f"[[ ## prompt_a ## ]]\n{SEED}\n\n[[ ## prompt_b ## ]]\n{RULES['title']}"
    turns = [
        system(f"{structure}\nWhat to do:\n        Combine both prompts into one text."),
        user(f"{given}\n\nFill in `joint_prompt`."),
    ]
    assert infer_role(take_apart(turns)) == "merge"
    reply = TextReader(FLAWLESS).answer(turns, random.Random(1))
    assert reply.startswith(f"[[ ## joint_prompt ## ]]\n{SEED}\n{RULES['title']}\n\n[[ ## comp")


@pytest.fixture(scope="module")
def tried() -> list[Trace]:
    """Requests of every kind, what a reader made of them, and the feedback."""
    examples = generate(1, 150, 1, 1, kinds=list(ALL_KINDS))["train"]
    outputs = [answer(ORACLE, example) for example in examples]
    return [
        Trace(example["prompt"], output, score(example, output)[1])
        for example, output in zip(examples, outputs, strict=True)
    ]


def test_a_request_of_any_kind_is_answered(tried: list[Trace]) -> None:
    for trace in tried:
        assert infer_role(take_apart([system(ORACLE), user(trace.inputs)])) == "answer"


@pytest.mark.parametrize("worded", ALL_REFLECTIONS.values(), ids=ALL_REFLECTIONS)
def test_examples_of_any_kind_are_told_apart_in_any_wording(
    worded: Callable[..., str], tried: list[Trace]
) -> None:
    for k in range(0, 150, 3):
        shown = tried[k : k + 3]
        prompt = take_apart([user(worded(ORACLE, shown))])
        assert infer_role(prompt) == "reflect"
        assert (current_text(prompt) or "").strip() == ORACLE
        for found, meant in zip(prompt.traces, shown, strict=True):
            assert bare(found.inputs) == bare(meant.inputs)
            assert bare(found.feedback)[-len(bare(meant.feedback)) :] == bare(meant.feedback)


def bare(text: str) -> list[str]:
    """Returns the lines of a text without fences, which sections leave out."""
    return [line.strip() for line in text.splitlines() if line.strip(" `~")]


def test_a_second_try_is_the_same_role() -> None:
    first = user(own(SEED, [BULLETS]))
    again = user(prompts.again("system", "no fence"))
    prompt = take_apart([first, assistant("Here is it."), again])
    assert infer_role(prompt) == "reflect"
    reply = TextReader(FLAWLESS).answer([first, assistant("Here."), again], random.Random(1))
    assert body(reply).splitlines()[0] == SEED


ANSWERS: Mapping[str, Any] = {
    "request": DATA["train"][0]["prompt"],
    "feedback": "Write a note that gives feedback on my example.",
    "verdict": "Accept the patch as JSON.",
    "rewrite": "Rewrite the following text so that it sounds better:\n```\nThe cat sat.\n```",
    "combine": "Combine these two sentences into one: The cat sat. The dog ran.",
    "review": "Write a review of a new film. Question: is it good? Answer: in three bullets.",
    "critique": "# Essay\nTrams are new.\n# Task\nGive a critique of the essay, in JSON.",
    "code": "Improve this code and explain the update:\n```python\nprint(1)\n```",
}


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("standing", ["", SEED, ORACLE])
def test_a_request_is_answered(text: str, standing: str) -> None:
    assert infer_role(take_apart([system(standing), user(text)])) == "answer"


def test_a_request_below_a_prompt_with_pasted_examples_is_answered() -> None:
    pasted = "\n".join(
        f"# Example {k}\n## Input\n{e['prompt']}\n## Output\n{answer(ORACLE, e)}"
        for k, e in enumerate(DATA["train"][:5], 1)
    )
    for example in DATA["test"][:20]:
        prompt = take_apart([system(f"{ORACLE}\n{pasted}"), user(example["prompt"])])
        assert infer_role(prompt) == "answer"


def test_a_prompt_with_solved_examples_and_a_fence_is_no_reflection() -> None:
    standing = (
        "# Instructions\nImprove each text. Write it like this:\n```\nShort. Clear.\n```\n"
        "# Example 1\n## Input\nThe text is long.\n## Output\nIt is long."
    )
    assert infer_role(take_apart([system(standing), user("The new text is old.")])) == "answer"


WORDS = words_of(
    """``` ~~~ # ## ### Example 1 Feedback Input: Output: <prompt> </prompt> <feedback> {"a": [ [[
    ## ]] {a} `a` "a": JSON verdict accept patch merge improve prompts texts 2 B . critique"""
)
LINES = (
    "\n",
    "\n\n",
    " ",
    "[[ ## a ## ]]\n",
    "[[ ## a ## ]]\n{a}\n",
    "[[ ## b ## ]]\n{b}\n",
    '{\n"b": "{b}"\n}',
    "a:\n        b",
    "\n```\nBe kind.\n```\n",
    "\n# Example 1\n## Input\nTrams\n## Feedback\n",
)
FRAGMENTS = st.sampled_from([*WORDS, *LINES])


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.lists(FRAGMENTS))))
def test_any_conversation_gets_an_answer(turns: list[tuple[Role, list[str]]]) -> None:
    messages = [Message(role=role, content="".join(said)) for role, said in turns]
    for reader in (TextReader(USUAL), SimpleReader(USUAL)):
        once, again = (reader.answer(messages, random.Random(1)) for _ in range(2))
        assert once == again


def test_earlier_turns_are_no_part_of_the_request() -> None:
    turns = [system(SEED), user("Describe a cat."), assistant("A cat."), user("Add a title.")]
    prompt = take_apart(turns)
    assert prompt.request == "Add a title."
    assert prompt.standing == f"{SEED}\nDescribe a cat.\nA cat."
