"""Bans and inclusions: what must not and what must occur in a text."""

import re
from collections.abc import Iterator

from flashevolve.simulate.grammar.clauses import Clause, Demand
from flashevolve.simulate.terms import words_of

_SIGNS = {
    "comma": ",",
    "semicolon": ";",
    "exclamation": "!",
    "exclamationmark": "!",
    "questionmark": "?",
    "colon": ":",
    "parenthesis": "(",
    "parenthes": "(",
}
_NOT_BANS = frozenset(
    words_of(
        """start end bullet title heading headings postscript json key numbered count placeholder
        highlight bold section variants copies signature"""
    )
)
_PLACED = frozenset(
    words_of(
        """start first end last bullet title heading postscript json key paragraph avoid tag section
    table signature sign codeblock placeholder letter"""
    )
)


def bans(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for what must not occur."""
    if not clause.negative or clause.says(r"\b(?:morethan|lessthan|atleast|atmost)\b"):
        return
    allowed = clause.says(r"avoid [a-z ]*\bverbatim|avoid (?:chang|add|say|repeat)")
    if clause.any("letter") and clause.named:
        yield from (Demand("ban letter", one.lower()) for one in clause.named if len(one) == 1)
        return
    if clause.any("after", "before") and not clause.says(r"avoid (?:us|contain|include)"):
        return
    yield from (Demand("ban", sign) for word, sign in _SIGNS.items() if word in clause.words)
    if not _NOT_BANS & clause.words and not allowed:
        for one in clause.refused:
            if one[:1].isalnum() or len(one.strip()) == 1:
                yield Demand("ban", one.strip())


def inclusions(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for words that must occur."""
    counted = clause.says(r"\d times") and len(clause.spelled) == 1
    if clause.negative or counted or clause.says(r"\b1 of\b"):
        return
    wanted = clause.any("include", "keyword", "term") or re.search(
        r"\b(?:word|phrase|say|us)\b[^@]*@", clause.text
    )
    if wanted and not _PLACED & clause.words and not clause.every("sentence"):
        yield from (Demand("include", one) for one in clause.spelled)
