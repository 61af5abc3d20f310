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

from flashevolve.simulate.signs import mask_abbreviations, mask_signs
from flashevolve.simulate.terms import (
    FAINT,
    KEPT,
    NUMBERS,
    ORDINALS,
    PHRASES,
    STOP,
    THESAURUS,
    TOPICS,
    words_of,
)

__all__ = [
    "MEMO_SIZE",
    "QUOTE",
    "Statement",
    "read",
    "relatedness",
    "split",
    "statement",
    "stem",
    "words_of",
]

MEMO_SIZE = 2_048
"""Those that recur in thousands of calls are some hundreds; each takes a kilobyte or two."""

QUOTE = re.compile(
    r'"([^"\n]{1,80})"|“([^”\n]{1,80})”|`([^`\n]{1,80})`|(?<!\w)\'([^\'\n]{1,80})\'(?!\w)'
)
"""A literal in quotation marks or backticks; apostrophes inside words do not count."""


_BARE = re.compile(
    r"(?<=\b[Ll]etter )[A-Za-z](?!\w)|\b[A-Z]{4,} (?:[XN]|\d)(?!\w)|(?<=with )P\.(?: ?P\.)? ?S\.?"
)
"""What is named literally without quotation marks: a letter, a label, an abbreviation."""

_CURLY = re.compile(r"(?i)(?<=[a-z])n’t\b")
"""The end of a "don't" with a typographic apostrophe."""
_MARKER = re.compile(r"^\s*(?:[-*•+]\s+|\d{1,2}[.)]\s+|#{1,6}\s+|>\s+)")
_BREAK = re.compile(r"(?<=[.!?])(?<![ .\x00][A-Za-z]\.)\s+(?=[^a-z\s])")

MAX_CHARACTERS = 4_000
"""Of a longer statement the rest is not read: it is no sentence, and takes long to take apart."""
_MAX_DIGITS = 9
"""A number of more digits counts nothing that is written, and is read as the largest of so many."""
_AT = "\ue000"
"""Stands for an at sign of the text while `@k` stands for its literals."""
_HIDDEN = "\x00"
"""Stands around the number of a quotation while a line is split; taken out of what is read."""

_TOKEN = re.compile(r"@\d+|\d+(?:st|nd|rd|th)|\d+|[^\W\d_][^\W\d_'’]*(?:['’][a-z]+)*|[,:;]")


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


_CONCEPTS = {stem(word): word for word in KEPT} | {
    form: name
    for name, words in THESAURUS.items()
    for word in words.split()
    for form in (word, stem(word))
}
_STOP_STEMS = frozenset(stem(word) for word in STOP) | frozenset(STOP)


@dataclass(frozen=True)
class Statement:
    """One sentence or list line, with what a reader takes from its words."""

    text: str
    normal: str
    """Lower case, synonyms unified, literals as `@k`, numbers as digits."""
    literals: tuple[str, ...]
    stems: frozenset[str]
    """What it is about: stems without stop words and numbers."""

    def __hash__(self) -> int:
        # Statements are keys of several memos; the hash of a text is computed once.
        return hash(self.text)

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
            if known.strip() == found.replace(_AT, "@").strip():
                return f" @{index} "
        literals.append(found.replace(_AT, "@"))
        return f" @{len(literals) - 1} "

    normal = text[:MAX_CHARACTERS].replace(_AT, "").replace("@", _AT)
    normal = QUOTE.sub(lambda m: mask(next(g for g in m.groups() if g is not None)), normal)
    normal = _CURLY.sub("n't", normal)
    normal = _BARE.sub(lambda m: mask(m[0]), normal)
    normal = mask_signs(mask_abbreviations(normal, mask).lower(), mask)
    for pattern, replacement in PHRASES:
        normal = pattern.sub(replacement, normal)
    tokens: list[str] = []
    stems: set[str] = set()
    for token in _TOKEN.findall(normal):
        if token in NUMBERS:
            tokens.append(str(NUMBERS[token]))
        elif token in ORDINALS or (token[0].isdecimal() and token[-1].isalpha()):
            tokens.append(f"nth{ORDINALS.get(token) or _number(token[:-2])}")
        elif token[0].isdecimal():
            tokens.append(token if len(token) <= _MAX_DIGITS else str(_number(token)))
        elif token[0].isalpha():
            root = token if token in KEPT else stem(token)
            concept = _CONCEPTS.get(root, root)
            tokens.append(concept)
            topic = TOPICS.get(concept, concept)
            if topic not in FAINT and token not in _STOP_STEMS and topic not in _STOP_STEMS:
                stems.add(topic)
        else:
            tokens.append(token)
    return Statement(text, " ".join(tokens), tuple(literals), frozenset(stems))


def _number(digits: str) -> int:
    return int(digits) if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS - 1


def relatedness(one: Statement, other: Statement) -> float:
    """Returns the cosine of the two sets of stems, in [0, 1].

    Most pairs share nothing, which is known sooner than a memo of pairs would tell; and there are
    always new pairs, so that such a memo would grow with the run.
    """
    if one.stems.isdisjoint(other.stems):
        return 0.0
    shared = len(one.stems & other.stems)
    return float(shared / (len(one.stems) * len(other.stems)) ** 0.5)


@lru_cache(maxsize=4_096)
def split(text: str) -> tuple[str, ...]:
    """Returns the statements' texts in order: sentences and list lines, without markers."""
    return tuple(_split(text))


def _split(text: str) -> Iterator[str]:
    for line in text.replace(_HIDDEN, "").splitlines():
        bare = _MARKER.sub("", line).strip()
        if not re.search(r"\w", bare):
            continue
        quotes: list[str] = []

        def hide(match: re.Match[str], quotes: list[str] = quotes) -> str:
            quotes.append(match[0])
            return f"{_HIDDEN}{len(quotes) - 1}{_HIDDEN}"

        for part in _BREAK.split(QUOTE.sub(hide, bare)):
            whole = re.sub(
                rf"{_HIDDEN}(\d+){_HIDDEN}", lambda m, q=quotes: q[int(m[1])], part
            ).strip()
            if whole:
                yield whole


def read(text: str) -> tuple[Statement, ...]:
    """Returns the statements of a text."""
    return tuple(statement(part) for part in split(text))
