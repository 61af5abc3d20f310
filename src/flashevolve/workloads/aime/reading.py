"""Reading: which whole number an answer gives.

What counts is the content of the last box, or what is said to be the answer after it: a number
that directly follows "answer is", "Answer:" or `<answer>`, or an equation that ends in one. Without
a box other numbers in such a clause count, too; without either, the last whole number. Thinking
text is not part of the answer. A box without a whole number is an answer that is none. Leading
zeros, commas between thousands, units and LaTeX around a number do not count; parts of decimals,
fractions and powers are no numbers. Reading takes time in proportion to the text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from flashevolve.workloads.replies import without_thinking

_BRACE = re.compile(
    r"(?P<box>\\(?:boxed|fbox)\s*\{)|(?P<bare>\\(?:boxed|fbox)\s*(?P<digits>\d+))|\\?[{}]"
)
_MARK = re.compile(
    r"\banswer\b[*_`\s]*(?:(?:is|was)\b(?:\s*:)?|[:=])|<answer>(?!\s*</)", re.IGNORECASE
)
_CLAUSE_END = re.compile(
    r"[,;.?!](?!\d)|</|\b(?:where|because|since|with|when|if|for|as|after|using)\b", re.IGNORECASE
)
_OPENING = re.compile(
    r"(?:[\s*_~\"'(=:]|\b(?:therefore|thus|then|hence|so|simply|just|exactly|equal\s+to)\b)*",
    re.IGNORECASE,
)
_INTEGER = re.compile(
    r"(?<![\w.,/^])(?P<sign>[-−]?)\s?(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?:\.0+)?"
    r"(?![\w/^])(?![.,]\d)"
)
_UNIT = re.compile(r"[^\W\d]*(?:[\s°%][\s°%A-Za-z]*)?")
_MODULUS = re.compile(r"\(?\\p?mod(?![A-Za-z])\s*(?:\{[^{}]*\}|\d+)\)?|\(mod\s+\d+\)")
_DROPPED = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf)|underline|bf|it|rm|emph|bm"
    r"|boldsymbol|(?:display|text)style|left|right|quad|qquad|large|Large)(?![A-Za-z])"
    r"|\\[,!;: ()\[\]{}$%]"
    r"|\^\{?\\circ\}?|[${}*`]"
)
# What makes a number a part of something else: operators, commands, a function around it.
_OPERATOR = re.compile(r"[\\+!×·÷√]|\d\s*[-−]|\w\(")
_WORDS = re.compile(r"(?<!\\)\b[A-Za-z]{3}")
_SHOWN_CHARS = 60


class Found(NamedTuple):
    """What an answer gives."""

    value: int | None
    """None if it gives no whole number."""
    text: str
    """The words that it was read from, for messages."""


class _Mark(NamedTuple):
    place: int
    value: int
    is_direct: bool
    """Whether nothing but markup stands between "answer is" and the number."""
    text: str


def read(text: str) -> Found:
    """Returns the whole number that an answer gives."""
    text = without_thinking(text)
    box, last, direct = _last_box(text), None, None
    for mark in _marks(text):
        last = mark
        direct = mark if mark.is_direct else direct
    if box is not None and (direct is None or direct.place < box[0]):
        return Found(_boxed(box[1]), _shown(box[1]))
    if (mark_used := direct or last) is not None:
        return Found(mark_used.value, _shown(mark_used.text))
    numbers = _numbers(_plain(text))
    return Found(numbers[-1], str(numbers[-1])) if numbers else Found(None, "")


def integer(text: str) -> int | None:
    """Returns the number that a short text is, such as "042", "$1{,}024$" or "m + n = 113"."""
    last = _plain(text).rpartition("=")[2].strip().rstrip(".,;")
    match = _INTEGER.match(last)
    # Units may follow; further numbers or operators make it something else than one number.
    if match is None or not _UNIT.fullmatch(last, match.end()):
        return None
    return _value(match)


def _boxed(content: str) -> int | None:
    """Returns the number of a box: the one that it is, or the only one that stands in it."""
    bare = _MODULUS.sub(" ", content)
    found = integer(bare)
    if found is not None:
        return found
    plain = _plain(bare)
    numbers = _numbers(plain)
    return numbers[0] if len(numbers) == 1 and not _OPERATOR.search(plain) else None


def _last_box(text: str) -> tuple[int, str] | None:
    """Returns place and content of the box that begins last, of those that are closed."""
    opened: list[tuple[int, int] | None] = []
    best = (-1, 0, 0)
    for match in _BRACE.finditer(text):
        if match["box"]:
            opened.append((match.start(), match.end()))
        elif match["bare"]:
            best = max(best, (match.start(), *match.span("digits")))
        elif match[0].endswith("{"):
            opened.append(None)
        elif opened and (box := opened.pop()) is not None:
            best = max(best, (*box, match.start()))
    place, begin, end = best
    return (place, text[begin:end]) if place >= 0 else None


def _marks(text: str) -> Iterator[_Mark]:
    """Yields what is said to be the answer, where it is a number."""
    found = list(_MARK.finditer(text))
    limits = [*(match.start() for match in found[1:]), len(text)]
    for match, limit in zip(found, limits, strict=False):
        # A mark may stand on a line of its own.
        rest = text[match.end() : limit].lstrip("*_`: \t\n\r")
        line = rest.partition("\n")[0]
        plain = _plain(line)
        end = _CLAUSE_END.search(plain)
        clause = plain[: end.start()] if end is not None else plain
        before, equals, result = clause.rpartition("=")
        is_equation = bool(equals) and not _WORDS.search(before)
        said = result if is_equation else clause
        start = _OPENING.match(said)
        number = _INTEGER.match(said, start.end() if start is not None else 0)
        if number is not None:
            yield _Mark(match.start(), _value(number), True, line)
        elif numbers := _numbers(result):
            yield _Mark(match.start(), numbers[0], False, line)


def _numbers(plain: str) -> list[int]:
    return [_value(match) for match in _INTEGER.finditer(plain)]


def _plain(text: str) -> str:
    return _DROPPED.sub("", text.replace("{,}", ",").replace("\\equiv", "="))


def _value(match: re.Match[str]) -> int:
    # Nobody's answer has hundreds of digits, and Python refuses to read thousands of them.
    digits = match["digits"].replace(",", "").lstrip("0")[:400] or "0"
    return -int(digits) if match["sign"] else int(digits)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 3]}..."
