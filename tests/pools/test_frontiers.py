"""The four frontiers, against gepa 0.1.4's state."""

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from gepa.core.state import GEPAState, ValsetEvaluation
from gepa.gepa_utils import select_program_candidate_from_pareto_front
from gepa.strategies.candidate_selector import TopKParetoCandidateSelector
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.policies.selection import draw_parent
from flashevolve.pools.fronts import Frontier, FrontKey
from flashevolve.pools.pareto import ParetoPool, confirm, insert, retract

FRONTIERS: tuple[Frontier, ...] = ("instance", "objective", "hybrid", "cartesian")
EXAMPLES, OBJECTIVES = ("v0", "v1", "v2"), ("cost", "right")
GRID = st.sampled_from([0.0, 0.25, 0.5, 1.0])
"""Sums of these are exact, in whatever order gepa adds them."""

Row = dict[str, tuple[float, dict[str, float]]]
ROWS: st.SearchStrategy[Row] = st.fixed_dictionaries(
    {
        e: st.tuples(GRID, st.dictionaries(st.sampled_from(OBJECTIVES), GRID, min_size=1))
        for e in EXAMPLES
    }
)


def pool_of(frontier: Frontier, rows: list[Row]) -> ParetoPool:
    pool = ParetoPool(frontier)
    for c, row in enumerate(rows):
        op = insert(
            Artifact({"t": str(c)}),
            parents=[0] if c else [],
            scores={e: score for e, (score, _) in row.items()},
            objectives={e: named for e, (_, named) in row.items()},
            ticket=c,
        )
        pool.apply([op], version=c)
    return pool


def state_of(frontier: Frontier, rows: list[Row]) -> Any:
    evaluations = [
        ValsetEvaluation(
            outputs_by_val_id=dict.fromkeys(row),
            scores_by_val_id={e: score for e, (score, _) in row.items()},
            objective_scores_by_val_id={e: named for e, (_, named) in row.items()},
        )
        for row in rows
    ]
    state: Any = GEPAState({"t": "0"}, evaluations[0], frontier_type=frontier)
    for c, evaluation in enumerate(evaluations[1:], 1):
        state.update_state_with_new_program([0], {"t": str(c)}, evaluation, None, 0)
    return state


def as_gepas(frontier: Frontier, key: FrontKey) -> Any:
    """Names a key as gepa does."""
    if frontier == "hybrid":
        assert isinstance(key, tuple)
        kind, name = key
        return ("val_id" if kind == "example" else kind, name)
    return ("cartesian", *key) if frontier == "cartesian" else key


@pytest.mark.parametrize("frontier", FRONTIERS)
@given(rows=st.lists(ROWS, min_size=1, max_size=8))
def test_fronts_are_gepas(frontier: Frontier, rows: list[Row]) -> None:
    ours = pool_of(frontier, rows).fronts
    theirs = state_of(frontier, rows).get_pareto_front_mapping()
    assert {as_gepas(frontier, key): set(front) for key, front in ours.items()} == theirs


@pytest.mark.parametrize("frontier", FRONTIERS)
@given(rows=st.lists(ROWS, min_size=1, max_size=8))
def test_parents_are_weighed_as_gepa_weighs_them(frontier: Frontier, rows: list[Row]) -> None:
    pool = pool_of(frontier, rows)
    drawn_from: list[int] = []

    def choice(given: list[int]) -> int:
        drawn_from.extend(given)
        return given[0]

    # In our order of keys: among equal means gepa drops first whom it meets first.
    fronts = {key: set(front) for key, front in pool.fronts.items()}
    rng: Any = SimpleNamespace(choice=choice)
    select_program_candidate_from_pareto_front(fronts, list(pool.means.values()), rng)
    assert Counter(drawn_from) == Counter(dict(pool.parent_weights))


@pytest.mark.parametrize("frontier", FRONTIERS)
@given(rows=st.lists(ROWS, min_size=1, max_size=8), seed=st.integers(0, 1000), k=st.integers(1, 6))
def test_the_top_k_are_drawn_as_gepa_draws_them(
    frontier: Frontier, rows: list[Row], seed: int, k: int
) -> None:
    pool = pool_of(frontier, rows)
    ours, theirs = Random(seed), TopKParetoCandidateSelector(k, Random(seed))
    # Only the order of the keys may differ, and draws follow it.
    state: Any = SimpleNamespace(
        program_candidates=rows,
        program_full_scores_val_set=list(pool.means.values()),
        per_program_tracked_scores=list(pool.means.values()),
        get_pareto_front_mapping=lambda: {key: set(front) for key, front in pool.fronts.items()},
    )
    for _ in range(3):
        assert draw_parent(pool.top_weights(k), ours) == theirs.select_candidate_idx(state)


@pytest.mark.parametrize("frontier", FRONTIERS)
@given(rows=st.lists(ROWS, max_size=5))
def test_a_pool_written_and_read_again_is_the_same(frontier: Frontier, rows: list[Row]) -> None:
    pool = pool_of(frontier, rows)
    again = ParetoPool.load(pool.dump())
    assert again.frontier == frontier
    assert list(again.fronts.items()) == list(pool.fronts.items())
    assert dict(again.candidates) == dict(pool.candidates)
    assert again.dump() == pool.dump()


def test_a_pool_without_objectives_writes_what_older_versions_wrote() -> None:
    pool = ParetoPool()
    op = insert(Artifact({"t": "0"}), parents=[], scores={"v0": 1.0}, ticket=1)
    assert sorted(op) == ["artifact", "op", "parents", "scores", "ticket"]
    pool.apply([op], version=1)
    assert sorted(pool.dump()) == ["candidates", "examples", "ops", "version"]


def test_a_candidate_that_lacks_an_objective_is_in_no_front_of_it() -> None:
    rows: list[Row] = [
        {"v0": (1.0, {"cost": 0.5, "right": 1.0})},
        {"v0": (0.0, {"cost": 1.0})},
        {"v0": (0.0, {})},
    ]
    assert pool_of("objective", rows).fronts == {"cost": (1,), "right": (0,)}


def test_a_mark_of_the_front_goes_by_the_frontier() -> None:
    pool = pool_of("objective", [{"v0": (1.0, {"cost": 0.5})}])
    assert pool.marks({"v0": 1.0}, {"v0": {"cost": 0.6}}) == ("front",)
    assert pool.marks({"v0": 1.5}, {"v0": {"cost": 0.5}}) == ("best",)


def test_a_guest_waits_for_all_its_scores_before_its_means_count() -> None:
    pool = pool_of("hybrid", [{"v0": (0.0, {"cost": 0.0}), "v1": (0.0, {"cost": 0.0})}])
    guess = insert(
        Artifact({"t": "1"}),
        parents=[0],
        scores={"v0": 1.0},
        objectives={"v0": {"cost": 1.0}},
        ticket=1,
        reference=0,
    )
    pool.apply([guess], version=1)
    assert pool.fronts[("example", "v0")] == (1,)
    assert pool.fronts[("objective", "cost")] == (0,)
    assert ParetoPool.load(pool.dump()).fronts == pool.fronts
    scores, named = {"v0": 1.0, "v1": 0.0}, {"v0": {"cost": 1.0}, "v1": {"cost": 0.0}}
    pool.apply([confirm(1, scores, named)], version=2)
    assert pool.fronts[("objective", "cost")] == (1,)
    assert pool.candidates[1].objectives == named


def test_a_retracted_guest_leaves_the_fronts_of_every_frontier() -> None:
    for frontier in FRONTIERS:
        rows: list[Row] = [{"v0": (0.0, {"cost": 0.0})}]
        pool = pool_of(frontier, rows)
        before = dict(pool.fronts)
        guess = insert(
            Artifact({"t": "1"}),
            parents=[0],
            scores={"v0": 1.0},
            objectives={"v0": {"cost": 1.0}},
            ticket=1,
            reference=0,
        )
        pool.apply([guess, retract(1)], version=1)
        assert dict(pool.fronts) == before


def test_examples_are_dumped_whatever_the_frontier_has_keys_for() -> None:
    rows: list[Row] = [{"v1": (1.0, {"cost": 0.5}), "v0": (0.5, {})}]
    assert pool_of("objective", rows).dump()["examples"] == ["v0", "v1"]
