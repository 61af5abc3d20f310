"""Verdict: what a checker returns, and the values that a checker may be asked for.

A checker is a function `(answer, *, <values>) -> Verdict`. The annotations of its keyword arguments
are what an example's `kwargs` are validated with, so they say all that a value must be: `int`,
`str`, `list[str]`, or one of the annotated types below.
"""

from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple


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
Sign = Annotated[str, Rule("a single character", lambda text: len(text) == 1)]
Texts = Annotated[
    list[str],
    Rule(
        "a list of one or more texts, none of them empty",
        lambda texts: bool(texts) and all(text.strip() for text in texts),
    ),
]
Relation = Literal["at least", "less than"]
