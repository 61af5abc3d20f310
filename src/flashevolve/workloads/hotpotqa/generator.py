"""Generator: seeded questions in HotpotQA's layout, in disjoint splits.

A bridge question names one page, and its answer stands on the page that this one names; a
comparison names both. The splits share no name, no kind of work and no word of an answer but yes
and no: nothing carries over but how to search and how to answer. The same arguments give the same
files.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flashevolve.workloads.files import check_sizes, write_rows
from flashevolve.workloads.retrieval.made import Chain, Made, Page
from flashevolve.workloads.retrieval.vocabulary import SPLITS

Data = dict[str, Any]
Asked = tuple[str, str, list[tuple[Page, int]]]
"""Question, answer, and the supporting sentences as page and place."""

COMPARISON_SHARE = 0.2
"""About the share among the public questions."""
N_DISTRACTING = 8
"""As in the public file, which has ten paragraphs to a question."""
MAX_SIZE = 500
"""Examples in a split, at most: names are finite."""


def generate(
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    *,
    difficulty: float = 0.5,
) -> dict[str, list[Data]]:
    """Returns examples under `train`, `val` and `test`.

    An example is `{"_id", "question", "answer", "type", "level", "supporting_facts", "context"}`.

    Args:
        seed: Another seed gives other examples.
        n_train: Examples to learn from.
        n_val: Examples to rank candidates.
        n_test: Examples for the final score.
        difficulty: From 0 to 1: which share of the distracting pages have the name of the page
            that is to be found in their titles, and how few family names the people share. Near 1 a
            search for the bare name no longer finds the page.

    Raises:
        DataError: If an argument is out of range.
    """
    sizes = {"train": n_train, "val": n_val, "test": n_test}
    check_sizes(sizes, MAX_SIZE)
    return {split: _Split(split, seed, difficulty).examples(size) for split, size in sizes.items()}


def write(
    directory: str | Path,
    *,
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    difficulty: float = 0.5,
) -> dict[str, Path]:
    """Writes `train.json`, `val.json` and `test.json` and returns their paths by split.

    Each is one JSON list, as the public files are. The arguments are those of `generate`.
    """
    made = generate(seed, n_train, n_val, n_test, difficulty=difficulty)
    return write_rows(directory, made, lists=made)


class _Split:
    """Draws the examples of one split."""

    def __init__(self, split: str, seed: int, difficulty: float) -> None:
        self._rng = random.Random(f"hotpotqa/{seed}/{split}")
        self._made = Made(SPLITS[split], self._rng, difficulty)
        self._name = split
        self._level = "easy" if difficulty < 1 / 3 else "medium" if difficulty < 2 / 3 else "hard"

    def examples(self, size: int) -> list[Data]:
        """Returns `size` examples."""
        return [self._example(f"{self._name}-{place}") for place in range(size)]

    def _example(self, name: str) -> Data:
        rng = self._rng
        compares = rng.random() < COMPARISON_SHARE
        if compares:
            asked = self._compared(rng.choice(COMPARISONS))
        else:
            asked = rng.choice(BRIDGES)(self._made.chain())
        question, answer, facts = asked
        gold = [page for page, _ in facts]
        # A bridge question gives the name of the first page; the second one is to be found.
        hidden = gold if compares else gold[1:]
        context = [*gold, *self._made.distracting(hidden, N_DISTRACTING)]
        rng.shuffle(context)
        return {
            "_id": name,
            "question": question,
            "answer": answer,
            "type": "comparison" if compares else "bridge",
            "level": self._level,
            "supporting_facts": [[page.title, place] for page, place in facts],
            "context": [page.paragraph() for page in context],
        }

    def _compared(self, compare: Callable[[Chain, Chain], Asked | None]) -> Asked:
        """Returns a comparison that has an answer."""
        one = self._made.chain()
        while (asked := compare(one, self._made.chain())) is None:
            pass
        return asked


def _maker(c: Chain) -> str:
    return f"the {c.making.role} of the {c.making.kind} {c.work}"


def _birth_town(c: Chain) -> Asked:
    work, person, *_ = c.pages
    return f"In which town was {_maker(c)} born?", c.town, [(work, 1), (person, 1)]


def _birth_year(c: Chain) -> Asked:
    work, person, *_ = c.pages
    return f"In which year was {_maker(c)} born?", str(c.year), [(work, 1), (person, 0)]


def _instrument(c: Chain) -> Asked:
    work, person, *_ = c.pages
    asked = f"Which instrument did {_maker(c)} play as a child?"
    return asked, c.instrument, [(work, 1), (person, 2)]


def _river(c: Chain) -> Asked:
    _, person, town, _ = c.pages
    asked = f"On which river lies the town in which {c.person} was born?"
    return asked, c.river, [(person, 1), (town, 0)]


def _product(c: Chain) -> Asked:
    _, person, town, _ = c.pages
    asked = f"What is the town known for in which {c.person} was born?"
    return asked, c.product, [(person, 1), (town, 1)]


def _hills(c: Chain) -> Asked:
    *_, town, river = c.pages
    asked = f"In which hills does the river rise that {c.town} lies on?"
    return asked, c.hills, [(town, 0), (river, 1)]


BRIDGES: Sequence[Callable[[Chain], Asked]] = (
    _birth_town,
    _birth_year,
    _instrument,
    _river,
    _product,
    _hills,
)


def _longer(a: Chain, b: Chain) -> Asked | None:
    if a.length_km == b.length_km:
        return None
    longer = a.river if a.length_km > b.length_km else b.river
    asked = f"Which river is longer, the {a.river} or the {b.river}?"
    return asked, longer, [(a.pages[3], 0), (b.pages[3], 0)]


def _first_born(a: Chain, b: Chain) -> Asked | None:
    if a.year == b.year:
        return None
    first = a.person if a.year < b.year else b.person
    asked = f"Who was born first, {a.person} or {b.person}?"
    return asked, first, [(a.pages[1], 0), (b.pages[1], 0)]


def _same_instrument(a: Chain, b: Chain) -> Asked:
    answer = "yes" if a.instrument == b.instrument else "no"
    asked = f"Did {a.person} and {b.person} play the same instrument as a child?"
    return asked, answer, [(a.pages[1], 2), (b.pages[1], 2)]


COMPARISONS: Sequence[Callable[[Chain, Chain], Asked | None]] = (
    _longer,
    _first_born,
    _same_instrument,
)
"""None = the two are equal, so that the question has no answer."""
