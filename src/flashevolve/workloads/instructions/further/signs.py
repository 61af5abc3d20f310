"""Checkers about signs and figures: final marks, banned signs, parentheses, hashtags, numbers."""

import re
from collections.abc import Mapping
from typing import Literal

from flashevolve.workloads.instructions.further.parts import end_mark, sentences
from flashevolve.workloads.instructions.text import counted, filled_lines
from flashevolve.workloads.instructions.verdict import Checker, Count, Position, Sign, Verdict

Mark = Literal[".", "!", "?"]
"""What a sentence can end in."""

NAMES = {
    ".": "period",
    "!": "exclamation mark",
    "?": "question mark",
    ";": "semicolon",
    ":": "colon",
    "-": "hyphen",
    "'": "apostrophe",
    "(": "opening parenthesis",
}
"""How a sign is called in requests and feedback; others are shown as they are."""


def name(sign: Sign) -> str:
    """Returns what a sign is called."""
    return NAMES.get(sign, f'sign "{sign}"')


def questions(answer: str, *, n: Count) -> Verdict:
    """Exactly `n` sentences end in a question mark."""
    return _endings(answer, n, "?")


def exclamations(answer: str, *, n: Count) -> Verdict:
    """Exactly `n` sentences end in an exclamation mark."""
    return _endings(answer, n, "!")


def forbidden(answer: str, *, sign: Sign) -> Verdict:
    """`sign` does not occur."""
    found = answer.count(sign)
    if answer.strip() and not found:
        return Verdict(True, "Its signs are fine.")
    return Verdict(
        False,
        f'The {name(sign)} ("{sign}") must not appear anywhere; '
        f"it appears {counted(found, 'time')}.",
    )


def semicolons(answer: str, *, n: Count) -> Verdict:
    """At least `n` semicolons."""
    found = answer.count(";")
    if found >= n:
        return Verdict(True, "Its punctuation is fine.")
    return Verdict(
        False, f"The answer must include at least {counted(n, 'semicolon')}; it has {found}."
    )


def parentheses(answer: str, *, n: Count) -> Verdict:
    """At least `n` phrases stand in round brackets."""
    asides = re.findall(r"\(([^()\n]+)\)", answer)
    found = sum(re.search(r"\w", aside) is not None for aside in asides)
    if found >= n:
        return Verdict(True, "Its asides are fine.")
    return Verdict(
        False,
        f"The answer must include at least {counted(n, 'phrase')} in parentheses; "
        f"{found} were found.",
    )


def hashtags(answer: str, *, n: Position) -> Verdict:
    """The last line is exactly `n` hashtags with spaces between them, and is not the only line."""
    written = filled_lines(answer)
    last = written[-1].split() if written else []
    found = sum(bool(re.fullmatch(r"#\w+", tag)) for tag in last)
    if found == n == len(last) and len(written) > 1:
        return Verdict(True, "Its tags are fine.")
    return Verdict(
        False,
        f'The last line must consist of exactly {counted(n, "hashtag")}, each a word with "#" '
        f"before it; "
        f"{found} were found there.",
    )


def count(answer: str, *, n: Count) -> Verdict:
    """Exactly `n` numbers are written in digits; 1,200 and 3.5 are one number each."""
    found = len(re.findall(r"\d+(?:[.,]\d+)*", answer))
    if found == n and answer.strip():
        return Verdict(True, "Its figures are fine.")
    return Verdict(
        False,
        f"The answer must include exactly {counted(n, 'number')} that "
        f"{'is' if n == 1 else 'are'} written in digits; "
        f"it has {found}.",
    )


def all_end_in(answer: str, *, mark: Mark) -> Verdict:
    """Every sentence ends in `mark`."""
    marks = [end_mark(sentence) for sentence in sentences(answer)]
    found = sum(one != mark for one in marks)
    if marks and not found:
        return Verdict(True, "Its final signs are fine.")
    return Verdict(
        False,
        f"Every sentence must end with {_with_article(mark)}; "
        f"{found} of {len(marks)} sentences end differently.",
    )


def _endings(answer: str, n: Count, mark: Sign) -> Verdict:
    found = sum(end_mark(sentence) == mark for sentence in sentences(answer))
    if found == n and answer.strip():
        return Verdict(True, "The endings of its sentences are fine.")
    return Verdict(
        False,
        f"Exactly {counted(n, 'sentence')} must end with {_with_article(mark)}; "
        f"{counted(found, 'sentence')} {'does' if found == 1 else 'do'}.",
    )


def _with_article(mark: Sign) -> str:
    called = name(mark)
    return f"an {called}" if called[0] in "aeiou" else f"a {called}"


CHECKERS: Mapping[str, Checker] = {
    "signs:questions": questions,
    "signs:exclamations": exclamations,
    "signs:forbidden": forbidden,
    "signs:semicolons": semicolons,
    "signs:parentheses": parentheses,
    "signs:hashtags": hashtags,
    "signs:end_mark": all_end_in,
    "numbers:count": count,
}
"""Id -> checker."""
