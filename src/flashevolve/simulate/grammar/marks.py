"""Marks: the signs that parts of a text are written with.

A mark is what stands before and what stands after: `("<<", ">>")`, `("* ", "")`. Requests show
them as signs, as names of signs, or as a pattern such as `[name]`.
"""

import re
from collections.abc import Iterator, Sequence

from flashevolve.simulate.grammar.clauses import Clause, Demand, Mark

_MIRROR = {"[": "]", "(": ")", "<": ">", "{": "}", "<<": ">>", "[[": "]]", "{{": "}}"}
_PATTERN = re.compile(r"([^\w\s]+\s?)\w[\w .]*?(\s?[^\w\s]*)")
_WRAPPED = frozenset({"placeholder", "highlight", "bold"})
_MARKED = ("title", "heading", "placeholder", "highlight", "bold")


def mark_of(shown: Sequence[str], *, wrapping: bool = False) -> Mark | None:
    """Returns the mark that literals show; None if they show none."""
    signs = [one for one in shown if not re.search(r"\w", one)]
    for one in shown:
        pattern = _PATTERN.fullmatch(one)
        if pattern:
            return pattern[1], pattern[2] or ("" if not wrapping else mirror(pattern[1]))
    if len(signs) >= 2 and (wrapping or signs[1] == mirror(signs[0]) or len(signs) == 2):
        return signs[0], signs[1]
    if not signs:
        return None
    half = len(signs[0]) // 2
    if half and mirror(signs[0][:half]) == signs[0][half:] != signs[0][:half]:
        return signs[0][:half], signs[0][half:]
    return signs[0], mirror(signs[0]) if wrapping else ""


def mirror(opening: str) -> str:
    """Returns the sign that closes what another opens."""
    return _MIRROR.get(opening.strip(), opening.strip())


def marks(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for marks of parts, and for what must not be one."""
    if clause.any("blankline") and clause.any("paragraph"):
        denied = clause.denies(r"\bblankline\b")
        if not clause.says(r"blankline avoid"):
            yield Demand("not paragraph separator" if denied else "paragraph separator", "")
    if clause.any("parenthesis"):
        denied = clause.denies(r"\bparenthesis\b")
        if denied or not clause.negative:
            yield Demand("not parenthesis marks" if denied else "parenthesis marks", ("(", ")"))
    if clause.shown:
        yield from _shown_marks(clause)
    if clause.refused:
        for demand in _shown_marks(clause.of_refused()):
            yield Demand(f"not {demand.slot}", demand.value)


def _shown_marks(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for the marks that a clause shows."""
    part = clause.part
    if part in ("codeblock", "tag", "json", "quotes", "table"):
        return
    signs = [one for one in clause.shown if not re.search(r"\w\w", one)]
    if clause.has("bullet"):
        if signs:
            yield Demand("marker", signs[0])
        return
    if clause.has("postscript"):
        short = [one for one in clause.shown if len(one) < 12 and one[:1].isalnum()]
        if short and not clause.any("count"):
            yield Demand("postscript mark", short[0])
        return
    if clause.any("paragraph", "separate", "variants", "variant", "copies", "copy"):
        bare = [one for one in clause.shown if not re.search(r"\w", one)]
        if bare and not clause.any(*_MARKED):
            yield Demand(f"{_separated(clause)} separator", bare[0])
            return
    part = "heading" if part == "headings" else part
    for unit in _MARKED:
        if unit == part or (unit in clause.words and not part):
            mark = mark_of(clause.shown, wrapping=unit in _WRAPPED)
            if mark:
                yield Demand(f"{unit} marks", mark)
                if unit == "heading" and mark[1]:
                    yield Demand("title marks", mark)
            return
    if part == "section" and clause.spelled:
        yield Demand("section mark", re.sub(r"\s*\d+\W*$|\s+[XN]$", "", clause.spelled[0]))
    elif part == "section" and (mark := mark_of(clause.shown)):
        yield Demand("section mark", mark[0])
    elif clause.numbered:
        endings = (re.fullmatch(r"1(\W+)", one) for one in clause.shown)
        yield from [Demand("number mark", ending[1]) for ending in endings if ending][:1]


def _separated(clause: Clause) -> str:
    """Returns what the separator separates."""
    if clause.any("variants", "variant"):
        return "variant"
    if clause.any("copies", "copy", "times", "repeat"):
        return "copy"
    return "paragraph" if clause.any("paragraph") else "any"
