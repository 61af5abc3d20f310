"""Selection: which candidate becomes a parent. Pure functions over fronts, means and an rng.

`fronts` maps a key, such as a validation example, to the ids of the candidates at its best score,
ascending;
`means` maps every candidate to its mean score. Draws take the generator's calls in the order in
which GEPA's implementation makes them, so that both can be run on the same stream. Nothing here
iterates over a set: equal input gives equal output in every process.
"""

from collections.abc import Mapping
from itertools import chain
from random import Random
from typing import Any

Fronts = Mapping[Any, tuple[int, ...]]
"""By whatever the frontier's keys are."""
Means = Mapping[int, float]


def prune(fronts: Fronts, means: Means) -> list[int]:
    """Returns the candidates that the fronts cannot do without, by ascending mean.

    GEPA (Agrawal 2025, algorithm 2) takes the worst candidate whose every front holds another
    live one, removes it and starts again. Removals only make the others harder to remove, so a
    single pass gives the same: when its turn comes, a candidate is needed iff it is the last in
    order of some front of which nobody was kept. Among equal means, the one met first in the
    fronts goes first.
    """
    met = dict.fromkeys(chain.from_iterable(fronts.values()))
    order = sorted(met, key=means.__getitem__)
    place_of = {c: place for place, c in enumerate(order)}
    ending_at: dict[int, list[tuple[int, ...]]] = {}
    for front in fronts.values():
        if front:
            ending_at.setdefault(max(map(place_of.__getitem__, front)), []).append(front)
    kept: list[int] = []
    for place in sorted(ending_at):
        if any(set(kept).isdisjoint(front) for front in ending_at[place]):
            kept.append(order[place])
    return kept


def front_weights(fronts: Fronts, means: Means) -> dict[int, int]:
    """Returns, for each candidate that survives pruning, the number of fronts that it is in.

    In the order in which they are met, front by front and by ascending id.
    """
    kept = set(prune(fronts, means))
    weights: dict[int, int] = {}
    for front in fronts.values():
        for c in sorted(kept.intersection(front)):
            weights[c] = weights.get(c, 0) + 1
    return weights


def draw_parent(weights: Mapping[int, int], rng: Random) -> int:
    """Returns a candidate, drawn in proportion to its weight; takes one integer draw."""
    place = rng.randrange(sum(weights.values()))
    for c, weight in weights.items():
        if place < weight:
            return c
        place -= weight
    raise AssertionError("a place below the total lies within some weight")


def top_k_weights(fronts: Fronts, means: Means, k: int) -> dict[int, int]:
    """Returns the weights among the `k` candidates with the highest means, the others left out.

    Of equal means the earliest are taken. If none of them is in any front, the best of them has all
    the weight.
    """
    top = frozenset(sorted(means, key=lambda c: (-means[c], c))[:k])
    among = ((key, tuple(c for c in front if c in top)) for key, front in fronts.items())
    kept = {key: front for key, front in among if front}
    return front_weights(kept, means) if kept else {current_best(means): 1}


def current_best(means: Means) -> int:
    """Returns the candidate with the highest mean; the earliest of several."""
    return min(means, key=lambda c: (-means[c], c))


def epsilon_greedy(means: Means, rng: Random, epsilon: float) -> int:
    """Returns any candidate with probability `epsilon`, otherwise the current best."""
    if rng.random() < epsilon:
        return rng.choice(sorted(means))
    return current_best(means)
