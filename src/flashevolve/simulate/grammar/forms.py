"""Forms: what the text as a whole looks like. Case, wrapping, formats, language, repetition."""

import re
from collections.abc import Iterator

from flashevolve.simulate.grammar.clauses import Clause, Demand
from flashevolve.simulate.grammar.marks import mark_of
from flashevolve.simulate.terms import LANGUAGES

_JSON_ORDER = re.compile(
    r"\b(?:answer|repl\w*|respon\w*|return|output|giv|writ|format|wrap)\b.* json"
    r"|\bjson (?:only|format)|in json|as json"
)
"""Orders a JSON object, where a statement with a key may also just speak about one."""
_WHOLE = ("wrap", "text", "answer", "copies", "copy")
_STANDING_IN = frozenset({"name", "tag", "x"})
"""What stands for the name of a tag in a pattern."""


def titles(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for a title and a postscript."""
    counted = (
        clause.any("count") or clause.negative or clause.denies(r"\b(?:title|heading|postscript)\b")
    )
    single = (
        clause.any("heading")
        and not clause.any("every", "line")
        and not clause.says(r"\d (?:[a-z]+ )*heading")
    )
    if (clause.any("title") or single) and not counted:
        yield Demand("title", "yes")
    if clause.any("postscript") and not counted:
        yield Demand("postscript", "yes")
    if clause.says(r"avoid [a-z ]*count") or clause.any("exclude") or clause.has("count", "avoid"):
        for part in ("title", "postscript"):
            if part in clause.words:
                yield Demand("uncounted", part)


def cases(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for capitals."""
    if clause.says(
        r"(?<![\w@])\d+\b[^,:]*\buppercase\b|\bword [^,:]*\buppercase\b[^,:]* \d"
        r"|\bnumber of [^,:]*\buppercase\b"
    ):
        return
    if clause.denies(r"\b(?:lowercase|titlecase)\b"):
        return
    if clause.any("lowercase"):
        yield Demand("case", "lower")
    elif clause.any("uppercase", "titlecase"):
        if clause.says(r"\bevery (?:[a-z]+ )?nth2 word\b"):
            yield Demand("case", "alternate")
        elif clause.negative:
            yield Demand("case", "lower")
        elif clause.every("sentence") or clause.says(
            r"\bsentence\b.*\b(?:first|start|open)|\bfirst word\b"
        ):
            yield Demand("case", "opening")
            if clause.says(r"\bfirst word\b"):
                yield Demand("opening case", "word")
        elif clause.any("titlecase") or (
            clause.every("word") and clause.any("start", "first", "with")
        ):
            yield Demand("case", "title")
            if clause.every("word"):
                yield Demand("title case", "all")
        else:
            yield Demand("case", "upper")


def wraps(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for what the whole answer stands in."""
    if clause.negative:
        return
    if clause.any("codeblock"):
        fences = [one for one in clause.shown if set(one) <= {"`", "~"}]
        yield Demand("format", "code")
        yield from (Demand("fence", one) for one in fences[:1])
    elif clause.any("tag") or any(re.fullmatch(r"</?\w[\w-]*>", one) for one in clause.shown):
        yield from _tags(clause)
    elif clause.any("quotes", "quote") and not clause.any("title", "line", "verbatim"):
        if clause.any("wrap", "start", "answer", "text", "around"):
            yield Demand("wrap", "yes")
        if clause.any("doubl", "straight"):
            yield Demand("quote marks", ('"', '"'))
        elif clause.any("singl"):
            yield Demand("quote marks", ("'", "'"))


def _tags(clause: Clause) -> Iterator[Demand]:
    """A whole text between an opening and a closing tag."""
    named = [m[1] for one in clause.shown if (m := re.fullmatch(r"</?(\w[\w-]*)>", one))]
    if _STANDING_IN.issuperset(named) and named:
        yield Demand("tag marks", ("<", ">"))
        return
    names = named or [one for one in clause.spelled if re.fullmatch(r"[\w-]+", one)]
    if names and clause.shown:
        yield Demand("tag", names[0])
    if named:
        yield Demand("tag marks", ("<", ">"))
    elif mark := mark_of(clause.shown):
        yield Demand("tag marks", (mark[0], mark[1] or ">"))


def formats(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for JSON, tables and the like."""
    shown = clause.shown
    if (
        clause.any("json")
        and not _no_json(clause)
        and ("key" not in clause.words or _JSON_ORDER.search(clause.text))
    ):
        yield Demand("format", "json")
        outside = clause.negative and clause.any("before", "after", "outsid")
        if outside or clause.any("nothing", "only", "pur", "wrap", "bar"):
            yield Demand("json style", "bare")
    if clause.any("key"):
        yield from (Demand("json key", one) for one in shown[:1])
        yield from (Demand("not json key", one) for one in clause.refused)
    if clause.any("table") and not clause.negative:
        yield Demand("table", "yes")
        if clause.any("markdown") or "|" in shown:
            yield Demand("table style", "markdown")
    if clause.any("digit"):
        denied = clause.denies(r"\bdigit\b")
        yield Demand("not number style" if denied else "number style", "digits")


def _no_json(clause: Clause) -> bool:
    """Tells whether JSON itself is forbidden, and not what may stand around it."""
    around = clause.says(
        r"\b(?:before|after|outsid|around|besid|wrap|bar)\b|\bavoid (?:add|put|enclos|include)\b"
    )
    return not around and clause.denies(r"\bjson\b")


def languages(clause: Clause) -> Iterator[Demand]:
    """Yields the demand for a language."""
    named = [word for word in clause.text.split() if word in LANGUAGES]
    if (
        named
        and not clause.negative
        and clause.any("in", "us", "only", "language", "writ", "answer", "entir", "respond")
    ):
        yield Demand("language", named[0])
    named = [one.lower() for one in clause.spelled if one.lower() in LANGUAGES]
    if named and clause.any("language"):
        yield Demand("language", named[0])


def repetitions(clause: Clause) -> Iterator[Demand]:
    """Yields the demands to give something again, the request or the answer."""
    if clause.denies(r"\b(?:repeat|verbatim|copy|copies|2 times)\b"):
        return
    requested = clause.any("request", "prompt", "question", "instruct", "task", "sentence")
    if (clause.any("repeat", "verbatim", "copy")) and (requested or clause.spelled):
        exact = clause.any("verbatim") or clause.says(r"\bexactly\b|avoid chang|exact\b")
        yield Demand("repeat", "request")
        if exact:
            yield Demand("repeat style", "exact")
        yield from (Demand("repeated", one) for one in clause.spelled if len(one) > 12)
    elif clause.says(r"\b2 times\b|\b2 copies\b|\brepeat\b") and clause.any(*_WHOLE):
        yield Demand("repeat", "answer")
    if clause.says(r"(?<!separate )\b2 variants\b") and not clause.negative:
        yield Demand("variants", 2)


def choices(clause: Clause) -> Iterator[Demand]:
    """Yields the demand to answer with one of a few phrases."""
    if clause.says(r"\b(?:1 of|option|choos|pick)\b") and len(clause.shown) >= 2:
        yield Demand("choice", "asked")
        yield from (Demand("option", one) for one in clause.shown)
    elif clause.any("yesorno") and not clause.denies(r"\byesorno\b"):
        yield Demand("choice", "asked")
