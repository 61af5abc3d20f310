from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.algorithms.minibatch import next_minibatch
from flashevolve.pools.pareto import ParetoPool


@given(st.integers(1, 20), st.integers(1, 6), st.integers(0, 99))
def test_an_epoch_shows_every_example_before_any_comes_again(n: int, size: int, seed: int) -> None:
    train, pool = [f"t{i}" for i in range(n)], ParetoPool()
    for epoch in range(3):
        seen: list[str] = []
        while len(seen) < n:
            ids, ops = next_minibatch(pool.state, train, size, Random(f"{seed} {epoch}"))
            pool.apply(ops, version=0)
            assert len(ids) == size
            seen += ids
        counts = Counter(seen)
        assert set(counts) == set(train)
        assert max(counts.values()) - min(counts.values()) <= 1
        assert len(set(seen[:n])) == n


def test_a_loaded_pool_continues_where_the_log_ends() -> None:
    train, pool = [f"t{i}" for i in range(7)], ParetoPool()
    pool.apply(next_minibatch(pool.state, train, 3, Random(0))[1], version=0)
    again = ParetoPool.load(pool.dump())
    assert next_minibatch(again.state, train, 3, Random(1)) == next_minibatch(
        pool.state, train, 3, Random(2)
    )
