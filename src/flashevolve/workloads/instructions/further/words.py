"""Checkers about words: how many, how different, in which order and where."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated

from flashevolve.workloads.instructions.further.parts import places, sentences
from flashevolve.workloads.instructions.text import counted, words
from flashevolve.workloads.instructions.verdict import (
    Checker,
    Count,
    Position,
    Rule,
    Text,
    Verdict,
    Word,
)

_InRange = Annotated[
    Verdict, Rule("low to be at most high", lambda *, low, high: bool(low <= high))
]
# `second` may stand in `first`, but where `first` begins with it, it never comes after.
_InOrder = Annotated[
    Verdict,
    Rule(
        "first to begin with another word than second",
        lambda *, first, second: 0 not in places(first, second),
    ),
]


def between(answer: str, *, low: Count, high: Count) -> _InRange:
    """From `low` to `high` words."""
    found = len(words(answer))
    if low <= found <= high:
        return Verdict(True, "Its length is right.")
    return Verdict(
        False,
        f"The answer must have between {low} and {counted(high, 'word')}; "
        f"it has {counted(found, 'word')}.",
    )


def unique(answer: str, *, n: Count) -> Verdict:
    """At least `n` different words, whatever their case."""
    found = len({word.casefold() for word in words(answer)})
    if found >= n:
        return Verdict(True, "Its choice of words is rich enough.")
    return Verdict(
        False,
        f"The answer must use at least {counted(n, 'different word')} and repeated words count "
        f"once; it uses {found}.",
    )


def longest_sentence(answer: str, *, n: Position) -> Verdict:
    """No sentence has more than `n` words."""
    found = max((len(words(sentence)) for sentence in sentences(answer)), default=0)
    if 0 < found <= n:
        return Verdict(True, "Its sentences are short enough.")
    return Verdict(
        False,
        f"Every sentence must have at most {counted(n, 'word')}; the longest sentence has {found}.",
    )


def order(answer: str, *, first: Text, second: Text) -> _InOrder:
    """Both words occur, and the first time of `first` is before the first time of `second`."""
    starts = {word: places(answer, word) for word in (first, second)}
    missing = [word for word, places in starts.items() if not places]
    if not missing and starts[first][0] < starts[second][0]:
        return Verdict(True, "Its words come in the right order.")
    found = " and ".join(f'"{word}"' for word in missing)
    return Verdict(
        False,
        f'The answer must include the word "{first}" and after it the word "{second}"; '
        + (f"it lacks {found}." if missing else "they come in the wrong order."),
    )


def last(answer: str, *, word: Word) -> Verdict:
    """The very last word is `word`, in any case, whatever punctuation follows."""
    found = words(answer)[-1:]
    if found and found[0].casefold() == word.casefold():
        return Verdict(True, "Its last word is right.")
    return Verdict(
        False, f'The very last word of the answer must be "{word}"; it ends with another word.'
    )


def in_every_sentence(answer: str, *, word: Word) -> Verdict:
    """Every sentence holds `word`, in any case."""
    parts = sentences(answer)
    found = sum(not places(sentence, word) for sentence in parts)
    if parts and not found:
        return Verdict(True, "Its sentences are complete.")
    return Verdict(
        False,
        f'Every sentence must include the word "{word}"; '
        f"{found} of {len(parts)} sentences are without it.",
    )


def multiple(answer: str, *, k: Position) -> Verdict:
    """The number of words is a multiple of `k`, and not zero."""
    found = len(words(answer))
    if found and found % k == 0:
        return Verdict(True, "Its word count is right.")
    return Verdict(
        False,
        f"The number of words must be a multiple of {k}; the answer has {counted(found, 'word')}.",
    )


def growing(answer: str) -> Verdict:
    """At least three sentences, each with more words than the one before."""
    counts = [len(words(sentence)) for sentence in sentences(answer)]
    grows = all(one < other for one, other in pairwise(counts))
    if len(counts) >= 3 and grows:
        return Verdict(True, "The lengths of its sentences are right.")
    shown = ", ".join(map(str, counts[:8])) or "none"
    return Verdict(
        False,
        "There must be at least 3 sentences and every sentence must have more words than the "
        f"sentence before it; the sentences have these numbers of words: {shown}.",
    )


CHECKERS: Mapping[str, Checker] = {
    "words:between": between,
    "words:unique": unique,
    "words:longest_sentence": longest_sentence,
    "words:order": order,
    "words:last": last,
    "words:in_every_sentence": in_every_sentence,
    "words:multiple": multiple,
    "words:growing": growing,
}
"""Id -> checker."""
