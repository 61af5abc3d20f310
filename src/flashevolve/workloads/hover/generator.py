"""Generator: seeded claims in HoVer's layout, in disjoint splits, with the corpus that is searched.

A claim of n hops names one page and says something that stands on the n-th one from there; half of
the claims say something else than the page does. The splits share no name and no kind of work. The
same arguments give the same files.
"""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from flashevolve.errors import DataError
from flashevolve.workloads.files import check_sizes, write_rows
from flashevolve.workloads.hover.layout import LABELS
from flashevolve.workloads.retrieval.made import Chain, Made, Page
from flashevolve.workloads.retrieval.vocabulary import SPLITS, Words

Data = dict[str, Any]

HOPS = (2, 3, 4)
N_DISTRACTING = 8
MAX_SIZE = 500
"""Examples in a split, at most: names are finite."""


def generate(
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    *,
    difficulty: float = 0.5,
    n_hops: Sequence[int] = (2, 3, 3, 4),
) -> dict[str, list[Data]]:
    """Returns examples under `train`, `val` and `test`, and the passages under `corpus`.

    An example is `{"uid", "claim", "supporting_facts", "label", "num_hops", "hpqa_id"}`, a passage
    `{"id", "title", "text"}`.

    Args:
        seed: Another seed gives other examples.
        n_train: Examples to learn from.
        n_val: Examples to rank candidates.
        n_test: Examples for the final score.
        difficulty: From 0 to 1: which share of the distracting pages have the name of the last
            supporting page in their titles, and how few family names the people share. Near 1 a
            search for the bare name no longer finds the page.
        n_hops: How many pages a claim takes is drawn from this; 2 to 4.

    Raises:
        DataError: If an argument is out of range.
    """
    sizes = {"train": n_train, "val": n_val, "test": n_test}
    check_sizes(sizes, MAX_SIZE)
    if not n_hops or not set(n_hops) <= set(HOPS):
        raise DataError(f"expected n_hops to be numbers from 2 to 4, found {list(n_hops)}")
    splits = {split: _Split(split, seed, difficulty, n_hops) for split in sizes}
    made = {split: splits[split].examples(size) for split, size in sizes.items()}
    return {**made, "corpus": _passages(page for one in splits.values() for page in one.pages)}


def write(
    directory: str | Path,
    *,
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    difficulty: float = 0.5,
    n_hops: Sequence[int] = (2, 3, 3, 4),
) -> dict[str, Path]:
    """Writes `train.json`, `val.json`, `test.json` and `corpus.jsonl`; returns their paths.

    The first three are JSON lists, as the public files are. The arguments are those of `generate`.
    """
    made = generate(seed, n_train, n_val, n_test, difficulty=difficulty, n_hops=n_hops)
    return write_rows(directory, made, lists=made.keys() - {"corpus"})


class _Split:
    """Draws the claims of one split, and collects the pages around them."""

    def __init__(self, split: str, seed: int, difficulty: float, n_hops: Sequence[int]) -> None:
        self._rng = random.Random(f"hover/{seed}/{split}")
        self._words: Words = SPLITS[split]
        self._made = Made(self._words, self._rng, difficulty)
        self._name = split
        self._n_hops = n_hops
        self.pages: list[Page] = []

    def examples(self, size: int) -> list[Data]:
        """Returns `size` examples."""
        return [self._example(f"{self._name}-{place}") for place in range(size)]

    def _example(self, name: str) -> Data:
        rng, n_hops = self._rng, self._rng.choice(self._n_hops)
        chain = self._made.chain()
        supported = rng.random() < 0.5
        gold = chain.pages[:n_hops]
        self.pages += [*chain.pages, *self._made.distracting(gold[-1:], N_DISTRACTING)]
        return {
            "uid": name,
            "claim": self._claim(chain, n_hops, supported),
            # Of a page that leads on, the sentence that does; of the last one, the one claimed.
            "supporting_facts": [
                [page.title, place] for page, place in zip(gold, _PLACES[n_hops], strict=True)
            ],
            "label": LABELS[supported],
            "num_hops": n_hops,
            "hpqa_id": f"made-{name}",
        }

    def _claim(self, c: Chain, n_hops: int, supported: bool) -> str:
        maker = f"The {c.making.role} of the {c.making.kind} {c.work}"
        if n_hops == 2:
            instrument = self._told(c.instrument, self._words.instruments, supported)
            return f"{maker} played the {instrument} as a child."
        if n_hops == 3:
            product = self._told(c.product, self._words.products, supported)
            return f"{maker} was born in a town that is known for its {product}."
        km = c.length_km if supported else c.length_km + self._rng.choice((-1, 1)) * 10
        return f"{maker} was born in a town on a river with a length of {km} km."

    def _told(self, true: str, others: Sequence[str], supported: bool) -> str:
        wrong = [other for other in others if other != true]
        return true if supported else self._rng.choice(wrong)


_PLACES = {2: (1, 2), 3: (1, 1, 1), 4: (1, 1, 0, 0)}
"""Hops -> which sentence of each page supports the claim."""


def _passages(pages: Iterable[Page]) -> list[Data]:
    return [
        {"id": place, "title": page.title, "text": " ".join(page.sentences)}
        for place, page in enumerate(dict.fromkeys(pages))
    ]
