from flashevolve.algorithms.components import inherit, next_components
from flashevolve.pools.pareto import ParetoPool

NAMES = ("answer", "plan", "search")


def test_each_candidate_has_its_own_turn() -> None:
    pool, chosen = ParetoPool(), []
    for candidate in (0, 0, 1, 0, 0, 1):
        names, ops = next_components(pool.state, candidate, NAMES, "round_robin")
        pool.apply(ops, version=0)
        chosen.append((candidate, *names))
    assert chosen == [
        (0, "answer"), (0, "plan"), (1, "answer"), (0, "search"), (0, "answer"), (1, "plan"),
    ]  # fmt: skip


def test_a_single_component_or_all_at_once_need_no_pointer() -> None:
    assert next_components({}, 0, ("system",), "round_robin") == (("system",), ())
    assert next_components({}, 0, NAMES, "all") == (NAMES, ())


def test_a_child_inherits_the_furthest_pointer_of_its_parents() -> None:
    pool = ParetoPool()
    for candidate, turns in ((1, 1), (2, 2)):
        for _ in range(turns):
            pool.apply(next_components(pool.state, candidate, NAMES, "round_robin")[1], version=0)
    pool.apply(inherit(pool.state, 3, (1, 2)), version=0)
    assert next_components(pool.state, 3, NAMES, "round_robin")[0] == ("search",)
    assert inherit(pool.state, 3, (0,)) == ()
