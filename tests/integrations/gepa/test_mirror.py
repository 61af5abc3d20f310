"""The mirror shows gepa's objects the state that gepa itself would have."""

from types import SimpleNamespace
from typing import Any

import pytest
from gepa.core.result import GEPAResult
from gepa.core.state import GEPAState, ValsetEvaluation
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.artifact import Artifact
from flashevolve.engine.state import RunState
from flashevolve.errors import DataError
from flashevolve.integrations.gepa.data import Table, table
from flashevolve.integrations.gepa.mirror import Mirror
from flashevolve.pools.pareto import ParetoPool, confirm, insert

VAL = table("val", [{"q": i} for i in range(3)])
SEED = {"z": "first", "a": "second"}


def state_of(pool: ParetoPool) -> RunState:
    return RunState(pool, {}, lambda payload: payload)


def add(pool: ParetoPool, number: int, parents: tuple[int, ...], scores: list[float]) -> None:
    child = Artifact({**SEED, "a": f"text {number}"})
    by_id = dict(zip(VAL.ids, scores, strict=True))
    op = insert(child, parents=parents, scores=by_id, ticket=number + 1)
    pool.apply([op], version=pool.version + 1)


def mirror_of(state: RunState, **options: Any) -> Mirror:
    return Mirror(lambda: state, VAL, tuple(SEED), **options)


grades = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=3)


@given(st.lists(st.tuples(st.integers(0, 50), grades), min_size=1, max_size=8))
def test_the_state_is_what_gepa_builds_from_the_same_candidates(
    found: list[tuple[int, list[float]]],
) -> None:
    pool = ParetoPool()
    state = state_of(pool)
    mirror = mirror_of(state)
    theirs: Any = None
    for number, (draw, scores) in enumerate(found):
        parents = (draw % number,) if number else ()
        add(pool, number, parents, scores)
        mirror.sync()
        texts = {**SEED, "a": f"text {number}"}
        evaluation = ValsetEvaluation({}, dict(enumerate(scores)))
        if theirs is None:
            theirs = GEPAState(texts, evaluation, track_best_outputs=True)
            theirs.total_num_evals, theirs.num_full_ds_evals = 0, 1
        else:
            theirs.update_state_with_new_program(list(parents), texts, evaluation, None, 0)
    ours = mirror.sync()
    assert ours.is_consistent()
    for name in (
        "program_candidates",
        "parent_program_for_candidate",
        "prog_candidate_val_subscores",
        "program_at_pareto_front_valset",
        "program_full_scores_val_set",
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    result = GEPAResult.from_state(ours)
    assert result.best_candidate == GEPAResult.from_state(theirs).best_candidate
    assert result.num_full_val_evals == len(found)


def test_a_discovery_counts_what_was_made_before_its_own_validation() -> None:
    pool = ParetoPool()
    state = state_of(pool)
    mirror = mirror_of(state)
    for number, spent in enumerate([3, 9, 20]):
        add(pool, number, (0,) if number else (), [0.0, 0.5, 1.0])
        state.ledger.spent["metric_calls"] = float(spent)
        mirror.sync()
    # gepa's own: the seed at 0, then the count before the three examples of each validation.
    assert mirror.sync().num_metric_calls_by_discovery == [0, 9 - 3, 20 - 3]


def test_there_is_no_state_before_the_seed_has_its_scores() -> None:
    assert mirror_of(state_of(ParetoPool())).sync() is None


def test_components_come_in_the_order_of_the_users_seed() -> None:
    pool = ParetoPool()
    add(pool, 0, (), [0.0, 0.0, 0.0])
    state = mirror_of(state_of(pool)).sync()
    assert list(state.program_candidates[0]) == ["z", "a"]
    assert state.list_of_named_predictors == ["z", "a"]


def test_a_speculative_candidate_is_no_program_until_it_is_confirmed() -> None:
    pool = ParetoPool()
    add(pool, 0, (), [0.0, 0.0, 0.0])
    first = insert(
        Artifact({**SEED, "a": "early"}),
        parents=(0,),
        scores={"val/0": 1.0},
        ticket=9,
        reference=0,
    )
    pool.apply([first], version=2)
    add(pool, 2, (1,), [0.5, 0.5, 0.5])
    mirror = mirror_of(state_of(pool))
    state = mirror.sync()
    # The child of what is only believed in counts as its grandparent's.
    assert state.parent_program_for_candidate == [[None], [0]]
    assert mirror.index_of(1, pool) == 0
    pool.apply([confirm(1, dict.fromkeys(VAL.ids, 1.0))], version=4)
    state = mirror.sync()
    assert [mirror.candidate_of(i) for i in range(3)] == [0, 2, 1]
    assert state.program_full_scores_val_set == [0.0, 0.5, 1.0]
    with pytest.raises(LookupError, match="expected a program from 0 to 2, found 7"):
        mirror.candidate_of(7)


def test_best_outputs_are_the_adapters_own_objects() -> None:
    pool, made = ParetoPool(), SimpleNamespace(answer=1)
    add(pool, 0, (), [0.0, 1.0, 0.0])
    state = mirror_of(state_of(pool), outputs=lambda c: dict.fromkeys(c.scores, made)).sync()
    assert state.best_outputs_valset[1] == [(0, made)]
    assert mirror_of(state_of(pool), track_best_outputs=False).sync().best_outputs_valset is None


# -- data --------------------------------------------------------------------------------------


def test_ids_of_two_splits_never_collide_though_gepas_do() -> None:
    train = table("train", [{"q": 0}])
    assert list(train.ids) == ["train/0"]
    assert list(VAL.ids) == ["val/0", "val/1", "val/2"]
    assert not {*train.ids} & {*VAL.ids}
    assert VAL.fetch(["val/2", "val/0"]) == [{"q": 2}, {"q": 0}]
    assert VAL.ours[1] == "val/1"


def test_an_instance_may_be_any_object_and_is_known_again_by_its_content() -> None:
    class Instance:
        def __init__(self, q: int) -> None:
            self.q = q
            self.me = self

    first, again = (table("val", [Instance(0), Instance(1)]).examples() for _ in range(2))
    other = table("val", [Instance(0), Instance(2)]).examples()
    assert first == again
    assert first[0] == other[0]
    assert first[1] != other[1]
    same_in_train = table("train", [Instance(0)]).examples()
    assert same_in_train[0].data != first[0].data


def test_what_is_no_data_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match="trainset: expected a list, or a DataLoader with all_ids"):
        table("train", 7)
    with pytest.raises(DataError, match="valset: expected at least one instance, found none"):
        table("val", [])

    class Short:
        def all_ids(self) -> list[str]:
            return ["x", "y"]

        def fetch(self, ids: list[str]) -> list[int]:
            return [1]

        def __len__(self) -> int:
            return 2

    found: Table = table("val", Short())
    with pytest.raises(DataError, match="expected fetch to return 2 instances, found 1"):
        found.examples()
