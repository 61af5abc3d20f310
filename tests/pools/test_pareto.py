import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.policies.selection import front_weights
from flashevolve.pools.pareto import ParetoPool, insert, put

scores_by_id = st.dictionaries(
    st.sampled_from([f"v{i}" for i in range(12)]),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    min_size=1,
)
histories = st.lists(scores_by_id, min_size=1, max_size=12)


def op(scores: dict[str, float], text: str = "x", parents: tuple[int, ...] = ()) -> dict[str, Any]:
    return insert(Artifact({"system": text}), parents=parents, scores=scores, ticket=1)


def filled(*history: dict[str, float]) -> ParetoPool:
    pool = ParetoPool()
    for version, scores in enumerate(history, start=1):
        pool.apply([op(scores, f"text {version}")], version=version)
    return pool


def test_strictly_better_replaces_a_front_and_equal_joins_it() -> None:
    pool = filled({"a": 0.5, "b": 0.0}, {"a": 1.0, "b": 0.0}, {"a": 0.5, "b": 0.0})
    assert pool.fronts == {"a": (1,), "b": (0, 1, 2)}
    assert pool.tops == {"a": 1.0, "b": 0.0}


def test_the_best_has_the_highest_mean_then_the_larger_coverage_then_the_earlier_id() -> None:
    assert ParetoPool().best() is None
    for history, best in [
        (({"a": 0.5}, {"a": 1.0}, {"a": 0.0}), 1),
        (({"a": 1.0}, {"a": 1.0, "b": 1.0}), 1),
        (({"a": 1.0}, {"a": 1.0}), 0),
    ]:
        found = filled(*history).best()
        assert found is not None
        assert found.id == best


@pytest.mark.parametrize(
    ("n", "n_ended", "w", "ramp"),
    [(0, 0, 64, 1), (1, 0, 64, 8), (9, 0, 64, 64), (1, 0, 4, 4), (1, 5, 64, 13), (1, 99, 64, 64)],
)
def test_the_ramp_follows_the_candidates_and_the_steps_that_ended(
    n: int, n_ended: int, w: int, ramp: int
) -> None:
    assert filled(*({"a": 0.0} for _ in range(n))).ramp(w, n_ended) == ramp


def test_an_artifact_is_found_by_its_texts() -> None:
    pool = filled({"a": 0.0}, {"a": 0.0})
    assert pool.contains(Artifact({"system": "text 2"})) == 1
    assert pool.contains(Artifact({"system": "text 3"})) is None


def test_ancestors_are_all_that_a_candidate_descends_from() -> None:
    pool = ParetoPool()
    parents: list[tuple[int, ...]] = [(), (0,), (0,), (1, 2)]
    pool.apply([op({"a": 0.0}, str(i), p) for i, p in enumerate(parents)], version=4)
    assert [sorted(pool.ancestors(c)) for c in range(4)] == [[], [0], [0], [0, 1, 2]]


def test_marks_say_what_a_candidate_would_improve() -> None:
    assert ParetoPool().marks({"a": 1.0}) == ()
    pool = filled({"a": 1.0, "b": 0.0})
    assert pool.marks({"a": 0.0, "b": 0.25}) == ("front",)
    assert pool.marks({"a": 1.0, "b": 0.25}) == ("front", "best")
    assert pool.marks({"a": 1.0, "b": 0.0}) == ()


def test_named_state_is_replaced_key_by_key_and_the_version_is_the_callers() -> None:
    pool = ParetoPool()
    pool.apply([put("epoch", 1), put("order", ["a"])], version=7)
    pool.apply([put("epoch", 2)], version=7)
    assert (pool.state, pool.version) == ({"epoch": 2, "order": ["a"]}, 7)


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(ValueError, match="'confirm', 'retract' or 'set', got 'move'"):
        ParetoPool().apply([{"op": "move"}], version=1)


def test_an_unknown_parent_is_refused() -> None:
    with pytest.raises(ValueError, match=r"candidates 0 to 0, got \[3\]"):
        filled({"a": 0.0}).apply([op({"a": 0.0}, parents=(0, 3))], version=2)


@given(histories)
def test_fronts_hold_exactly_the_candidates_at_the_best_score(
    history: list[dict[str, float]],
) -> None:
    pool = filled(*history)
    examples = sorted({e for scores in history for e in scores})
    assert list(pool.fronts) == examples
    for e in examples:
        top = max(scores[e] for scores in history if e in scores)
        assert pool.tops[e] == top
        assert pool.fronts[e] == tuple(i for i, s in enumerate(history) if s.get(e) == top)
    assert pool.parent_weights == front_weights(pool.fronts, pool.means)


@given(histories, st.randoms(use_true_random=False))
def test_nothing_depends_on_the_order_in_which_scores_arrived(
    history: list[dict[str, float]], rng: Any
) -> None:
    shuffled = [dict(rng.sample(list(s.items()), len(s))) for s in history]
    assert json.dumps(filled(*shuffled).dump()) == json.dumps(filled(*history).dump())
    assert list(filled(*shuffled).fronts.items()) == list(filled(*history).fronts.items())


@given(histories)
def test_a_dumped_pool_loads_into_the_same_pool(history: list[dict[str, float]]) -> None:
    pool = filled(*history)
    pool.apply([put("order", ["b", "a"]), put("epoch", 3)], version=pool.version)
    loaded = ParetoPool.load(json.loads(json.dumps(pool.dump())))
    assert_same(loaded, pool)


def test_a_pool_dumped_by_an_older_version_loads() -> None:
    pool = filled({"a": 1.0, "b": 0.5}, {"b": 0.75})
    ops = [op({"a": 1.0, "b": 0.5}, "text 1"), op({"b": 0.75}, "text 2")]
    assert_same(ParetoPool.load({"version": 2, "ops": ops}), pool)


@given(histories)
def test_one_transaction_folds_to_the_same_state_as_many(history: list[dict[str, float]]) -> None:
    at_once = ParetoPool()
    ops = [op(scores, f"text {i}") for i, scores in enumerate(history, start=1)]
    at_once.apply(ops, version=len(history))
    assert_same(at_once, filled(*history))


def assert_same(one: ParetoPool, other: ParetoPool) -> None:
    for name in ("version", "candidates", "state", "means", "fronts", "tops", "parent_weights"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.best() == other.best()
    assert one.dump() == other.dump()
