"""Statements: the units in which the reader reads, and how two of them relate.

A text is split into sentences and list lines. A statement is normalised: quoted literals and named
signs become placeholders, numbers digits, and words stems, where a small thesaurus gives synonyms
for parts and properties of texts one stem. Nothing here knows any task. All functions are pure, so
their results are memoised.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MEMO_SIZE = 50_000
"""Statements recur in thousands of calls; a run holds far fewer distinct ones than this."""

QUOTE = re.compile(
    r'"([^"\n]{1,80})"|“([^”\n]{1,80})”|`([^`\n]{1,80})`|(?<!\w)\'([^\'\n]{1,80})\'(?!\w)'
)
"""A literal in quotation marks or backticks; apostrophes inside words do not count."""


def words_of(text: str) -> tuple[str, ...]:
    """Returns the words of a list that is written as one text."""
    return tuple(text.split())


_MARKER = re.compile(r"^\s*(?:[-*•+]\s+|\d{1,2}[.)]\s+|#{1,6}\s+|>\s+)")
_BREAK = re.compile(r"(?<=[.!?])(?<![ .\x00][A-Za-z]\.)\s+(?=[^a-z\s])")

_SIGNS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern), signs)
    for pattern, signs in (
        (r"double ang(?:le|ular) brackets?", ("<<", ">>")),
        (r"double square brackets?", ("[[", "]]")),
        (r"ang(?:le|ular) brackets?", ("<", ">")),
        (r"square brackets?", ("[", "]")),
        (r"(?:three|triple) (?:asterisk|star)s?", ("***",)),
        (r"(?:three|triple) (?:hyphen|dash)(?:es|s)?", ("---",)),
        (r"(?:asterisk|star symbol)s?", ("*",)),
        (r"(?:hyphen|dash)(?:es|s)?", ("-",)),
        (r"(?<!\S)(<<|>>|\*{3}|-{3}|\*)(?!\w)", ()),
    )
)
"""Names of signs in running text; an empty tuple = the sign stands there itself."""

_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\b(?:at least|no fewer than|no less than|(?:a )?minimum of)\b", "atleast"),
        (r"\b(?:at most|no more than|not more than|(?:a )?maximum of|up to)\b", "atmost"),
        (r"\bor more\b", "atleast"),
        (r"\bor (?:fewer|less)\b", "atmost"),
        (r"\b(?:exactly|precisely)\b", "exactly"),
        (r"\b(?:do|does|did|is|are|must|may|should|can|could)(?: not|n't)\b|\bcannot\b", "not"),
        (r"\b(?:leave|leaves|leaving) out\b", "avoid"),
        (r"\blist (?:items?|entries|entry|points?)\b", "bullet"),
        (r"\bbullet(?:ed)? (?:points?|lists?|items?)\b", "bullet"),
        (r"\bkey (?:words?|terms?)\b", "keyword"),
        (r"\bp\.\s?s\.?(?!\w)", "postscript"),
        (r"\blower[- ]case\b|\bsmall letters\b", "lowercase"),
        (r"\bupper[- ]case\b|\bcapital letters?\b", "uppercase"),
        (r"\bquot(?:ation|e) marks?\b", "quotes"),
        (r"\btwice\b", "2 times"),
        (r"\bthrice\b", "3 times"),
    )
)

_THESAURUS = {
    "title": "title heading headline",
    "bullet": "bullet list",
    "keyword": "keyword keyphrase",
    "postscript": "postscript ps afterthought",
    "paragraph": "paragraph",
    "start": "start begin open lead first opening",
    "end": "end finish close conclude last final",
    "avoid": "avoid without omit skip free refrain forbid forbidden ban neither nor never not no",
    "include": "include mention contain feature",
    "separate": "separate separator divide divider split",
    "wrap": "wrap enclose surround whole entire inside",
    "alone": "alone own itself",
    "quote": "quote quotes",
    "comma": "comma",
    "count": "count tally",
    "line": "line row",
    "word": "word",
    "sentence": "sentence",
    "phrase": "phrase",
    "lowercase": "lowercase",
    "uppercase": "uppercase",
    "key": "key field",
    "times": "times",
    "exclude": "exclude excluding",
    "nothing": "nothing",
}

_STOP = words_of(
    """a an the and or of to in on for with by it its is are be as at that this these those their
    them they you your must should may need needs require requires required requested have has do
    does when if whenever any each every all answer response reply request ask asks asked mention
    mentions say says use using used write put make give given get text output user task there one
    so then than which what who will can very only just both atleast atmost exactly place stand
    keep set want wants please always while from about into not no number such own kind speak
    speaks pay attention"""
)
"""Words that say little about what a statement is about."""

_FAINT = frozenset(
    {"avoid", "include", "wrap", "alone", "count", "line", "times", "exclude", "nothing"}
)
"""Concepts that say what to do and not with what."""

_NUMBERS = {
    name: value
    for value, name in enumerate(
        words_of(
            """zero one two three four five six seven eight nine ten eleven twelve thirteen
            fourteen fifteen sixteen seventeen eighteen nineteen twenty"""
        )
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80}
_TOKEN = re.compile(r"@\d+|\d+|[a-z][a-z'’]*|[,:;]")


def stem(word: str) -> str:
    """Strips common English endings."""
    word = word.removesuffix("'s").removesuffix("’s")
    for ending, least in (
        ("ings", 3),
        ("ing", 3),
        ("ies", 3),
        ("ed", 3),
        ("es", 4),
        ("s", 3),
        ("ly", 4),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


_CONCEPTS = {stem(word): name for name, words in _THESAURUS.items() for word in words.split()}
_STOP_STEMS = frozenset(stem(word) for word in _STOP) | frozenset(_STOP)


@dataclass(frozen=True)
class Statement:
    """One sentence or list line, with what a reader takes from its words."""

    text: str
    normal: str
    """Lower case, synonyms unified, literals as `@k`, numbers as digits."""
    literals: tuple[str, ...]
    stems: frozenset[str]
    """What it is about: stems without stop words and numbers."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers in it, as digits."""
        return tuple(re.findall(r"(?<![@\w])\d+", self.normal))


@lru_cache(maxsize=MEMO_SIZE)
def statement(text: str) -> Statement:
    """Returns the statement that `text` makes."""
    literals: list[str] = []

    def mask(found: str) -> str:
        for index, known in enumerate(literals):
            if known.strip() == found.strip():
                return f" @{index} "
        literals.append(found)
        return f" @{len(literals) - 1} "

    normal = QUOTE.sub(lambda m: mask(next(g for g in m.groups() if g is not None)), text).lower()
    for pattern, signs in _SIGNS:
        for sign in dict.fromkeys(pattern.findall(normal)):
            normal = normal.replace(sign, "".join(map(mask, signs or (sign,))))
    for pattern, replacement in _PHRASES:
        normal = pattern.sub(replacement, normal)
    tokens: list[str] = []
    stems: set[str] = set()
    for token in _TOKEN.findall(normal):
        if token[0].isalpha():
            if token in _NUMBERS:
                tokens.append(str(_NUMBERS[token]))
                continue
            root = stem(token)
            concept = _CONCEPTS.get(root)
            tokens.append(concept or root)
            if concept is not None:
                stems |= {concept} - _FAINT
            elif token not in _STOP_STEMS and root not in _STOP_STEMS:
                stems.add(root)
        else:
            tokens.append(token)
    return Statement(text, " ".join(tokens), tuple(literals), frozenset(stems))


@lru_cache(maxsize=MEMO_SIZE)
def relatedness(one: Statement, other: Statement) -> float:
    """Returns the cosine of the two sets of stems, in [0, 1]."""
    if not one.stems or not other.stems:
        return 0.0
    shared = len(one.stems & other.stems)
    return float(shared / (len(one.stems) * len(other.stems)) ** 0.5)


@lru_cache(maxsize=4_096)
def split(text: str) -> tuple[str, ...]:
    """Returns the statements' texts in order: sentences and list lines, without markers."""
    return tuple(_split(text))


def _split(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bare = _MARKER.sub("", line).strip()
        if not re.search(r"\w", bare):
            continue
        quotes: list[str] = []

        def hide(match: re.Match[str], quotes: list[str] = quotes) -> str:
            quotes.append(match[0])
            return f"\x00{len(quotes) - 1}\x00"

        for part in _BREAK.split(QUOTE.sub(hide, bare)):
            whole = re.sub(r"\x00(\d+)\x00", lambda m, q=quotes: q[int(m[1])], part).strip()
            if whole:
                yield whole


def read(text: str) -> tuple[Statement, ...]:
    """Returns the statements of a text."""
    return tuple(statement(part) for part in split(text))
