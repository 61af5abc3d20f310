"""Merge: combine two candidates that improved different components of a common ancestor.

Pure functions over the pool. Draws are taken in the order in which GEPA's implementation takes
them; where that iterates over sets, we go in ascending order. One difference is on purpose: with
ancestors that all score zero, theirs stops the run, and we draw one uniformly.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from flashevolve.artifact import Artifact
from flashevolve.pools.pareto import Ops, ParetoPool, put

MAX_ATTEMPTS = 10
"""Tries for a merge, and pairs drawn within each try."""
N_SCREENED = 5
"""Validation examples on which a merged candidate is screened."""
TRIED = "merge.tried"
"""Pool state: what was merged, as [first, second, ancestor, [parent of each component]]."""


class Merge(NamedTuple):
    """A merged artifact, where it comes from, and the operations that remember it."""

    artifact: Artifact
    parents: tuple[int, int]
    ancestor: int
    ops: Ops


def find_merge(
    pool: ParetoPool, candidates: Sequence[int], overlap_floor: int, rng: Random
) -> Merge | None:
    """Returns a merge of two of `candidates` that was not tried before, or None.

    Both must have scores for `overlap_floor` common validation examples.
    """
    if len(candidates) < 2 or len(pool.candidates) < 3:
        return None
    tried: list[list[Any]] = pool.state.get(TRIED, [])
    for _ in range(MAX_ATTEMPTS):
        if (triplet := find_triplet(pool, candidates, tried, rng)) is None:
            continue
        i, j, ancestor = triplet
        artifact, origins = combine(pool, i, j, ancestor, rng)
        if any(done[:2] == [i, j] and done[3] == origins for done in tried):
            continue
        first, second = (pool.candidates[c].scores.keys() for c in (i, j))
        if len(first & second) >= overlap_floor:
            ops = (put(TRIED, [*tried, [i, j, ancestor, origins]]),)
            return Merge(artifact, (i, j), ancestor, ops)
    return None


def find_triplet(
    pool: ParetoPool, candidates: Sequence[int], tried: Sequence[list[Any]], rng: Random
) -> tuple[int, int, int] | None:
    """Returns two candidates, the earlier first, and a common ancestor worth merging over.

    Neither descends from the other; the ancestor is confirmed, no better than either, was not used
    for this pair, and equals exactly one of them in some component. Drawn by its mean.
    """
    for _ in range(MAX_ATTEMPTS):
        i, j = sorted(rng.sample(list(candidates), 2))
        if i in pool.ancestors(j):
            continue
        eligible = [
            a
            for a in sorted(pool.ancestors(i) & pool.ancestors(j))
            if pool.candidates[a].status == "confirmed"
            and not any(done[:3] == [i, j, a] for done in tried)
            and pool.means[a] <= min(pool.means[i], pool.means[j])
            and _complementary(pool, i, j, a)
        ]
        if eligible:
            weights = [max(0.0, pool.means[a]) for a in eligible]
            drawn = rng.choices(eligible, weights=weights if any(weights) else None)
            return i, j, drawn[0]
    return None


def combine(
    pool: ParetoPool, i: int, j: int, ancestor: int, rng: Random
) -> tuple[Artifact, list[int]]:
    """Returns the merged artifact, and per component the parent that it was taken from.

    A component that one side changed is that side's; of two changes the better parent's is taken,
    a draw deciding between parents of equal mean.
    """
    first, second = (pool.candidates[c].artifact for c in (i, j))
    origins: dict[str, int] = {}
    for name, original in pool.candidates[ancestor].artifact.items():
        if second[name] == original:
            origins[name] = i
        elif first[name] == original:
            origins[name] = j
        elif pool.means[i] == pool.means[j]:
            origins[name] = rng.choice([i, j])
        else:
            origins[name] = i if pool.means[i] > pool.means[j] else j
    texts = {name: pool.candidates[c].artifact[name] for name, c in origins.items()}
    return Artifact(texts), list(origins.values())


def _complementary(pool: ParetoPool, i: int, j: int, ancestor: int) -> bool:
    first, second = (pool.candidates[c].artifact for c in (i, j))
    return any(
        first[name] != second[name] and original in (first[name], second[name])
        for name, original in pool.candidates[ancestor].artifact.items()
    )
