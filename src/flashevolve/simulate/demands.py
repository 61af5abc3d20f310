"""Demands: what a statement asks of the form of a text, as far as general competence understands.

A demand fills one slot of a plan (how many words, which bullet marker, how the text ends). The
grammar knows parts of texts, counts, positions, case, prohibition and named formats; it knows no
checker. Statements that it does not understand ask for nothing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from flashevolve.simulate.statements import MEMO_SIZE, Statement

Value = str | int | tuple[str, str]


@dataclass(frozen=True)
class Demand:
    """A value for one slot of the plan."""

    slot: str
    value: Value


_UNITS = "word|sentence|paragraph|bullet|line"
_COUNT = re.compile(
    r"(?:(atleast|atmost|exactly) )?(?<!@)(?<!between )\b(\d+) (?:(?!\d)[a-z]+ )??"
    rf"({_UNITS})\b(?: (atleast|atmost))?"
)
_LITERAL = re.compile(r"@(\d+)")
_REJECTED = re.compile(
    r" (?:(?:and|but|,) avoid|instead of|rather than) (?:with |use |a |an |the )*@\d+"
)
"""A literal that is named only to say what is not meant."""
_CONDITION = re.compile(r"^(?:when|if|whenever|wher|for|in|with)\b([^,:]*)[,:]\s*")
_GENERIC = re.compile(r"\b(?:any|each|every|if|when|whenev|wher|alway|all)\b")
_CREATING = re.compile(r"^(?:please )?(?:add|giv|provid|append|writ|include) (?:it )?an? ")


_JSON_ORDER = re.compile(r"\b(?:answer|repl\w*|respon\w*|return|output)\b.* json")
"""Orders a JSON object, where a statement with a key may also just speak about one."""


@dataclass(frozen=True)
class Reading:
    """What a statement asks for, and when."""

    demands: tuple[Demand, ...]
    condition: frozenset[str]
    """Words, one of which a request must hold for this to apply; empty = always applies."""
    creating: bool
    """True if it asks for parts, False if it only speaks about them."""


@lru_cache(maxsize=MEMO_SIZE)
def understand(said: Statement) -> Reading:
    """Returns what a statement asks for."""
    text = _REJECTED.sub("", said.normal)
    words = set(text.split())
    condition: frozenset[str] = frozenset()
    match = _CONDITION.match(text)
    if match and text[match.end() :]:
        condition = frozenset(match[1].split()) & said.stems
        text = text[match.end() :]
        words -= {"avoid"} - set(text.split())
    demands: list[Demand] = []
    for part in (_counts, _bans, _bullets, _titles, _postscripts, _layout, _edges, _inclusions):
        demands += part(text, words, said.literals)
    creating = bool(_CREATING.match(text)) and not _GENERIC.search(said.normal)
    return Reading(tuple(demands), condition, creating)


def _literals(text: str, literals: tuple[str, ...]) -> list[str]:
    """Returns the literals that the text mentions."""
    return [literals[int(k)] for k in dict.fromkeys(_LITERAL.findall(text))]


def _counts(text: str, words: set[str], literals: tuple[str, ...]) -> list[Demand]:
    found = [
        Demand(f"{m[1] or m[4] or 'exactly'} {m[3]}", int(m[2])) for m in _COUNT.finditer(text)
    ]
    if "avoid count" in text or "exclude" in words or {"count", "avoid"} <= words:
        found += [Demand("uncounted", part) for part in ("title", "postscript") if part in words]
    return found


def _bans(text: str, words: set[str], literals: tuple[str, ...]) -> list[Demand]:
    if "avoid" not in words or "nothing" in words:
        return []
    signs = {"comma": ",", "semicolon": ";", "exclamation": "!", "colon": ":", "parenthes": "("}
    found = [Demand("ban", sign) for word, sign in signs.items() if word in words]
    if not {"start", "end", "bullet", "title", "postscript", "json", "key"} & words:
        found += [Demand("ban", one) for one in map(str.strip, literals) if one[:1].isalnum()]
    if "uppercase" in words:
        found.append(Demand("case", "lower"))
    return found


def _bullets(text: str, words: set[str], literals: tuple[str, ...]) -> list[Demand]:
    if "bullet" not in words:
        return []
    marks = [one for one in _literals(text, literals) if not re.search(r"\w\w", one)]
    return [Demand("marker", mark) for mark in marks[:1]]


def _titles(text: str, words: set[str], literals: tuple[str, ...]) -> list[Demand]:
    if "title" not in words or "count" in words or "avoid" in words:
        return []
    found = [Demand("title", "yes")]
    marks = _literals(text, literals)
    if len(marks) >= 2 and not re.search(r"\w", marks[0] + marks[1]):
        found.append(Demand("title marks", (marks[0], marks[1])))
    elif marks and (m := re.fullmatch(r"(\W+)\w[\w ]*?(\W+)", marks[0])):
        found.append(Demand("title marks", (m[1], m[2])))
    return found


def _postscripts(text: str, words: set[str], literals: tuple[str, ...]) -> list[Demand]:
    if "postscript" not in words or "count" in words or "avoid" in words:
        return []
    marks = [one for one in _literals(text, literals) if len(one) < 12]
    return [
        Demand("postscript", "yes"),
        *(Demand("postscript mark", mark) for mark in marks[:1]),
    ]


def _layout(text: str, words: set[str], literals: tuple[str, ...]) -> list[Demand]:
    found: list[Demand] = []
    shown = _literals(text, literals)
    if "paragraph" in words or "separate" in words:
        marks = [one for one in shown if not re.search(r"\w", one)]
        found += [Demand("separator", mark) for mark in marks[:1]]
    if "json" in words and ("key" not in words or _JSON_ORDER.search(text)):
        found.append(Demand("format", "json"))
    if "key" in words or ({"json", "field"} <= words):
        found += [Demand("json key", one) for one in shown[:1]]
    if "quote" in words and "wrap" in words and "title" not in words:
        found.append(Demand("wrap", '"'))
    if "lowercase" in words:
        found.append(Demand("case", "lower"))
    elif "uppercase" in words and "avoid" not in words:
        found.append(Demand("case", "upper"))
    return found


def _edges(text: str, words: set[str], literals: tuple[str, ...]) -> list[Demand]:
    if {"bullet", "title", "postscript", "json", "key", "paragraph", "comma"} & words:
        return []
    shown = [one for one in _literals(text, literals) if one[:1].isalnum()]
    found: list[Demand] = []
    if "end" in words:
        found += [Demand("end", one) for one in shown[:1]]
        apart = {"alone", "phrase", "separate", "nothing"} & words
        if apart and "line" in words:
            found.append(Demand("end style", "own line"))
    elif "start" in words:
        found += [Demand("start", one) for one in shown[:1]]
    return found


def _inclusions(text: str, words: set[str], literals: tuple[str, ...]) -> list[Demand]:
    found: list[Demand] = []
    taken = {"start", "end", "bullet", "title", "postscript", "json", "key", "paragraph", "avoid"}
    if not {"include", "keyword", "term"} & words:
        return []
    if not taken & words:
        named = [one for one in _literals(text, literals) if one[:1].isalnum()]
        found += [Demand("include", one) for one in named]
    times = re.search(r"\b(\d+) times\b", text)
    if times:
        found.append(Demand("times", int(times[1])))
    return found
