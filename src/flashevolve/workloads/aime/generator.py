"""Generator: seeded problems in the layout of the public AIME files, in disjoint splits.

The splits share no kind of problem. The same arguments give the same files.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flashevolve.errors import DataError
from flashevolve.workloads.aime.problems import MAKERS
from flashevolve.workloads.files import check_sizes, write_rows

Data = dict[str, Any]

LEVELS = (1, 2, 3)
MAX_SIZE = 1000
"""Problems in a split, at most: numbers are small and kinds few."""
_MAX_MISSES = 2000
"""Draws without a new problem, after which there are taken to be no more."""


def generate(
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    *,
    levels: Sequence[int] = LEVELS,
) -> dict[str, list[Data]]:
    """Returns problems under `train`, `val` and `test`.

    A problem is `{"id", "problem", "solution", "answer", "kind", "level"}`; the kinds take turns.

    Args:
        seed: Another seed gives other problems, and may share some with this one's.
        n_train: Problems to learn from.
        n_val: Problems to rank candidates.
        n_test: Problems for the final score.
        levels: From 1, small numbers, to 3, large ones; a problem's level is drawn from these.

    Raises:
        DataError: If an argument is out of range, or there are not so many different problems.
    """
    sizes = {"train": n_train, "val": n_val, "test": n_test}
    check_sizes(sizes, MAX_SIZE)
    if not levels or not set(levels) <= set(LEVELS):
        raise DataError(f"expected levels from 1 to 3, found {list(levels)}")
    return {split: _problems(split, seed, size, levels) for split, size in sizes.items()}


def write(
    directory: str | Path,
    *,
    seed: int = 0,
    n_train: int = 60,
    n_val: int = 60,
    n_test: int = 100,
    levels: Sequence[int] = LEVELS,
) -> dict[str, Path]:
    """Writes `train.jsonl`, `val.jsonl` and `test.jsonl` and returns their paths by split.

    The arguments are those of `generate`.
    """
    made = generate(seed, n_train, n_val, n_test, levels=levels)
    return write_rows(directory, made)


def _problems(split: str, seed: int, size: int, levels: Sequence[int]) -> list[Data]:
    rng = random.Random(f"aime/{seed}/{split}")
    kinds = list(MAKERS[split])
    found: dict[str, Data] = {}
    misses = 0
    while len(found) < size:
        # A kind that has run out of problems must not stop the others.
        kind = kinds[(len(found) + misses // 50) % len(kinds)]
        level = rng.choice(levels)
        made = MAKERS[split][kind](rng, level)
        misses += 1
        if misses > _MAX_MISSES:
            raise DataError(
                f"expected {size} different problems of levels {list(levels)} in {split}, found "
                f"only {len(found)}; allow more levels or ask for fewer problems"
            )
        if made is None or made.text in found:
            continue
        misses = 0
        found[made.text] = {
            "id": f"{split}-{len(found)}",
            "problem": made.text,
            "solution": f"{made.solution} The answer is {made.answer}.",
            "answer": str(made.answer),
            "kind": kind,
            "level": level,
        }
    return list(found.values())
