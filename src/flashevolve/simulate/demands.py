"""Demands: what a statement asks of the form of a text, as far as general competence understands.

A demand fills one slot of a plan (how many words, which bullet marker, how the text ends). The
grammar knows parts of texts, amounts, places, marks, bans, case, repetition and named formats; it
knows no checker. Statements that it does not understand ask for nothing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from flashevolve.simulate.grammar.amounts import amounts
from flashevolve.simulate.grammar.bans import bans, inclusions
from flashevolve.simulate.grammar.clauses import Demand, Value, clauses, condition_of
from flashevolve.simulate.grammar.forms import (
    cases,
    choices,
    formats,
    languages,
    repetitions,
    titles,
    wraps,
)
from flashevolve.simulate.grammar.marks import marks
from flashevolve.simulate.grammar.places import places
from flashevolve.simulate.statements import MEMO_SIZE, Statement

__all__ = ["Demand", "Reading", "Value", "understand"]

_GRAMMAR = (
    amounts,
    bans,
    marks,
    titles,
    cases,
    wraps,
    formats,
    languages,
    repetitions,
    choices,
    places,
    inclusions,
)
_GENERIC = re.compile(r"\b(?:every|if|when|whenever|wher|alway)\b")
_CREATING = re.compile(
    r"^(?:please |alway )?(?:(?:add|giv|provid|append|writ|include|us|use|format|return|draw|answer"
    r"|put|wrap|signature)\b (?:it |(?:the |your )?(?:wrap )?(?:answer |text )?)?"
    r"(?:a|an|1|2|as|with|in|under)\b"
    r"|(?:the |your )?(?:wrap )?(?:answer|text|respons|output|it) (?:must|should|need)\b"
    r"|ther (?:must|should) be)"
)
"""How a statement starts that asks for a part, where another only speaks about it."""


MAX_CHARACTERS = 2_000
"""Of a longer statement the rest is not understood: it is no sentence, and takes long to parse."""


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
    condition, text = condition_of(said.normal[:MAX_CHARACTERS])
    demands = [
        demand
        for clause in clauses(text, said.literals, condition)
        for part in _GRAMMAR
        for demand in part(clause)
    ]
    creating = bool(_CREATING.match(text)) and not _GENERIC.search(text)
    words = frozenset(condition.split())
    topics = words & said.stems
    return Reading(tuple(dict.fromkeys(demands)), topics, creating)
