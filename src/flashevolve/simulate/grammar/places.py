"""Places: what stands where. Starts and ends of the text, its lines, sentences and paragraphs."""

import re
from collections.abc import Iterator

from flashevolve.simulate.grammar.clauses import Clause, Demand
from flashevolve.simulate.grammar.negation import forbids
from flashevolve.simulate.terms import words_of

_NOT_EDGES = frozenset(
    words_of(
        """bullet title heading postscript json key paragraph comma placeholder highlight bold
        hashtag section numbered tag codeblock variants copies semicolon table headings signature"""
    )
)
_ORDERS = (
    (r"@\d[^@]*\bafter (?:it|that|thi|which|wher)\b", False),
    (r"@\d[^@]*\b(?:before|then)\b[^@]*@\d|\bfirst\b[^@]*@\d[^@]*\b(?:then|after)\b", False),
    (r"@\d[^@]*\bafter\b[^@]*@\d|\bbefore\b[^@]*@\d[^@]*@\d", True),
    (r"\bafter\b[^@]*@\d[^@]*@\d", False),
)
"""How two things are put in order -> whether the one that is named first comes second."""


def places(clause: Clause) -> Iterator[Demand]:
    """Yields the demands on where something stands."""
    if clause.any("repeat", "verbatim"):
        return
    for part in (_spelled_out, _sentences, _lines, _paragraphs, _order, _signature, _hashtags):
        found = list(part(clause))
        if found:
            yield from found
            return
    yield from _edges(clause)


def _spelled_out(clause: Clause) -> Iterator[Demand]:
    """The first letters of lines spell a word."""
    letters = clause.any("spell", "form", "read") and clause.any("letter", "initial")
    if clause.spelled and (letters or clause.any("acrostic")):
        yield Demand("acrostic", clause.spelled[0])


def _sentences(clause: Clause) -> Iterator[Demand]:
    if (
        clause.any("sentence")
        and not clause.negative
        and clause.says(
            r"\b(?:mor word than|morethan) (?:(?:the|that|it|1|sentence|last) )*"
            r"(?:before|abov|preced)|\bgrow\b"
        )
    ):
        yield Demand("growth", "sentence")
    if not (clause.every("sentence") or clause.says(r"sentence (?:of|in) (?:the|your) ")):
        return
    if clause.any("line") and clause.any("alone", "separate", "per", "new", "1", "every"):
        yield Demand("sentence lines", "yes")
    elif clause.any("end"):
        yield from (Demand("sentence end", mark) for mark in _end_marks(clause))
    elif clause.any("start", "first") and clause.spelled:
        if clause.any("letter") or len(clause.spelled[0]) == 1:
            yield Demand("sentence letter", clause.spelled[0])
        else:
            yield Demand("sentence start", clause.spelled[0])
    elif clause.spelled and not clause.negative:
        yield Demand("sentence word", clause.spelled[0])


def _end_marks(clause: Clause) -> Iterator[str]:
    named = {"questionmark": "?", "exclamationmark": "!"}
    yield from [
        named[m[0]]
        for m in re.finditer(r"\b(?:question|exclamation)mark\b", clause.text)
        if not forbids(clause.text, m.start())
    ][:1] or [one for one in clause.shown if not one[:1].isalnum()][:1]


def _lines(clause: Clause) -> Iterator[Demand]:
    if clause.denies(r"\b(?:mor spac|indent|staircas|deeper)\b"):
        return
    more = clause.says(r"\bmor spac\b")
    if clause.any("line") and (more or clause.any("indent", "staircas", "deeper")):
        yield Demand("indent", "growing")
        if more:
            yield Demand("indent step", 1)
    elif not clause.part and clause.every("line") and clause.any("start", "before", "prefix"):
        signs = [one for one in clause.shown if not re.search(r"\w", one)]
        for one in signs[:1]:
            yield Demand("line look", "prefixed")
            yield Demand("line prefix", one)
    if clause.any("quoteblock") and not clause.negative:
        yield Demand("line look", "prefixed")
        yield from (Demand("line prefix", one) for one in clause.shown[:1])


def _paragraphs(clause: Clause) -> Iterator[Demand]:
    if not clause.any("paragraph"):
        return
    nth = clause.says(r"(?<!every )\bnth(\d+)\b|\bparagraph (?:number )?(\d+)\b")
    which = int(nth[1] or nth[2]) if nth else 1 if clause.says(r"\bfirst paragraph\b") else 0
    if clause.says(r"\blast paragraph\b"):
        which = -1
    if which and clause.spelled and clause.any("start", "first", "word"):
        yield Demand("paragraph start", (which, clause.spelled[0]))


def _order(clause: Clause) -> Iterator[Demand]:
    if len(clause.spelled) < 2 or clause.negative:
        return
    one, other = clause.spelled[:2]
    leader = clause.says(
        r"@(\d+) (?:must |should )?(?:com |include |be |stand )?(?:first|before)\b(?! @)"
    )
    if leader and (named := clause.literals[int(leader[1])]) in (one, other):
        yield Demand("order", (named, other if named == one else one))
        return
    if clause.any("option", "json", "title", "key"):
        return
    for pattern, reverse in _ORDERS:
        if clause.says(pattern):
            yield Demand("order", (other, one) if reverse else (one, other))
            return


def _signature(clause: Clause) -> Iterator[Demand]:
    """A name under the text."""
    if not (clause.any("signature") or clause.has("name", "last", "line")) or clause.negative:
        return
    for one in clause.shown:
        styled = re.fullmatch(r"(\W*)(\w.*)", one.strip())
        if styled and not styled[1]:
            yield Demand("signature", styled[2])
        elif styled:
            if styled[2].lower() != "name":
                yield Demand("signature", styled[2])
            yield Demand("signature mark", styled[1])
        else:
            yield Demand("signature mark", one)


def _hashtags(clause: Clause) -> Iterator[Demand]:
    if clause.any("hashtag") and clause.any("line") and clause.any("last", "end", "alone"):
        if clause.negative:
            return
        yield Demand("hashtag place", "last line")


def _edges(clause: Clause) -> Iterator[Demand]:
    if _NOT_EDGES & clause.words or clause.any("sentence", "letter") or clause.numbered:
        return
    starts = clause.any("start") or clause.says(r"\bfirst (?:word|phrase|line|thing)\b")
    ends = clause.any("end") or clause.says(r"\b(?:last|very last)\b")
    if not clause.spelled:
        if (
            ends
            and clause.any("phrase", "word", "end")
            and clause.any("line")
            and clause.any("alone", "separate", "nothing")
        ):
            yield Demand("end style", "own line")
        elif clause.says(r"\bnothing (?:els |may |must |should )*after\b"):
            yield Demand("end style", "plain")
        return
    if starts and not (ends and clause.says(r"\blast\b.*\bstart")):
        yield Demand("start", clause.spelled[0])
    if ends:
        if clause.says(r"\blast word\b"):
            yield Demand("last word", clause.spelled[0])
        else:
            yield Demand("end", clause.spelled[-1 if starts else 0])
        apart = clause.any("alone", "phrase", "separate", "nothing")
        if apart and clause.any("line"):
            yield Demand("end style", "own line")
        elif clause.says(r"\bavoid[^@]*after\b|\bnothing[^@]*after\b|\bvery (?:last|end)\b"):
            yield Demand("end style", "plain")
