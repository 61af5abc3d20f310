"""What the reader's tests share: prompts, data, and the mean score of a prompt."""

import random
from collections.abc import Sequence
from functools import cache
from statistics import fmean
from typing import Any

from flashevolve.llm.messages import system, user
from flashevolve.simulate.model import Reader
from flashevolve.simulate.reader import TextReader
from flashevolve.workloads.instructions import generate, score
from tests.simulate.usual import USUAL, reader_with

SEED = "Answer the request."
KINDS = {
    "bullets": "detectable_format:number_bullet_lists",
    "title": "detectable_format:title",
    "postscript": "detectable_content:postscript",
    "paragraphs": "length_constraints:number_paragraphs",
    "placeholders": "detectable_content:number_placeholders",
    "two_answers": "combination:two_responses",
    "headings": "layout:headings",
    "bold": "layout:bold",
    "signature": "edges:signature",
}
RULES = {
    "bullets": 'Begin every bullet line with "* ".',
    "title": 'Put any title on the first line between "<<" and ">>".',
    "postscript": 'A postscript begins with "P.S.".',
    "paragraphs": 'Between paragraphs put a separator line "***".',
    "placeholders": "Write every placeholder in square brackets.",
    "two_answers": 'Between two different answers put a line "******".',
    "headings": 'Begin every heading line with "## ".',
    "bold": 'Make a phrase bold with "**" on each side.',
    "signature": 'A signature is the last line and begins with "-- ".',
}
"""What feedback teaches about the kinds of the default data, in the order of `KINDS`."""
ORACLE = "\n".join([SEED, *RULES.values()])

DATA = generate(0, 60, 60, 500)
READER = TextReader(USUAL)
FLAWLESS = reader_with(
    lapse_rate=0,
    misread_rate=0,
    omission_rate=0,
    over_specific_rate=0,
    overreach_rate=0,
    vague_rate=0,
    wrong_rate=0,
)
"""A reader that makes no mistake, so that what it does shows in one draw."""


def answer(prompt: str, example: Any, draw: object = 0, reader: Reader = READER) -> str:
    messages = [system(prompt), user(example["prompt"])]
    return reader.answer(messages, random.Random(f"{draw}/{example['key']}"))


def mean(
    prompt: str,
    examples: Sequence[Any] = DATA["test"],
    draw: object = 0,
    reader: Reader = READER,
) -> float:
    return fmean(score(e, answer(prompt, e, draw, reader))[0] for e in examples)


@cache
def alone(kind: str) -> list[dict[str, Any]]:
    """Returns examples whose only constraint is of one kind, a key of `KINDS`."""
    return generate(0, 0, 0, 160, kinds=[KINDS[kind]], n_constraints=[1])["test"]


def kind_rate(prompt: str, kind: str) -> float:
    """Returns how often a constraint of one kind is met where it is the only one."""
    return mean(prompt, alone(kind))


def reflection_prompt(text: str, shown: Sequence[tuple[Any, str, str]]) -> str:
    """Returns a prompt in the shape of this project's own: examples under headings."""
    parts = [f"Improve the instructions of an assistant. They read:\n\n```\n{text}\n```\n"]
    for k, (example, output, feedback) in enumerate(shown, 1):
        parts.append(f"# Example {k}\n## Inputs\n{example['prompt']}")
        parts.append(f"## Output\n{output}\n## Feedback\n{feedback}\n")
    parts.append("Rewrite the instructions so that each input like these is answered better.")
    parts.append("Give the new text within a fenced block.")
    return "\n".join(parts)


def fenced(reply: str) -> str:
    return reply.split("```")[1].strip()
