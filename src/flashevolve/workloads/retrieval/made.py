"""A made world: works, people, towns and rivers, with a page for each, and pages that distract.

A work names its maker, a person the town of birth, a town its river: each page names the next one,
and a question gives the name of the first alone. What a page says is worded alike for all of its
kind, so a search for words of the question finds pages of the right kind and of the wrong name. All
draws are from the generator that is handed over.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from flashevolve.errors import DataError
from flashevolve.workloads.retrieval.vocabulary import Making, Words

N_FAMILIES_EASY, N_FAMILIES_HARD = 200, 10
"""Family names in a split where none and where all distractors share names."""
_MAX_MISSES = 2000
"""Draws without a new name, after which there are taken to be no more."""


@dataclass(frozen=True)
class Page:
    """A page: its title and its sentences."""

    title: str
    sentences: tuple[str, ...]

    def paragraph(self) -> list[Any]:
        """Returns the page as public files have it."""
        return [self.title, list(self.sentences)]


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A work, its maker, the maker's town and the town's river, each with its page."""

    making: Making
    work: str
    person: str
    town: str
    river: str
    year: int
    """Of birth."""
    instrument: str
    product: str
    hills: str
    length_km: int
    pages: tuple[Page, ...]
    """Of the work, the person, the town and the river."""


class Made:
    """Draws chains and distracting pages of one split; no name is drawn twice."""

    def __init__(self, words: Words, rng: random.Random, difficulty: float) -> None:
        """Raises `DataError` if `difficulty` is not in [0, 1].

        It is the share of distracting pages that have a name of the question's own pages in their
        titles, and decides how few family names there are.
        """
        if not 0 <= difficulty <= 1:
            raise DataError(f"expected a difficulty from 0 to 1, found {difficulty}")
        self._words = words
        self._rng = rng
        self._difficulty = difficulty
        self._syllables = words.syllables.split()
        self._used: set[str] = set()
        self._spare: list[Page] = []
        n_families = round(N_FAMILIES_EASY + difficulty * (N_FAMILIES_HARD - N_FAMILIES_EASY))
        self._families = [self._new(self._word) for _ in range(n_families)]

    def chain(self) -> Chain:
        """Returns a new chain."""
        rng, words = self._rng, self._words
        making = rng.choice(words.makings)
        work = self._new(lambda: f"{self._word()} {self._word()}")
        person = self._new(lambda: f"{self._word(3)} {rng.choice(self._families)}")
        town, river = self._new(self._word, 3), self._new(self._word, 3)
        hills = self._new(self._word, 3)
        year, born_before = rng.choice(words.years), rng.randint(25, 60)
        instrument, product = rng.choice(words.instruments), rng.choice(words.products)
        length_km = rng.randint(20, 900)
        pages = (
            Page(
                work,
                (
                    f"{work} is a {making.kind} from {year + born_before}.",
                    f"It was {making.verb} by {person}.",
                ),
            ),
            Page(
                person,
                (
                    f"{person}, born in {year}, was a {rng.choice(words.occupations)} at first.",
                    f"The town of birth was {town}.",
                    f"As a child {person} played the {instrument}.",
                ),
            ),
            Page(
                town,
                (
                    f"{town} is a town that lies on the river {river}.",
                    f"The town is known for its {product}.",
                ),
            ),
            Page(
                river,
                (
                    f"The {river} is a river with a length of {length_km} km.",
                    f"It rises in the {hills} hills.",
                ),
            ),
        )
        return Chain(
            making=making,
            work=work,
            person=person,
            town=town,
            river=river,
            year=year,
            instrument=instrument,
            product=product,
            hills=hills,
            length_km=length_km,
            pages=pages,
        )

    def distracting(self, pages: Iterable[Page], n: int) -> list[Page]:
        """Returns `n` pages that answer nothing; some have the names of `pages` in their titles."""
        about = [page.title for page in pages]
        n_alike = round(n * self._difficulty)
        made = [
            self._alike(about[place % len(about)], place // len(about)) for place in range(n_alike)
        ]
        while len(made) < n:
            if not self._spare:
                self._spare = list(self.chain().pages)
            made.append(self._spare.pop())
        return made

    def _alike(self, name: str, place: int) -> Page:
        """Returns a page with the name of another one in its title."""
        rng, words = self._rng, self._words
        kind = words.honours[place % len(words.honours)]
        title = f"{name} {kind}"
        if place >= len(words.honours):
            title = f"{title} of {self._new(self._word, 3)}"
        about = rng.choice(words.occupations)
        return Page(
            title,
            (
                f"The {title} is named after {name}.",
                f"It was the idea of a {about} and is about {rng.choice(words.products)}.",
            ),
        )

    def _word(self, n_syllables: int = 2) -> str:
        return "".join(self._rng.choices(self._syllables, k=n_syllables)).capitalize()

    def _new(self, draw: Callable[..., str], *arguments: Any) -> str:
        for _ in range(_MAX_MISSES):
            name = draw(*arguments)
            if name not in self._used:
                self._used.add(name)
                return name
        raise DataError(
            "expected names for so many examples, found that they are used up; ask for fewer "
            "examples"
        )
