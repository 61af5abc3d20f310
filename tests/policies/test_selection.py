from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.policies.selection import (
    current_best,
    draw_parent,
    epsilon_greedy,
    front_weights,
    prune,
)

fronts_of_ids = st.lists(
    st.sets(st.integers(0, 30), min_size=1, max_size=8), min_size=1, max_size=12
).map(lambda fronts: {f"v{i:02d}": tuple(sorted(front)) for i, front in enumerate(fronts)})


def test_pruning_is_a_set_cover_and_drops_the_worst_first() -> None:
    fronts = {"a": (0, 1), "b": (1, 2), "c": (0, 2)}
    assert prune(fronts, {0: 0.5, 1: 0.7, 2: 0.6}) == [2, 1]
    assert prune(fronts, {0: 0.9, 1: 0.7, 2: 0.6}) == [1, 0]


def test_a_sole_solver_stays_however_bad_it_is_on_average() -> None:
    fronts = {"a": (3,), "b": (0, 1, 3), "c": (0, 1)}
    assert 3 in prune(fronts, {0: 0.8, 1: 0.9, 3: 0.1})


def test_weights_are_the_fronts_that_survivors_are_in() -> None:
    fronts = {"a": (0, 1), "b": (1, 2), "c": (0, 2)}
    assert front_weights(fronts, {0: 0.5, 1: 0.7, 2: 0.6}) == {1: 2, 2: 2}


@given(fronts_of_ids, st.randoms(use_true_random=False))
def test_every_front_keeps_a_survivor_and_no_survivor_is_redundant(
    fronts: dict[str, tuple[int, ...]], rng: Random
) -> None:
    means = {c: rng.choice([0.1, 0.2, 0.3]) for front in fronts.values() for c in front}
    kept = prune(fronts, means)
    assert all(set(kept) & set(front) for front in fronts.values())
    for c in kept:
        assert any(set(front) & set(kept) == {c} for front in fronts.values())


def test_parents_are_drawn_in_proportion_to_their_weights() -> None:
    rng = Random(0)
    drawn = Counter(draw_parent({4: 1, 2: 3, 7: 0}, rng) for _ in range(4000))
    assert set(drawn) == {4, 2}
    assert drawn[2] / 4000 == pytest.approx(0.75, abs=0.03)


def test_the_current_best_is_the_earliest_of_the_highest_means() -> None:
    assert current_best({0: 0.2, 1: 0.7, 2: 0.7}) == 1


def test_epsilon_is_the_share_of_uniform_draws() -> None:
    rng, means = Random(0), {0: 0.2, 1: 0.7, 2: 0.1}
    assert {epsilon_greedy(means, rng, 0.0) for _ in range(50)} == {1}
    drawn = Counter(epsilon_greedy(means, rng, 0.3) for _ in range(4000))
    assert drawn[1] / 4000 == pytest.approx(0.8, abs=0.03)
    assert drawn[0] / 4000 == pytest.approx(0.1, abs=0.03)
