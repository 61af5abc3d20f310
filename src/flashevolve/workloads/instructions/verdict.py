"""Verdict: what a checker returns, and the values that a checker may be asked for.

A checker is a function `(answer, *, <values>) -> Verdict`. The annotations of its keyword arguments
are what an example's `kwargs` are validated with, so they say all that a value must be: `int`,
`str`, `list[str]`, a `Literal`, or one of the annotated types below; texts come stripped. What
several values must be together is the annotation of what it returns. The sentence of a failure
states the whole rule first and what was found after a semicolon, so that it can be understood
without the answer; the sentence of a pass teaches nothing.
"""

import re
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

from flashevolve.workloads.instructions.language import LANGUAGES
from flashevolve.workloads.instructions.text import words


class Verdict(NamedTuple):
    """Whether a constraint is met, and one sentence about it."""

    passed: bool
    feedback: str


Checker = Callable[..., Verdict]
"""`(answer, *, <values>) -> Verdict`."""


class Rule(NamedTuple):
    """What an annotated value must be, beyond its type."""

    expected: str
    """In words, for the message that refuses another value."""
    holds: Callable[..., bool]


Count = Annotated[int, Rule("a whole number of 0 or more", lambda n: n >= 0)]
Position = Annotated[int, Rule("a whole number of 1 or more", lambda n: n >= 1)]
Text = Annotated[str, Rule("a text that is not empty", lambda text: bool(text.strip()))]
Line = Annotated[
    str,
    Rule("a text of one line that is not empty", lambda text: bool(text) and "\n" not in text),
]
Phrase = Annotated[str, Rule("a text with a word in it", lambda text: bool(words(text)))]
Word = Annotated[str, Rule("one word", lambda text: words(text) == [text])]
Letters = Annotated[str, Rule("one word of letters", lambda text: bool(re.fullmatch(r"\w+", text)))]
Letter = Annotated[str, Rule("a single letter", lambda text: bool(re.fullmatch(r"\w", text)))]
Sign = Annotated[
    str, Rule("a single character", lambda text: len(text) == 1 and not text.isspace())
]
Texts = Annotated[
    list[str],
    Rule(
        "a list of one or more texts, none of them empty",
        lambda texts: bool(texts) and all(text.strip() for text in texts),
    ),
]
LanguageCode = Annotated[
    str,
    Rule("a code such as 'en' or 'de' that can be told from the others", LANGUAGES.__contains__),
]
Relation = Literal["at least", "less than"]


def reachable(number: str, relation: str, *, least: int = 1) -> Rule:
    """Returns the rule that something can be less than the value called `number`."""
    return Rule(
        f"{number} to be {least} or more where {relation} is 'less than'",
        lambda **values: values[relation] == "at least" or values[number] >= least,
    )


def related(found: int, relation: Relation, wanted: int) -> bool:
    """Returns whether `found` is at least, or less than, what is wanted."""
    return found >= wanted if relation == "at least" else found < wanted
