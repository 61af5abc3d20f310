"""Generator: seeded examples in IFEval's layout, in disjoint splits.

The splits share no subject and no word or phrase that a constraint asks for, so nothing carries
over from one to another but what the checkers want. Some kinds occur in the test split only. The
same arguments give the same files.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashevolve.errors import DataError, nearest
from flashevolve.workloads.files import check_sizes, write_rows
from flashevolve.workloads.instructions.drawing import Deck, Kwargs, draw
from flashevolve.workloads.instructions.kinds import DEFAULT_KINDS, TRAITS, UNSEEN, go_together
from flashevolve.workloads.instructions.vocabulary import SPLITS, Words
from flashevolve.workloads.instructions.wording import FORMS, QUESTIONS, ways

Data = dict[str, Any]

TERSE_SHARE = 0.75
"""Share of the constraints that a request states tersely, where they can be."""
TOPIC_FIRST_SHARE = 0.75
MAX_SIZE = 100_000
"""Keys of a split are numbered from a multiple of this."""
_MAX_MISSES = 1000
"""Draws without a new request, after which there are taken to be no more."""


def generate(
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    *,
    kinds: Collection[str] = DEFAULT_KINDS,
    n_constraints: Sequence[int] = (1, 2, 2, 3),
) -> dict[str, list[Data]]:
    """Returns examples under `train`, `val` and `test`.

    An example is `{"key", "prompt", "instruction_id_list", "kwargs"}`.

    Args:
        seed: Another seed gives other examples, and may share some with this one's.
        n_train: Examples to learn from.
        n_val: Examples to rank candidates.
        n_test: Examples for the final score.
        kinds: The ids to draw from. Those of `UNSEEN` occur in the test split only, half of the
            time if there are others.
        n_constraints: How many constraints an example has is drawn from this; fewer where no
            others can be met together with the first.

    Raises:
        DataError: If an argument is out of range, an id is unknown, or there are not so many
            different examples.
    """
    sizes = {"train": n_train, "val": n_val, "test": n_test}
    _validate(sizes, kinds, n_constraints)
    return {
        split: _Split(split, seed, kinds, n_constraints).examples(size)
        for split, size in sizes.items()
    }


def write(
    directory: str | Path,
    *,
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    kinds: Collection[str] = DEFAULT_KINDS,
    n_constraints: Sequence[int] = (1, 2, 2, 3),
) -> dict[str, Path]:
    """Writes `train.jsonl`, `val.jsonl` and `test.jsonl` and returns their paths by split.

    The arguments are those of `generate`.
    """
    made = generate(seed, n_train, n_val, n_test, kinds=kinds, n_constraints=n_constraints)
    return write_rows(directory, made)


def _validate(
    sizes: Mapping[str, int], kinds: Collection[str], n_constraints: Sequence[int]
) -> None:
    check_sizes(sizes, MAX_SIZE)
    for kind in kinds:
        if kind not in TRAITS:
            raise DataError(
                f"expected known instruction ids as kinds, found {kind!r}.{nearest(kind, TRAITS)}"
            )
    if not n_constraints or min(n_constraints) < 1:
        raise DataError(
            f"expected n_constraints to be numbers of 1 or more, found {list(n_constraints)}"
        )
    for split, size in sizes.items():
        if size and not any(split == "test" or kind not in UNSEEN for kind in kinds):
            raise DataError(
                f"expected kinds with one that may occur in {split} data, found {sorted(kinds)}"
            )


class _Split:
    """Draws the examples of one split."""

    def __init__(
        self, split: str, seed: int, kinds: Collection[str], n_constraints: Sequence[int]
    ) -> None:
        self._rng = random.Random(f"instructions/{seed}/{split}")
        self._name = split
        self._words: Words = SPLITS[split]
        self._seen_kinds = sorted(set(kinds) - UNSEEN)
        self._unseen_kinds = sorted(UNSEEN.intersection(kinds)) if split == "test" else []
        self._n_constraints = n_constraints

    def examples(self, size: int) -> list[Data]:
        """Returns `size` examples, no two with the same prompt."""
        first_key = MAX_SIZE * (1 + list(SPLITS).index(self._name))
        found: dict[str, Data] = {}
        misses = 0
        while len(found) < size:
            example = self._example(first_key + len(found))
            misses = misses + 1 if example["prompt"] in found else 0
            if misses > _MAX_MISSES:
                raise DataError(
                    f"expected {size} different examples of these kinds in {self._name}, "
                    f"found only {len(found)}; allow more kinds or ask for fewer examples"
                )
            found.setdefault(example["prompt"], example)
        return list(found.values())

    def _example(self, key: int) -> Data:
        rng = self._rng
        kinds = self._kinds()
        forms = QUESTIONS if "detectable_format:constrained_response" in kinds else FORMS
        topic = rng.choice(forms).format(subject=rng.choice(self._words.subjects))
        deck = Deck(self._words, rng)
        kwargs = [draw(kind, rng, deck, topic) for kind in kinds]
        return {
            "key": key,
            "prompt": self._prompt(topic, kinds, kwargs),
            "instruction_id_list": kinds,
            "kwargs": kwargs,
        }

    def _kinds(self) -> list[str]:
        """Draws kinds that can be met together."""
        wanted = self._rng.choice(self._n_constraints)
        chosen: list[str] = []
        for kind in self._shuffled():
            if len(chosen) == wanted:
                break
            if go_together([*chosen, kind]):
                chosen.append(kind)
        return chosen

    def _shuffled(self) -> list[str]:
        """Returns all kinds in random order, the unseen ones in every other place at first."""
        rng = self._rng
        seen = rng.sample(self._seen_kinds, len(self._seen_kinds))
        unseen = rng.sample(self._unseen_kinds, len(self._unseen_kinds))
        mixed: list[str] = []
        while seen and unseen:
            mixed.append((seen if rng.random() < 0.5 else unseen).pop())
        return mixed + seen + unseen

    def _prompt(self, topic: str, kinds: Sequence[str], kwargs: Sequence[Kwargs]) -> str:
        rng = self._rng
        asked = [
            rng.choice(ways(kind, values, full=rng.random() >= TERSE_SHARE))
            for kind, values in zip(kinds, kwargs, strict=True)
        ]
        repeats = "combination:repeat_prompt" in kinds
        if repeats or rng.random() < TOPIC_FIRST_SHARE:
            return " ".join([topic, *asked])
        return " ".join([*asked, topic])
