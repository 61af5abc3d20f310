"""Reading: which whole number an answer gives.

What counts is said last: the content of the last box, or what follows the last "answer is" or
"Answer:", whichever comes later; where there is neither, the last whole number. Thinking text is
not part of the answer. A box without a whole number is an answer that is none. Leading zeros,
commas between thousands and LaTeX around a number do not count; parts of decimals, fractions and
powers are no numbers.
"""

import re
from typing import NamedTuple

_THINKING = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought)>", re.IGNORECASE)
_THOUGHT_START = re.compile(r"<(?:think|thinking|thought)>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_MARK = re.compile(r"\banswer\b[*_`\s]*(?:(?:is|was)\b|[:=])(?P<rest>[^\n]*)", re.IGNORECASE)
_INTEGER = re.compile(
    r"(?<![\w.,/^])(?P<sign>[-−]?)\s?(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?:\.0+)?"
    r"(?![\w/^])(?![.,]\d)"
)
_DROPPED = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|displaystyle|left|right|quad|qquad)(?![A-Za-z])"
    r"|\\[,!;: ()\[\]]"
    r"|\^\{?\\circ\}?|[${}*`]"
)
_SHOWN_CHARS = 60


class Found(NamedTuple):
    """What an answer gives."""

    value: int | None
    """None if it gives no whole number."""
    text: str
    """The words that it was read from, for messages."""


def read(text: str) -> Found:
    """Returns the whole number that an answer gives."""
    text = without_thinking(text)
    boxes, marks = _boxes(text), _marks(text)
    if boxes and boxes[-1][0] > (marks[-1][0] if marks else -1):
        content = boxes[-1][1]
        return Found(integer(content), _shown(content))
    if marks:
        _, value, rest = marks[-1]
        return Found(value, _shown(rest))
    numbers = _numbers(_plain(text))
    return Found(numbers[-1], str(numbers[-1])) if numbers else Found(None, "")


def integer(text: str) -> int | None:
    """Returns the number that a short text is, such as "042", "$1{,}024$" or "m + n = 113"."""
    last = _plain(text).rpartition("=")[2].strip().rstrip(".")
    match = _INTEGER.match(last)
    # Units may follow; further numbers or operators make it something else than one number.
    if match is None or not re.fullmatch(r"[^\W\d]*[\s°%A-Za-z]*", last[match.end() :]):
        return None
    return _value(match)


def without_thinking(text: str) -> str:
    """Returns what stands outside of thinking tags; a thought without an end hides the rest."""
    text = _THINKING.sub(" ", text)
    text = _THOUGHT_END.split(text)[-1]
    return _THOUGHT_START.split(text)[0]


def _boxes(text: str) -> list[tuple[int, str]]:
    """Returns place and content of the boxes that are closed."""
    found = []
    for match in _BOX.finditer(text):
        depth = 1
        for end in range(match.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                found.append((match.start(), text[match.end() : end]))
                break
    return found


def _marks(text: str) -> list[tuple[int, int, str]]:
    """Returns place, number and words of what is said to be the answer, where it is a number."""
    found = []
    for match in _MARK.finditer(text):
        rest = _plain(match["rest"])
        numbers = _numbers(rest.rpartition("=")[2])
        if numbers:
            found.append((match.start(), numbers[0], match["rest"].strip()))
    return found


def _numbers(plain: str) -> list[int]:
    return [_value(match) for match in _INTEGER.finditer(plain)]


def _plain(text: str) -> str:
    return _DROPPED.sub("", text.replace("{,}", ","))


def _value(match: re.Match[str]) -> int:
    # Nobody's answer has hundreds of digits, and Python refuses to read thousands of them.
    digits = match["digits"].replace(",", "").lstrip("0")[:400] or "0"
    return -int(digits) if match["sign"] else int(digits)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 3]}..."
