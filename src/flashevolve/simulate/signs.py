"""Signs: how English names the signs that texts are marked with, and where a sign names itself.

A sign is named by its noun with a count before it (`three asterisks`, `two opening and two closing
angle brackets`), by a noun whose kind follows (`brackets of the square kind`), or it stands there
itself, with blanks around it. Nothing here belongs to a task, and nothing says what a sign is for.
"""

import re
from collections.abc import Callable

from flashevolve.simulate.terms import words_of

_KIND = r"(?:opening|closing|left|right|plain|simple|straight|consecutive|successive|adjacent)"
_STARS = r"(?:asterisk|star)s?"
_DASHES = r"(?:hyphen|dash)(?:es|s)?"
_TICKS = r"(?:backtick|back tick)s?"
_ANGLES = r"ang(?:le|led|ular) brackets?"
_SPACE = r"(?:space|blank|gap)"
_BESIDE = r"(?:and|plus|then|followed by|with)"
_AHEAD = r"(?:before|first|in front of|ahead of|at the (?:start|beginning|head|front))"
_NOUN = r"(?:angle )?brackets?|braces?|hyphens?|dashes|asterisks?|stars|hash(?:es| signs)"
_LOOK = r"(square|round|curly|angled|angular|single|doubled?|tripled?)"


def _counted(count: str, noun: str) -> str:
    """Returns the pattern of so many signs; two counts may share a noun that stands once."""
    return rf"\b(?:{count})(?: {_KIND})*(?: and (?:{count} )?{_KIND})? {noun}"


_TWO, _THREE = "two|doubled?|2", "three|tripled?|3"
_PAIR = rf"(?:a )?pair of|{_TWO}"
_DOUBLED = rf"{_TWO}|pair of(?= (?:opening|closing|left|right)\b)"
"""Two brackets of one side; a pair of brackets is one of each side."""

SIGNS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern), signs)
    for pattern, signs in (
        (r"(?<![\w@])(\*\*\w[^*\n]*\*\*|\*\w[^*\n]*\*|<<\w[^<>\n]*>>|\[\w[^\[\]\n]*\])(?!\w)", ()),
        (r"(?<!\w)(</?[a-z][\w-]*>)", ()),
        (_counted(_DOUBLED, _ANGLES), ("<<", ">>")),
        (_counted(_DOUBLED, "square brackets?"), ("[[", "]]")),
        (_ANGLES, ("<", ">")),
        (r"square brackets?", ("[", "]")),
        (r"curly (?:brackets?|braces?)", ("{", "}")),
        (_counted("six|6", _STARS), ("******",)),
        (_counted(_THREE, _STARS), ("***",)),
        (_counted(_PAIR, _STARS), ("**",)),
        (_counted(_THREE, _DASHES), ("---",)),
        (_counted(_PAIR, _DASHES), ("--",)),
        (r"(?:single )?(?:asterisk|star symbol)s?|(?:single|one) stars?\b", ("*",)),
        (_DASHES, ("-",)),
        (_counted(_THREE, _TICKS), ("```",)),
        (_TICKS, ("`",)),
        (
            _counted(_PAIR, r"(?:hash(?:es| signs| marks)?|(?:number|pound) signs)\b"),
            ("##",),
        ),
        (r"hash (?:sign|mark)s?|(?:pound|number) signs?", ("#",)),
        (r"greater[- ]than signs?", (">",)),
        (r"vertical bars?|\bpipes\b|pipe characters?", ("|",)),
        (r"underscores?", ("_",)),
        (r"ellips[ie]s", ("...",)),
        (r"full stops?|\bperiods?\b", (".",)),
        (r"ampersands?", ("&",)),
        (r"(?<!\S)(<<|>>|\*{1,6}|-{2,6}|#{1,3}|>|`{3})(?![\w*#>-])", ()),
    )
)
"""Names of signs in running text; an empty tuple = the sign stands there itself."""

_MENTIONED = re.compile(
    r"(^(?=\S+ (?:and|or|comes?|stands?|goes?|marks?|opens?|starts?|begins?|surrounds?)\b)"
    r"|\b(?:use|take|put|write|set|let|have|has|with|by|in|inside|between|before|after|of|as|and|or|is|are|an?"
    r"|the) )(\[ ?\]|\{ ?\}|[\[\]{}]{1,2}|[()]{1,2}|[|~^=+<]{1,6}|_{1,6})"
    r"(?=[.,;:!?]?(?:\s|$))(?!\s*@)"
)
"""A sign among words, where only the name of something can stand."""

_RENAMED = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            rf"\b({_NOUN})(?: of (?:the |an? )?(\w+) (?:kind|sort|type|shape|form)s?"
            rf"| (?:that|which) are (\w+)|, {_LOOK}(?:,| ones))",
            r"\2\3\4 \1",
        ),
        (
            rf"\b({_NOUN}) ((?:[\w@]+ ){{0,4}})(?:are|must be|should be) {_LOOK}(?: ones)?\b",
            r"\3 \1 \2",
        ),
        (r"\b(square|curly|round|angle)[- ]shaped\b", r"\1"),
        # A star may shine: it is a sign beside a space, at a place, or where something begins.
        (
            rf"(?<!\w)(an? |the |^)star(?=,? {_BESIDE} (?:an? |one )?{_SPACE}\b"
            rf"|(?: (?:goes|stands|comes))? {_AHEAD}\b"
            r"| (?:precedes|opens|begins|starts|marks|introduces|leads)"
            r" (?:each|every|any|all|an?)\b)",
            r"\1asterisk",
        ),
        (r"\b((?:goes|stands?|comes|placed) (?:an?|the) )star\b", r"\1asterisk"),
        (
            r"\b((?:begin|start|open|mark|prefix|lead|introduce)\w* [^.;,]{0,40}?"
            r"(?:with an?|by|by an?) )stars?\b",
            r"\1asterisk",
        ),
    )
)
"""Other ways to name a sign -> the way that `SIGNS` knows."""

_HINTS = (
    *"*<>[]{}#`|~^=+_-(",
    *words_of(
        """asterisk star hyphen dash bracket brace tick hash sign bar pipe underscore ellips stop
        period ampersand"""
    ),
)
"""Of these a text holds at least one if it names a sign; most texts name none."""

_ABBREVIATION = re.compile(
    r"((?i:\b(?:an?|the|every|each|any|your|one|no) ))?(?<![\w.])(P\.(?: ?P\.)? ?S\.?)(?!\w)"
)
_POSTSCRIPT = re.compile(r"(?i)\b(?:postscript|afterthought)s?\b")


def mask_abbreviations(text: str, mask: Callable[[str], str]) -> str:
    """Returns a text with the abbreviations that it mentions, and does not use, masked.

    Where a postscript is called by its name, `P.S.` without an article is what is written.
    """
    if "P." not in text or not _POSTSCRIPT.search(text):
        return text
    return _ABBREVIATION.sub(lambda m: m[0] if m[1] else mask(m[2]), text)


def mask_signs(text: str, mask: Callable[[str], str]) -> str:
    """Returns a text in lower case with the signs that it names masked."""
    if not any(hint in text for hint in _HINTS):
        return text
    for pattern, replacement in _RENAMED:
        text = pattern.sub(replacement, text)
    for pattern, signs in SIGNS:
        for sign in dict.fromkeys(m[0] for m in pattern.finditer(text)):
            text = text.replace(sign, "".join(map(mask, signs or (sign,))))
    if text.startswith("|"):
        # A row of a table is full of signs that nobody speaks about.
        return text
    return _MENTIONED.sub(lambda m: m[1] + mask(m[2].replace(" ", "")), text)
