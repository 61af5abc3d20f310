"""Reflecting: a new text of instructions from the current one and what feedback says.

The reflector sees the old text and some examples, and nothing else. It keeps most of the old
statements and takes up one to three lessons, those of many traces more often. Where it finds none
it mutates blindly: it turns something that one request said into advice.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from flashevolve.simulate.attention import ReaderParameters, misread
from flashevolve.simulate.lessons import SAME, Lesson, Trace, learn, phrase
from flashevolve.simulate.statements import read, relatedness, split, statement

MORE_LESSONS = (0.25, 0.1)
"""Chances of a second and of a third lesson in one reflection."""
KNOWN_WEIGHT = 0.3
"""Weight of a lesson that the text already holds in some form; if taken, it replaces that form."""


@dataclass(frozen=True)
class Revision:
    """A text that a reader wrote in place of an older one."""

    text: str
    remark: str
    """What it says about it."""


def reflect(
    old: str, shown: Sequence[Trace], rng: random.Random, parameters: ReaderParameters
) -> Revision:
    """Returns the old text as the examples make the reader rewrite it."""
    text = list(split(old))
    lessons = learn(shown)
    chosen = _choose(lessons, text, rng)
    kept = rewrite(text, rng, parameters)
    for lesson in chosen:
        advice = phrase(lesson, rng, parameters)
        twins = [said for said in kept if relatedness(statement(said), statement(advice)) >= SAME]
        kept = [said for said in kept if said not in twins]
        kept.append(advice)
    if not chosen:
        kept += _blind(shown, rng)
    body = "\n".join(dict.fromkeys(kept)) or "\n".join(text)
    n_wrong = f"{len(chosen)} of {len(lessons)} things that went wrong"
    return Revision(body, f"The new text takes up {n_wrong}.")


def rewrite(
    text: Sequence[str], rng: random.Random, parameters: ReaderParameters, n_read: int | None = None
) -> list[str]:
    """Returns the statements as they survive a rewriting.

    The more statements were read for it (`n_read`; None = these), the more get lost.
    """
    load = max(1.0, (n_read or len(text)) / parameters.capacity_statements)
    kept = [said for said in text if rng.random() >= parameters.omission_rate * load]
    return [misread(s, rng) if rng.random() < parameters.misread_rate else s for s in kept]


def _choose(lessons: Sequence[Lesson], text: Sequence[str], rng: random.Random) -> list[Lesson]:
    """Draws up to three lessons, those of many traces and those not yet known more often."""
    left = list(lessons)
    chosen: list[Lesson] = []
    wanted = 1 + sum(rng.random() < chance for chance in MORE_LESSONS)
    while left and len(chosen) < wanted:
        weights = [one.n_traces * (KNOWN_WEIGHT if _known(one, text) else 1.0) for one in left]
        pick = rng.choices(range(len(left)), weights)[0]
        chosen.append(left.pop(pick))
    return chosen


def _known(lesson: Lesson, text: Sequence[str]) -> bool:
    said = statement(lesson.said)
    return any(relatedness(statement(old), said) >= SAME for old in text)


def _blind(shown: Sequence[Trace], rng: random.Random) -> list[str]:
    """Returns advice that repeats a part of some request."""
    seen = [said.text for trace in shown for said in read(trace.inputs)]
    seen = [text for text in seen if len(text.split()) >= 3]
    return [rng.choice(seen)] if seen else []
