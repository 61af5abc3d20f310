import os
import subprocess
import sys
from random import Random

import pytest

from flashevolve.algorithms.gepa.merge import combine, find_merge, find_triplet
from flashevolve.artifact import Artifact
from flashevolve.pools.pareto import ParetoPool, insert


def pool_of(*candidates: tuple[str, str, tuple[int, ...], float], n_val: int = 5) -> ParetoPool:
    """Candidates as (text of a, text of b, parents, mean)."""
    pool = ParetoPool()
    for a, b, parents, mean in candidates:
        scores = {f"v{i}": mean for i in range(n_val)}
        op = insert(Artifact({"a": a, "b": b}), parents=parents, scores=scores, ticket=1)
        pool.apply([op], version=1)
    return pool


FAMILY = (("0", "0", (), 0.2), ("1", "0", (0,), 0.6), ("0", "2", (0,), 0.4))


def test_a_merge_takes_the_component_that_each_side_changed() -> None:
    found = find_merge(pool_of(*FAMILY), [1, 2], 5, Random(0))
    assert found is not None
    assert dict(found.artifact) == {"a": "1", "b": "2"}
    assert (found.parents, found.ancestor) == ((1, 2), 0)


def test_of_two_changes_the_better_parents_is_taken() -> None:
    pool = pool_of(("0", "0", (), 0.2), ("1", "0", (0,), 0.4), ("2", "2", (0,), 0.6))
    artifact, origins = combine(pool, 1, 2, 0, Random(0))
    assert dict(artifact) == {"a": "2", "b": "2"}
    assert origins == [2, 2]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(("1", "2", (1,), 0.6), id="a descendant"),
        pytest.param(("2", "0", (0,), 0.6), id="the same component changed"),
        pytest.param(("0", "2", (0,), 0.1), id="worse than the ancestor"),
        pytest.param(("0", "2", (), 0.6), id="no common ancestor"),
    ],
)
def test_pairs_that_do_not_complement_each_other_are_left_alone(
    second: tuple[str, str, tuple[int, ...], float],
) -> None:
    assert find_triplet(pool_of(*FAMILY[:2], second), [1, 2], [], Random(0)) is None


def test_a_merge_is_made_once() -> None:
    pool = pool_of(*FAMILY)
    found = find_merge(pool, [1, 2], 5, Random(0))
    assert found is not None
    pool.apply(found.ops, version=1)
    assert find_merge(pool, [1, 2], 5, Random(1)) is None


def test_too_few_common_validation_examples_are_no_merge() -> None:
    assert find_merge(pool_of(*FAMILY, n_val=4), [1, 2], 5, Random(0)) is None


PROGRAM = """
from random import Random
from flashevolve.artifact import Artifact
from flashevolve.algorithms.gepa.merge import combine
from flashevolve.policies.sampling import contrasting_ids
from flashevolve.pools.pareto import ParetoPool, insert
names = "planner searcher answerer checker".split()
pool = ParetoPool()
for c in range(3):
    artifact = Artifact({name: f"{name} {c}" for name in names})
    scores = {f"question {i}": float((i * 7 + c) % 3) for i in range(9)}
    pool.apply([insert(artifact, parents=[0] * (c > 0), scores=scores, ticket=c)], version=c)
rng = Random(0)
first, second = (pool.candidates[c].scores for c in (1, 2))
print(combine(pool, 1, 2, 0, rng)[1], contrasting_ids(first, second, 5, rng))
print(list(pool.fronts.items()), dict(pool.parent_weights))
"""


def test_draws_do_not_depend_on_the_hash_seed() -> None:
    """gepa iterates over sets of component names and example ids here: its runs do not repeat."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={
                **os.environ,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2", "3")
    }
    assert len(printed) == 1
    assert "question" in printed.pop()
