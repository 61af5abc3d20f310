"""Lexicon: the words that filler is made of, less those that the plan forbids.

A pool never runs empty: where a ban leaves none, the few words of last resort remain, and the
answer breaks the ban as a writer without words would.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from flashevolve.simulate.terms import words_of

_POOLS = {
    "determiners": "the our this that his my",
    "adjectives": """old new small large quiet bright simple warm early late open local gentle
    little long good great clear strong soft deep wide calm plain kind rich dry tall dark young
    green round proud rare fair mild sound""",
    "nouns": """place people morning evening road house garden water light story work day friend
    room hand river town season voice corner music table market door wind hour family path hill
    bird boat cup dog film fish glass gold guest home iron king lamp land leaf map milk month moon
    park rain roof salt sand ship shop sign silk sky snow song soup spring star sun team tool tree
    wall wood wool""",
    "verbs": """brings keeps shows finds holds meets follows opens carries shares joins changes
    offers welcomes remembers builds calls fills guards hears leads lifts likes looks marks moves
    paints plans plays reads saves sends starts suits takes tells turns visits waits wants warms""",
    "adverbs": """often always quietly simply slowly truly gladly still nearly calmly soon now
    today mostly kindly again""",
    "prepositions": "near around beyond beside under over through behind after before by in on at",
}
_SPARE = {
    "determiners": "any some a",
    "adjectives": "big odd dim raw hot low",
    "nouns": "ox cat bus toy sum mud ice art egg bay",
    "verbs": "has is hums met held led took",
    "adverbs": "so too yes up",
    "prepositions": "by in on at up",
}
"""Words of last resort, short and of different letters."""

OPENERS = {
    word[0]: word
    for word in words_of(
        """always below clearly daily every further gladly here indeed just kindly later many now
        often perhaps quietly rarely some today under very when xenial yet zealously"""
    )
}
"""Letter -> a word that may stand before a sentence."""

RICH = {
    "a": "banana", "b": "bubble", "c": "concert", "d": "added", "e": "between", "f": "different",
    "g": "gigging", "h": "highlight", "i": "initial", "j": "jazz", "k": "knickknack", "l": "lull",
    "m": "mammoth", "n": "nineteen", "o": "cocoon", "p": "pepper", "q": "quiet", "r": "mirror",
    "s": "possess", "t": "attitude", "u": "unusual", "v": "vivid", "w": "willow", "x": "box",
    "y": "yearly", "z": "puzzle",
}  # fmt: skip
"""Letter -> a word that holds it, more than once where there is one."""

NUMERALS = words_of("three seven twelve nine five eleven eight six four ten")


@dataclass(frozen=True)
class Limits:
    """What words must be like."""

    banned: frozenset[str] = frozenset()
    letters: frozenset[str] = frozenset()
    """Letters that no word may hold."""
    rare: frozenset[str] = frozenset()
    """Letters that few words should hold."""
    n_letters: int = 99

    def allow(self, word: str) -> bool:
        """Tells whether a word may be used."""
        low = word.lower()
        return (
            len(word) <= self.n_letters
            and low not in self.banned
            and self.letters.isdisjoint(low)
            and self.rare.isdisjoint(low)
        )


@dataclass(frozen=True)
class Lexicon:
    """The words that are left under some limits."""

    determiners: Sequence[str]
    adjectives: Sequence[str]
    nouns: Sequence[str]
    verbs: Sequence[str]
    adverbs: Sequence[str]
    prepositions: Sequence[str]


@lru_cache(maxsize=2_048)
def lexicon(limits: Limits) -> Lexicon:
    """Returns the words that a writer may use."""
    kept: dict[str, Sequence[str]] = {}
    for name, text in _POOLS.items():
        own = [word for word in words_of(text) if limits.allow(word)]
        if name == "determiners":
            own = own[:1]
        spare = words_of(_SPARE[name])
        kept[name] = own or [word for word in spare if limits.allow(word)] or spare
    return Lexicon(**kept)


class Picker:
    """Draws words; with `fresh` no word comes twice while there are others."""

    def __init__(self, words: Lexicon, rng: random.Random, *, fresh: bool = False) -> None:
        self.words = words
        self._rng = rng
        self._fresh = fresh
        self._left: dict[int, list[str]] = {}

    def pick(self, pool: Sequence[str]) -> str:
        """Returns a word of a pool."""
        if not self._fresh:
            return pool[int(self._rng.random() * len(pool))]
        left = self._left.get(id(pool))
        if not left:
            left = self._left[id(pool)] = self._rng.sample(pool, len(pool))
        return left.pop()
