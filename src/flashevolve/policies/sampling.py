"""Sampling: which examples are looked at next. Pure functions over ids, scores and an rng.

Draws take the generator's calls in the order in which GEPA's implementation makes them; where
that iterates over sets, we go in ascending order of ids.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from random import Random


def epoch_order(ids: Sequence[str], size: int, rng: Random) -> list[str]:
    """Returns the ids shuffled, padded to a multiple of `size` with the least frequent ones.

    Among equally frequent ids the last in the shuffled order is taken first, as in GEPA.
    """
    order = list(ids)
    rng.shuffle(order)
    counts = Counter(order)
    for _ in range(-len(order) % size):
        rarest = min(reversed(counts), key=counts.__getitem__)
        counts[rarest] += 1
        order.append(rarest)
    return order


def contrasting_ids(
    first: Mapping[str, float], second: Mapping[str, float], n: int, rng: Random
) -> tuple[str, ...]:
    """Returns `n` ids with scores on both sides, some from where either is better, some ties.

    Up to a third (rounded up) of each kind, filled up at random; all common ids if there are no
    more than `n`, and never one twice.
    """
    common = sorted(first.keys() & second.keys())
    groups = (
        [e for e in common if first[e] > second[e]],
        [e for e in common if second[e] > first[e]],
        [e for e in common if first[e] == second[e]],
    )
    chosen: list[str] = []
    for group in groups:
        chosen += rng.sample(group, min(len(group), ceil(n / len(groups)), n - len(chosen)))
    rest = [e for e in common if e not in chosen]
    return (*chosen, *rng.sample(rest, min(len(rest), n - len(chosen))))
