"""Drawing: the parameters of a constraint, in IFEval's names, from seeded chance.

Within one example no word, phrase or letter is dealt twice, so that no constraint forbids what
another one asks for.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any

from flashevolve.workloads.instructions.vocabulary import Words

Kwargs = dict[str, Any]


class Deck:
    """Deals the words of one split for one example, none of them twice."""

    def __init__(self, words: Words, rng: random.Random) -> None:
        self._words = words
        self._rng = rng
        self._left: dict[str, list[str]] = {}

    def deal(self, pool: str) -> str:
        """Returns an entry of one of the pools of `Words` that was not dealt before."""
        if pool not in self._left:
            entries = getattr(self._words, pool)
            self._left[pool] = self._rng.sample(entries, len(entries))
        return self._left[pool].pop()


Draw = Callable[[random.Random, Deck], Kwargs]


def draw(kind: str, rng: random.Random, deck: Deck, topic: str) -> Kwargs:
    """Returns the parameters of a constraint on a text about `topic`."""
    if kind == "combination:repeat_prompt":
        return {"prompt_to_repeat": topic}
    return _DRAWS[kind](rng, deck) if kind in _DRAWS else {}


def _number(name: str, low: int, high: int, step: int = 1) -> Draw:
    return lambda rng, _: {name: rng.randrange(low, high + 1, step)}


def _dealt(name: str, pool: str) -> Draw:
    return lambda _, deck: {name: deck.deal(pool)}


def _several(name: str, pool: str, low: int, high: int) -> Draw:
    return lambda rng, deck: {name: [deck.deal(pool) for _ in range(rng.randint(low, high))]}


def _bounded(
    name: str, relation: str, at_least: range, less_than: range
) -> Callable[[random.Random], Kwargs]:
    """Returns a draw of a number and of its relation."""

    def drawn(rng: random.Random) -> Kwargs:
        if rng.random() < 0.6:
            return {name: rng.choice(at_least), relation: "at least"}
        return {name: rng.choice(less_than), relation: "less than"}

    return drawn


_N_WORDS = _bounded("num_words", "relation", range(60, 141, 10), range(60, 121, 10))
_N_SENTENCES = _bounded("num_sentences", "relation", range(5, 10), range(3, 6))
_N_TIMES = _bounded("frequency", "relation", range(2, 5), range(2, 4))
_N_LETTERS = _bounded("let_frequency", "let_relation", range(6, 16), range(5, 10))
_N_CAPITALS = _bounded("capital_frequency", "capital_relation", range(2, 7), range(3, 6))


def _paragraph_and_word(rng: random.Random, deck: Deck) -> Kwargs:
    n = rng.randint(2, 4)
    word = deck.deal("keywords")
    return {"num_paragraphs": n, "nth_paragraph": rng.randint(1, n), "first_word": word}


def _range_of_words(rng: random.Random, _: Deck) -> Kwargs:
    low = rng.randrange(40, 101, 10)
    return {"low": low, "high": low + rng.choice((10, 20, 30))}


_DRAWS: Mapping[str, Draw] = {
    "keywords:existence": _several("keywords", "keywords", 2, 3),
    "keywords:frequency": lambda rng, deck: {"keyword": deck.deal("keywords"), **_N_TIMES(rng)},
    "keywords:forbidden_words": _several("forbidden_words", "common", 2, 3),
    "keywords:letter_frequency": lambda rng, deck: {
        "letter": deck.deal("letters"),
        **_N_LETTERS(rng),
    },
    "language:response_language": _dealt("language", "languages"),
    "length_constraints:number_sentences": lambda rng, _: _N_SENTENCES(rng),
    "length_constraints:number_paragraphs": _number("num_paragraphs", 2, 5),
    "length_constraints:number_words": lambda rng, _: _N_WORDS(rng),
    "length_constraints:nth_paragraph_first_word": _paragraph_and_word,
    "detectable_content:number_placeholders": _number("num_placeholders", 2, 4),
    "detectable_content:postscript": lambda rng, _: {
        "postscript_marker": rng.choice(("P.S.", "P.S.", "P.S.", "P.P.S")),
    },
    "detectable_format:number_bullet_lists": _number("num_bullets", 3, 7),
    "detectable_format:number_highlighted_sections": _number("num_highlights", 2, 5),
    "detectable_format:multiple_sections": lambda rng, _: {
        "section_spliter": rng.choice(("Section", "Section", "Section", "SECTION")),
        "num_sections": rng.randint(2, 5),
    },
    "startend:end_checker": _dealt("end_phrase", "closings"),
    "change_case:capital_word_frequency": lambda rng, _: _N_CAPITALS(rng),
    "words:between": _range_of_words,
    "words:unique": _number("n", 20, 40, 5),
    "words:longest_sentence": _number("n", 7, 12),
    "words:order": lambda _, deck: {
        "first": deck.deal("keywords"),
        "second": deck.deal("keywords"),
    },
    "words:last": _dealt("word", "keywords"),
    "words:in_every_sentence": _dealt("word", "keywords"),
    "words:multiple": _number("k", 3, 9),
    "signs:questions": _number("n", 2, 4),
    "signs:exclamations": _number("n", 2, 4),
    "signs:forbidden": _dealt("sign", "signs"),
    "signs:semicolons": _number("n", 2, 4),
    "signs:parentheses": _number("n", 2, 4),
    "signs:hashtags": _number("n", 2, 5),
    "signs:end_mark": lambda rng, _: {"mark": rng.choice("!?")},
    "numbers:count": _number("n", 2, 5),
    "layout:numbered": _number("n", 3, 7),
    "layout:headings": _number("n", 2, 4),
    "layout:bold": _number("n", 2, 4),
    "layout:lines": _number("n", 4, 9),
    "layout:tag": _dealt("tag", "tags"),
    "layout:table": _number("columns", 2, 4),
    "letters:forbidden": _dealt("letter", "letters"),
    "letters:sentence_start": _dealt("letter", "letters"),
    "letters:acrostic": _dealt("word", "acrostics"),
    "letters:longest_word": _number("n", 5, 8),
    "edges:signature": _dealt("name", "names"),
    "edges:first_and_last": _dealt("phrase", "phrases"),
}
"""Id -> its draw; the ids that are missing have no parameters."""
