"""The Pareto pool with candidates that are not confirmed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.pools.pareto import ParetoPool, confirm, insert, retract
from flashevolve.pools.pool import Speculating

IDS = tuple(f"s{i}" for i in range(8))
B = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0]


def scores(values: list[float]) -> dict[str, float]:
    return dict(zip(IDS, values, strict=False))


def text(name: str) -> Artifact:
    return Artifact({"text": name})


def pool_with(*ops: dict[str, Any]) -> ParetoPool:
    pool = ParetoPool()
    seed = insert(text("B"), parents=(), scores=scores(B), ticket=1)
    for version, op in enumerate((seed, *ops)):
        pool.apply([op], version=version)
    return pool


def guess(values: list[float], name: str = "C", ticket: int = 2, parent: int = 0) -> dict[str, Any]:
    given = scores(values)
    return insert(text(name), parents=(parent,), scores=given, ticket=ticket, reference=0)


def seen(pool: ParetoPool) -> dict[str, Any]:
    """Everything that can be asked of a pool."""
    return {
        "candidates": dict(pool.candidates),
        "means": dict(pool.means),
        "fronts": list(pool.fronts.items()),
        "tops": list(pool.tops.items()),
        "weights": list(pool.parent_weights.items()),
        "best": pool.best(),
        "known": [pool.contains(text(n)) for n in "BCDEFG"],
        "unconfirmed": [pool.unconfirmed(t) for t in range(9)],
        "sweeps": pool.sweeps(99),
        "ramp": pool.ramp(99, 0),
        "version": pool.version,
    }


def test_a_speculative_candidate_joins_the_fronts_of_what_it_was_scored_on() -> None:
    pool = pool_with(guess([1.0, 1.0]))
    assert pool.fronts["s0"] == (0, 1)
    assert pool.fronts["s1"] == (1,)
    assert pool.fronts["s2"] == (0,)
    assert 1 in pool.parent_weights
    assert pool.candidates[1].status == "speculative"
    assert pool.contains(text("C")) == 1
    assert pool.unconfirmed(2) == pool.candidates[1]
    assert isinstance(pool, Speculating)


def test_best_tops_marks_and_ramp_know_confirmed_candidates_alone() -> None:
    pool = pool_with(guess([1.0, 1.0]))
    assert pool.best() == pool.candidates[0]
    assert pool.tops["s1"] == 0.0
    assert pool.ramp(99, 0) == 8
    assert pool.marks(scores([1.0] * 8)) == ("front", "best")
    assert pool.sweeps(9) == [scores(B)]


def test_its_mean_is_its_references_and_its_lead() -> None:
    pool = pool_with(guess([1.0, 1.0]))
    assert pool.means == {0: 0.5, 1: 1.0}
    pool = pool_with(guess([1.0, 0.5]))
    assert pool.means[1] == 0.75


def test_a_confirmed_one_is_as_if_it_had_never_been_anything_else() -> None:
    full = [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    believed = pool_with(guess([1.0, 1.0]), confirm(1, scores(full)))
    plain = pool_with(insert(text("C"), parents=(0,), scores=scores(full), ticket=2))
    assert believed.best() == believed.candidates[1]
    same = ("means", "fronts", "tops", "weights", "known", "unconfirmed", "sweeps", "ramp")
    assert all(seen(believed)[name] == seen(plain)[name] for name in same)


def test_a_retracted_one_keeps_its_id_and_nothing_else() -> None:
    pool = pool_with(guess([1.0, 1.0]), retract(1))
    plain = pool_with()
    assert pool.candidates[1].status == "retracted"
    assert pool.next_id == 2
    assert pool.unconfirmed(2) == pool.candidates[1]
    same = ("means", "fronts", "tops", "weights", "known", "sweeps", "ramp", "best")
    assert all(seen(pool)[name] == seen(plain)[name] for name in same)


def test_its_speculative_descendants_fall_with_it_and_confirmed_ones_stay() -> None:
    pool = pool_with(
        guess([1.0, 1.0]),
        guess([1.0, 1.0], "D", 3, parent=1),
        guess([1.0, 1.0], "E", 4, parent=1),
        guess([1.0, 1.0], "F", 5, parent=0),
        confirm(3, scores([1.0] * 8)),
        guess([1.0, 1.0], "G", 6, parent=3),
    )
    assert pool.fall(1) == (retract(2), retract(5))
    assert pool.fall(4) == ()


def test_sweeps_are_in_the_order_of_their_completion() -> None:
    pool = pool_with(
        guess([1.0, 1.0]),
        insert(text("D"), parents=(0,), scores=scores([0.0] * 8), ticket=3),
        confirm(1, scores([1.0] * 8)),
    )
    assert [sum(s.values()) for s in pool.sweeps(9)] == [4.0, 0.0, 8.0]
    assert pool.sweeps(1) == [scores(B)]
    again = ParetoPool.load(json.loads(json.dumps(pool.dump())))
    assert again.sweeps(9) == pool.sweeps(9)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (confirm(0, {}), "expected candidate 0 to be speculative or retracted, got a confirmed"),
        (retract(0), "expected candidate 0 to be speculative, got a confirmed one"),
        (retract(7), "expected candidate 7 to be speculative, got none"),
    ],
)
def test_an_operation_on_the_wrong_candidate_is_refused(op: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pool_with(op)


@given(st.data())
def test_a_pool_written_and_read_again_is_the_same(data: st.DataObject) -> None:
    pool = pool_with()
    rows = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=8, max_size=8)
    for ticket in range(2, data.draw(st.integers(2, 8))):
        open_ones = [c.id for c in pool.candidates.values() if c.status == "speculative"]
        fallen = [c.id for c in pool.candidates.values() if c.status == "retracted"]
        name = data.draw(st.sampled_from("BCDEFG"))
        parent = data.draw(st.sampled_from(sorted(pool.candidates)))
        row = data.draw(rows)
        choices = [
            insert(text(name), parents=(parent,), scores=scores(row), ticket=ticket),
            guess(row[: data.draw(st.integers(1, 7))], name, ticket, parent),
            *(confirm(c, scores(row)) for c in (*open_ones, *fallen)),
            *(retract(c) for c in open_ones),
        ]
        pool.apply([data.draw(st.sampled_from(choices))], version=pool.version + 1)
        again = ParetoPool.load(json.loads(json.dumps(pool.dump())))
        assert seen(again) == seen(pool)
        assert again.dump() == pool.dump()
