from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.algorithms.combee.groups import augmented_shuffle, n_groups


@pytest.mark.parametrize(
    ("n", "k"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 2), (9, 3), (10, 3), (40, 6), (100, 10)]
)
def test_there_are_as_many_groups_as_the_root_of_the_reflections(n: int, k: int) -> None:
    assert n_groups(n) == k


def test_ten_reflections_in_two_copies_make_groups_of_seven_seven_and_six() -> None:
    groups = augmented_shuffle(list("abcdefghij"), 2, Random(0))
    assert [len(group) for group in groups] == [7, 7, 6]


def test_below_four_reflections_nothing_is_copied_or_shuffled() -> None:
    rng = Random(0)
    before = rng.getstate()
    assert augmented_shuffle(["a", "b", "c"], 2, rng) == [["a", "b", "c"]]
    assert rng.getstate() == before


@given(st.integers(4, 120), st.integers(1, 4), st.integers(0, 99))
def test_each_copy_is_in_exactly_one_group_and_sizes_differ_by_one_at_most(
    n: int, copies: int, seed: int
) -> None:
    groups = augmented_shuffle(range(n), copies, Random(seed))
    assert Counter(one for group in groups for one in group) == dict.fromkeys(range(n), copies)
    sizes = [len(group) for group in groups]
    assert len(sizes) == n_groups(n), "by the number before copying"
    assert max(sizes) - min(sizes) <= 1
    assert all(first >= second for first, second in pairwise(sizes)), "larger ones come first"
    assert sizes.count(max(sizes)) == (n * copies) % len(sizes) or len(set(sizes)) == 1


def test_the_same_seed_gives_the_same_groups_and_another_seed_others() -> None:
    first = augmented_shuffle(range(40), 2, Random(7))
    assert first == augmented_shuffle(range(40), 2, Random(7))
    assert first != augmented_shuffle(range(40), 2, Random(8))
