"""Amounts: how many of something, of what, and within what.

`at least 3 bold words` gives the slot `atleast bold`; `no sentence has more than 12 words` gives
`atmost word in sentence`; `"fox" occurs twice` gives an entry of the list `count`.
"""

import re
from collections.abc import Iterator

from flashevolve.simulate.grammar.clauses import Clause, Demand
from flashevolve.simulate.grammar.negation import forbids

_RELATION = r"(?:atleast|atmost|exactly|morethan|lessthan|multiple)"
_AMOUNT = re.compile(
    rf"(?:(?P<before>{_RELATION}) (?:of |by )?)?(?<![@\w])(?P<n>\d+)\b(?: (?P<after>{_RELATION}))?"
    r"(?=(?P<of>(?: (?!\d)(?!nth)@?\w+)*))"
)
_RANGE = re.compile(r"\b(\d+) (?:and|to|or) (?:atmost )?(\d+)((?: [a-z]+)*)")
_STOP = re.compile(
    r" (?:and|with|but|or|must|should|every|so|wher|whil|if|when|avoid|for|separate|than|per"
    r"|using)\b"
)
_COUNTED = (
    ("numbered", r"numbered"),
    ("question", r"question(?:mark)?"),
    ("exclamation", r"exclamation(?:mark)?"),
    ("placeholder", r"placeholder"),
    ("highlight", r"highlight"),
    ("bold", r"bold|bolded"),
    ("parenthesis", r"parenthesis|aside"),
    ("hashtag", r"hashtag"),
    ("semicolon", r"semicolon"),
    ("heading", r"headings?"),
    ("bullet", r"bullet"),
    ("section", r"section"),
    ("column", r"column"),
    ("row", r"row"),
    ("capital", r"uppercase"),
    ("unique", r"different"),
    ("number", r"number|digit"),
    ("variant", r"variants"),
    ("paragraph", r"paragraph"),
    ("sentence", r"sentence"),
    ("line", r"line"),
    ("letter", r"letter"),
    ("word", r"word"),
)
"""Unit -> words that name it, the more telling first: `3 bullet lines` are bullets."""
_UNITS = tuple((unit, re.compile(rf"\b(?:{names})\b")) for unit, names in _COUNTED)
_PLAIN = re.compile(
    r" (?:\w+ )?(?:part|phras|phrase|thing|plac|passag|span|term|item|entry|point|element|piec"
    r"|expression)\b"
)
"""Nouns that do not say what is counted."""
_TRAILING = re.compile(r"(?: (?!and\b|with\b|by\b)[a-z]+){1,2} (atleast|atmost)\b")
_NO_AMOUNT = re.compile(r" mor\b| of (?:the|thes|thos|them)\b|(?: more)? line @\d| line for every")
"""What follows a number that counts no part of the text."""
_ENDINGS = {"?": "question", "!": "exclamation"} | {k: k for k in ("question", "exclamation")}
"""Mark at the end of sentences -> what those sentences are; others have no name."""
_PRONOUN = re.compile(r" (?:@\d|before|after|in|on|at|to|for|by|and|must|should|is|with|from)\b")
"""What follows a "one" that stands for something named before."""
_EACH = re.compile(
    r" (?:[a-z]+ ){1,2}(?:from|and|to|after|before) (?:the |its )?"
    r"(?:next|other|another|after|neighbour)\b"
)
"""What follows a "one" that stands for each: one paragraph and the next."""
_ADJECTIVE = re.compile(r"\b(?:last|first|next|other|only|previous|every|nth\d+) $")
"""What stands before a "one" that is a pronoun: the last one."""
_CONJUNCTION = re.compile(r" (?:and|but|then|,) (?=[a-z]+ )|(?<![\w@])\d+\b")
_OTHER_BANNED = re.compile(
    r"\bavoid (?:us |every |a |the )*(?:comma|semicolon|colon|exclamation\w*|questionmark|@\d+)"
    r"(?: [a-z]+)* (?:in|with|within|of|us|and) (?:atleast |atmost |exactly )?$"
)
"""What stands before a number where the negation has an object of its own."""
_TOTAL = re.compile(r"\b(?:number|count|total|amount) of (?:the |every |all )?([a-z ]+)")
_HOLDER = {"word": "sentence", "letter": "word"}
"""Unit -> the larger unit that bounds it, where that is named without a number."""


def amounts(clause: Clause) -> Iterator[Demand]:
    """Yields the demands for numbers of parts."""
    text = clause.text
    span = _RANGE.search(text)
    if span and (unit := _unit(span[3]) or _subject(clause, text[: span.start()])):
        if _denied(clause, span.start(), text[: span.start()]):
            return
        low, high = sorted((int(span[1]), int(span[2])))
        yield Demand(f"atleast {unit}", low)
        yield Demand(f"atmost {unit}", high)
        return
    for found in _AMOUNT.finditer(text):
        relation, n = _relation(found, clause, text[: found.start()])
        if not relation:
            continue
        before, phrase = text[: found.start()], _STOP.split(found["of"])[0]
        if re.match(r" (?:times|occurr|instanc)", phrase):
            yield from _times(clause, relation, n)
            continue
        if n == 1 and _is_pronoun(before, found["of"]):
            continue
        unit = _unit(phrase) or ("" if phrase.strip() else _subject(clause, before))
        unit = _styled(clause, unit, phrase, before, text[found.end("n") :])
        if unit and not (
            _NO_AMOUNT.match(found["of"])
            or before.endswith(("on ", "separate ", "separate every "))
        ):
            yield from _of_unit(clause, relation, n, unit)
    if clause.has("paragraph") and (total := clause.says(r"\bparagraph \d+ of (\d+)\b")):
        yield Demand("exactly paragraph", int(total[1]))


def _is_pronoun(before: str, after: str) -> bool:
    """Tells whether the "one" between two texts counts nothing."""
    return bool(_PRONOUN.match(after) or _EACH.match(after) or _ADJECTIVE.search(before))


def _relation(found: re.Match[str], clause: Clause, before: str) -> tuple[str, int]:
    """Returns the relation and the number; no relation = one that nothing can be made of."""
    relation, n = found["before"] or found["after"] or "", int(found["n"])
    if not relation:
        trailing = _TRAILING.match(found["of"])
        relation = trailing[1] if trailing else "exactly"
    if relation in ("morethan", "lessthan"):
        relation, n = ("atleast", n + 1) if relation == "morethan" else ("atmost", n - 1)
    if not _denied(clause, found.start(), before):
        return relation, n
    return {"atleast": ("atmost", n - 1), "atmost": ("atleast", n + 1)}.get(relation, ("", n))


def _denied(clause: Clause, at: int, before: str) -> bool:
    """Tells whether a number is what a clause forbids: not in "without commas, in 3 lines"."""
    return forbids(clause.text, at) and not _OTHER_BANNED.search(before)


def _of_unit(clause: Clause, relation: str, n: int, unit: str) -> Iterator[Demand]:
    if unit == "letter" and clause.named and len(clause.named[0]) == 1:
        yield Demand("count", (clause.named[0], relation, n))
        return
    holder = _HOLDER.get(unit, "")
    counted = re.search(rf"\d (?:[a-z]+ )?{holder}\b", clause.text)
    if holder in clause.text.split() and not counted and relation != "multiple":
        yield Demand(f"{'atmost' if relation == 'exactly' else relation} {unit} in {holder}", n)
        return
    if unit == "letter":
        return
    yield Demand(f"{relation} {unit}", n)


def _styled(clause: Clause, unit: str, phrase: str, before: str, after: str) -> str:
    """Returns the unit that the rest of a clause makes of a plain one: `3 parts ... in bold`."""
    if unit == "line" and clause.numbered:
        return "numbered"
    verb = re.search(
        r"\b(highlight|bold)(?: (?:atleast|atmost|exactly|morethan|lessthan))? $", before
    )
    if verb and unit != "capital":
        return verb[1]
    if unit not in ("", "word", "sentence"):
        return unit
    plain = _PLAIN.match(phrase)
    if not plain and not unit:
        return ""
    rest = _CONJUNCTION.split(after)[0]
    if unit == "sentence":
        ends = re.search(r"\bend\b[^@]*(?:@(\d+)|(question|exclamation)mark)", rest)
        sign = ends and (clause.literals[int(ends[1])].strip() if ends[1] else ends[2])
        return _ENDINGS.get(sign.removesuffix("mark"), "") if sign else unit
    for styled in ("highlight", "bold", "parenthesis", "capital", "bullet", "numbered"):
        names = dict(_UNITS)[styled]
        if names.search(rest) or (not unit and names.search(before)):
            return styled
    return unit


def _times(clause: Clause, relation: str, n: int) -> Iterator[Demand]:
    if len(clause.named) == 1 and not clause.has("keyword", "every"):
        yield Demand("count", (clause.named[0], relation, n))
    elif clause.any("uppercase"):
        yield Demand(f"{relation} capital", n)
    elif clause.any("exclamation", "question"):
        yield Demand(f"{relation} {'question' if clause.any('question') else 'exclamation'}", n)
    elif clause.named or clause.any("keyword", "word", "phrase", "term"):
        yield Demand("times", n)


def _unit(phrase: str) -> str:
    return next((unit for unit, names in _UNITS if names.search(phrase)), "")


def _subject(clause: Clause, before: str) -> str:
    """Returns the unit that stands before its number: `the number of words must be at least 40`."""
    total = _TOTAL.search(before)
    if total:
        return _unit(total[1])
    named = re.search(r"\b(word|sentence|paragraph|line|bullet) (?!number $)(?:[a-z]+ )+$", before)
    return named[1] if named else ""
