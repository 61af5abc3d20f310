"""What the reader's tests share: prompts, data, and the mean score of a prompt."""

import random
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from flashevolve.llm.messages import system, user
from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.reader import TextReader
from flashevolve.workloads.instructions import check, generate, score

SEED = "Answer the request."
RULES = {
    "bullets": 'Begin every bullet line with "* ".',
    "title": 'Put any title on the first line between "<<" and ">>".',
    "postscript": 'A postscript begins with "P.S.".',
    "ends_with": "A closing phrase stands alone on the last line.",
    "paragraphs": 'Between paragraphs put a separator line "***".',
    "keywords": "Every keyword must appear at least twice.",
    "no_commas": "When commas are banned, avoid semicolons too.",
    "json_object": 'The JSON key of the text is "answer".',
    "minimum_words": "When counting words, do not count the title and the postscript.",
}
ORACLE = "\n".join([SEED, *RULES.values()])

DATA = generate(0, 60, 60, 200)
READER = TextReader()
FLAWLESS = ReaderParameters(
    lapse_rate=0,
    misread_rate=0,
    omission_rate=0,
    over_specific_rate=0,
    overreach_rate=0,
    vague_rate=0,
    wrong_rate=0,
)
"""A reader that makes no mistake, so that what it does shows in one draw."""


def answer(prompt: str, example: Any, draw: object = 0, reader: TextReader = READER) -> str:
    messages = [system(prompt), user(example["request"])]
    return reader.answer(messages, random.Random(f"{draw}/{example['id']}"))


def mean(
    prompt: str,
    examples: Sequence[Any] = DATA["test"],
    draw: object = 0,
    reader: TextReader = READER,
) -> float:
    return fmean(score(e, answer(prompt, e, draw, reader))[0] for e in examples)


def kind_rate(prompt: str, kind: str) -> float:
    """Returns how often a constraint of one kind is met."""
    met = [
        check(answer(prompt, example), constraint).passed
        for examples in DATA.values()
        for example in examples
        for constraint in example["constraints"]
        if constraint["kind"] == kind
    ]
    return fmean(met)


def reflection_prompt(text: str, shown: Sequence[tuple[Any, str, str]]) -> str:
    """Returns a prompt in the shape of this project's own: examples under headings."""
    parts = [f"Improve the instructions of an assistant. They read:\n\n```\n{text}\n```\n"]
    for k, (example, output, feedback) in enumerate(shown, 1):
        parts.append(f"# Example {k}\n## Inputs\n{example['request']}")
        parts.append(f"## Output\n{output}\n## Feedback\n{feedback}\n")
    parts.append("Rewrite the instructions so that each input like these is answered better.")
    parts.append("Give the new text within a fenced block.")
    return "\n".join(parts)


def fenced(reply: str) -> str:
    return reply.split("```")[1].strip()
