"""Clauses: the parts of a statement that ask for one thing each, and what all of them share.

A clause is a piece of normalised text. A statement that reports ("it has 3") asks for nothing; a
condition ("when the request speaks of titles: ...") is taken off; a clause that names no part of a
text speaks about the part that the clause before it named.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from flashevolve.simulate.grammar.negation import forbids
from flashevolve.simulate.terms import words_of

Mark = tuple[str, str]
"""What stands before and after something; the second is empty for a prefix."""
Value = str | int | tuple[str, ...] | tuple[str, str, int] | tuple[int, str]


@dataclass(frozen=True)
class Demand:
    """A value for one slot of the plan."""

    slot: str
    value: Value


PARTS = words_of(
    """bullet numbered heading title placeholder highlight bold parenthesis hashtag semicolon
    section postscript signature table codeblock tag json quotes quoteblock variants copies keyword
    headings question exclamation"""
)
"""Parts of a text that have a look of their own."""
UNITS = words_of("word letter sentence paragraph line")
"""Parts that every text has."""
_PLACES = frozenset(words_of("start end last first phrase repeat task"))
"""What else a condition may name that the rest then speaks about."""

LITERAL = re.compile(r"@(\d+)")
_REJECTED = re.compile(r" (?:and|but|,) avoid (?:with |use |us |a |an |the )*@\d+")
"""A literal that is named only to say what is not meant."""
_CONDITION = re.compile(
    r"^(?:(?:when|if|whenever|wher|onc)\b"
    r"|(?:for|in|with)\b(?! (?:the |your )?(?:every|answer|respons))(?![^,:]*\d))([^,:]*)[,:]\s*"
)
_DUTY = r"(?:must|should|need|shall|requir)"
_EXCEPTION = re.compile(r" nothing [^;,]*? (?:but|except)\b[^;,]*")
_ASIDE = re.compile(r" , (?:wher|which mean|that is)\b.*$")
"""What only explains the rest."""
_PRONOUN = re.compile(
    r"\b(?:every (?:with|start|end|must|by|of)|of (?:every|them)|them|they"
    r"|its? (?:first|last|start))\b"
)
_VERBS = (
    "us|use|writ|start|end|put|giv|add|include|separate|wrap|mark|keep|mak|plac|must|should|every"
)
_ORDER = re.compile(
    rf"(?:{_VERBS}|avoid|let|do|answer|alway|set|highlight|indent|repeat|leav|list|return|format)\b"
    r"(?!.*\b(?:found|was|wer)\b)"
)
"""How a clause starts that says what to do, and not what was found."""
_PRAISE = re.compile(
    r"@\d+ (?:is|ar) (?:the )?(?:right|correct|proper|fin|good|better|wanted|want)\b"
    r"|\b(?:right|correct|proper|good)(?: [a-z]+)* is (?:a |an |the )?@\d"
)
"""Approval of a sign, which asks for it."""
_NEW_CLAUSE = re.compile(
    r" (?:, )?(?:and|but|then|,|so) "
    rf"(?=(?:{_VERBS}|they|it|the|avoid (?:us|use|writ|put|add|let))\b)"
)
_HALF = re.compile(r"\bseparate(?: \w+){1,2}$")
"""A piece that ends in "between one thing", to which "and the other" belongs."""
_NEGATION = re.compile(r"\bavoid\b(?! (?:other|els|mor|anyth|matter|need|verbatim))")
_CONTENT = re.compile(rf"@\d|\b\d+\b|\b(?:{'|'.join(PARTS)}|comma|lowercase|uppercase)\b")


@dataclass(frozen=True)
class Clause:
    """One clause: its normalised text and the statement's literals."""

    text: str
    literals: tuple[str, ...]
    subject: str = ""
    """The part of a text that an earlier clause named, if this one names none."""
    taken: tuple[str, ...] | None = None
    """The literals to take as asked for; None = those that the text asks for."""

    @cached_property
    def words(self) -> frozenset[str]:
        """Returns the words of the clause and of what it is about."""
        return frozenset(self.text.split()) | frozenset(self.subject.split())

    @cached_property
    def mentioned(self) -> tuple[str, ...]:
        """Returns all of its literals, in order."""
        return tuple(self.literals[int(k)] for k in dict.fromkeys(LITERAL.findall(self.text)))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Returns the literals that it asks for, in order."""
        if self.taken is not None:
            return self.taken
        refused = set(self.refused)
        return tuple(one for one in self.mentioned if one not in refused)

    @cached_property
    def refused(self) -> tuple[str, ...]:
        """Returns the literals that it forbids and does not ask for elsewhere, in order."""
        found = [(m[1], forbids(self.text, m.start())) for m in LITERAL.finditer(self.text)]
        wanted = {k for k, forbidden in found if not forbidden}
        return tuple(
            self.literals[int(k)] for k in dict.fromkeys(k for k, _ in found if k not in wanted)
        )

    def of_refused(self) -> "Clause":
        """Returns the clause as if it asked for what it forbids, and for nothing else."""
        return replace(self, taken=self.refused)

    @cached_property
    def spelled(self) -> tuple[str, ...]:
        """Returns the literals that it asks for and that are words."""
        return tuple(one.strip() for one in self.shown if one[:1].isalnum())

    @cached_property
    def named(self) -> tuple[str, ...]:
        """Returns the literals that are words, asked for or forbidden."""
        return tuple(one.strip() for one in self.mentioned if one[:1].isalnum())

    @cached_property
    def negative(self) -> bool:
        """Tells whether it forbids."""
        return "nothing" not in self.words and bool(_NEGATION.search(self.text))

    @cached_property
    def numbered(self) -> bool:
        """Tells whether it shows the numbers of a list."""
        return any(re.fullmatch(r"1[.)]\s*", one) for one in self.shown)

    @cached_property
    def part(self) -> str:
        """Returns the part of a text that it is about; empty = the text itself."""
        return next((w for w in self.text.split() if w in PARTS), "") or self.subject

    def denies(self, pattern: str) -> bool:
        """Tells whether the first thing that matches a pattern is forbidden."""
        found = self.says(pattern)
        return found is not None and forbids(self.text, found.start())

    def has(self, *words: str) -> bool:
        """Tells whether all of some words occur."""
        return self.words.issuperset(words)

    def any(self, *words: str) -> bool:
        """Tells whether one of some words occurs."""
        return not self.words.isdisjoint(words)

    def every(self, unit: str) -> bool:
        """Tells whether it is about all units of one kind."""
        return bool(
            re.search(rf"\b(?:every|avoid) (?:(?!nth\d)[a-z]+ )?{unit}\b", self.text)
            or re.match(
                rf"(?:let |the |mak |hav )?{unit} (?:(?:of|in) (?:a|an|the|your) [a-z]+ )?"
                r"(?:must|should|start|end|need)\b",
                self.text,
            )
        )

    def says(self, pattern: str) -> re.Match[str] | None:
        """Searches the text."""
        return re.search(pattern, self.text)


def condition_of(text: str) -> tuple[str, str]:
    """Returns the condition that a normalised text opens with, and the rest."""
    match = _CONDITION.match(text)
    return (match[1], text[match.end() :]) if match and text[match.end() :] else ("", text)


def clauses(text: str, literals: tuple[str, ...], condition: str = "") -> Iterator[Clause]:
    """Yields the clauses of a normalised text that ask for something.

    A clause without a subject of its own speaks about what the condition names.
    """
    parts = [word for word in condition.split() if word in PARTS]
    if re.search(r"\b(?:another|next)\b", condition):
        parts += [word for word in condition.split() if word in UNITS]
    subject = " ".join(parts[:1] or [word for word in condition.split() if word in _PLACES])
    named = ""
    for piece in _pieces(_REJECTED.sub("", text)):
        if named and "@" not in piece and re.search(r"\bsam\b", piece):
            piece = f"{piece} {named}"
        named = next(iter(re.findall(r"@\d+", piece)), named)
        clause = Clause(piece, literals, "" if _names_part(piece) else subject)
        subject = clause.part or next((w for w in piece.split() if w in UNITS), subject)
        yield clause


def _names_part(text: str) -> bool:
    words = text.split()
    if any(w in PARTS for w in words):
        return True
    return any(w in UNITS for w in words[:3]) and not _PRONOUN.search(text)


def _pieces(text: str) -> Iterator[str]:
    first, *rest = text.split(" ; ")
    for part in [first, *(r for r in rest if _demands(r))]:
        part, start = _EXCEPTION.sub(" nothing", _ASIDE.sub("", part)), 0
        for match in _NEW_CLAUSE.finditer(part):
            piece = part[start : match.start()]
            whole = piece.count(" ") >= 2 and not _HALF.search(piece)
            if whole and _CONTENT.search(piece):
                yield piece
                start = match.end()
        yield part[start:]


def _demands(text: str) -> bool:
    """Tells whether what follows a semicolon asks for something, and does not report."""
    return bool(
        re.search(rf"\b{_DUTY}\b", text) or _ORDER.match(text.strip()) or _PRAISE.search(text)
    )
