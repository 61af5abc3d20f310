"""Groups: Combee's augmented shuffle, which decides who puts together which reflections.

Each reflection is copied, the copies are shuffled, and the row is cut into k = floor(sqrt(n))
contiguous groups of nearly equal size, where n is the number of reflections before copying: a tree
of two levels. Copies of one reflection may land in one group. Below 4 reflections there is nothing
to put together, and nothing is copied or shuffled.
"""

from collections.abc import Sequence
from math import isqrt
from random import Random
from typing import TypeVar

T = TypeVar("T")


def n_groups(n: int) -> int:
    """Returns the number of groups for `n` reflections."""
    return isqrt(n)


def augmented_shuffle(reflections: Sequence[T], copies: int, rng: Random) -> list[list[T]]:
    """Returns the groups; the first ones are larger by one where the sizes cannot be equal."""
    k = n_groups(len(reflections))
    if k <= 1:
        return [list(reflections)]
    row = [one for one in reflections for _ in range(copies)]
    rng.shuffle(row)
    size, n_larger = divmod(len(row), k)
    groups, start = [], 0
    for place in range(k):
        end = start + size + (place < n_larger)
        groups.append(row[start:end])
        start = end
    return groups
