from random import Random

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.policies.sampling import contrasting_ids, epoch_order

SCORES = st.dictionaries(st.sampled_from([f"v{i}" for i in range(12)]), st.sampled_from([0.0, 1.0]))


def test_an_epoch_is_padded_with_the_least_frequent_ids_from_the_end() -> None:
    order = epoch_order(["a", "b", "c", "d"], 3, Random(0))
    assert sorted(order[:4]) == ["a", "b", "c", "d"]
    assert order[4:] == [order[3], order[2]]


@given(SCORES, SCORES, st.integers(0, 99))
def test_contrasting_ids_are_common_ones_of_each_kind_none_twice(
    first: dict[str, float], second: dict[str, float], seed: int
) -> None:
    """gepa repeats examples when there are fewer than five, which says nothing new."""
    chosen = contrasting_ids(first, second, 5, Random(seed))
    common = first.keys() & second.keys()
    assert len(chosen) == len(set(chosen)) == min(5, len(common))
    assert set(chosen) <= common
    for kind in (
        {e for e in common if first[e] > second[e]},
        {e for e in common if first[e] < second[e]},
    ):
        assert len(kind & set(chosen)) >= min(2, len(kind))
