from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.cli.sides import (
    best_side,
    candidate,
    refuse_two_worlds,
    scored_alike,
    seed_side,
    sides,
    worlds_are_unknown,
)
from flashevolve.engine.state import RunState
from flashevolve.errors import ConfigError
from flashevolve.pools.head import HeadPool
from flashevolve.pools.pareto import ParetoPool, insert
from flashevolve.pools.pool import Pool
from flashevolve.rundir import OpenRun

SEED = {"system": "seed"}


def opened(pool: Pool, name: str = "one", answers: Any = (), **changes: Any) -> OpenRun:
    """A run as its log would tell it, with a pool of one's own; `answers` as in `RunState`."""
    started: Any = ev.RunStarted(
        run_id="one", algorithm="gepa", policy="full", schedule="async", rng_seed=0,
        artifact=SEED, config={}, data={}, pool="", pool_state={}, stages=[], simulated=False,
        prices={}, package="0",
    )  # fmt: skip
    state = RunState(pool, {}, lambda payload: payload)
    state.started = started = replace(started, **changes)
    state.answers.update(answers)
    return OpenRun(Path("runs", name), started, state)


def family() -> OpenRun:
    """0 the seed, 1 and 2 its children, 3 merged from both, 4 a child of 3."""
    pool = ParetoPool()
    for number, (parents, score) in enumerate(
        [((), 0.1), ((0,), 0.4), ((0,), 0.3), ((1, 2), 0.9), ((3,), 0.2)]
    ):
        artifact = Artifact(SEED if not number else {"system": f"text {number}"})
        op = insert(artifact, parents=parents, scores={"v": score}, ticket=number + 1)
        pool.apply((op,), version=number + 1)
    return opened(pool)


def test_by_default_it_goes_from_the_seed_to_the_best() -> None:
    old, new = sides(family(), [])
    assert (old.name, old.candidate, old.val, old.lineage) == ("the seed", 0, 0.1, (0,))
    assert (new.name, new.val, new.lineage) == ("candidate 3, the best", 0.9, (0, 1, 3))
    assert new.parents == (1, 2)
    assert new.artifact == {"system": "text 3"}


def test_one_candidate_is_compared_with_its_parent_and_two_with_each_other() -> None:
    old, new = sides(family(), [4])
    assert (old.candidate, new.candidate, new.name) == (3, 4, "candidate 4")
    old, new = sides(family(), [4, 2])
    assert (old.candidate, new.candidate) == (4, 2)
    assert new.lineage == (0, 2)


def test_a_test_score_is_told_of_the_candidate_that_has_it() -> None:
    run = family()
    run.state.tests = {
        "seed": ev.TestScored(which="seed", candidate=0, mean=0.2, n=9),
        "best": ev.TestScored(which="best", candidate=1, mean=0.5, n=9),
    }
    assert (seed_side(run).test, best_side(run).test) == (0.2, None)
    assert [s.test for s in sides(run, [1, 2])] == [0.5, None]


@pytest.mark.parametrize(("number", "closest"), [(9, 4), (-3, 0)])
def test_an_unknown_candidate_is_one_line_with_the_range_and_the_nearest(
    number: int, closest: int
) -> None:
    expected = (
        rf"no candidate {number}; expected one from 0 to 4, the nearest being {closest}\. To list "
        r"them: flashevolve show "
    )
    with pytest.raises(ConfigError, match=expected):
        candidate(family(), number)


def test_an_empty_pool_has_the_seed_on_both_sides_and_no_candidate() -> None:
    run = opened(ParetoPool())
    old, new = sides(run, [])
    assert (old.name, new.name, old.candidate, old.lineage) == ("the seed", "the seed", None, ())
    with pytest.raises(ConfigError, match="no candidate 0: none has been admitted yet"):
        candidate(run, 0)


def test_a_pool_that_keeps_only_its_head_still_has_a_seed_side() -> None:
    pool = HeadPool()
    for text in ("seed", "better"):
        pool.apply([{"op": "write", "component": "system", "text": text}], version=1)
    old, new = sides(opened(pool), [])
    assert (old.artifact, old.candidate) == (SEED, None)
    assert (new.name, new.lineage) == ("candidate 1, the best", (0, 1))
    with pytest.raises(ConfigError, match="no candidate 7; expected 1, the only one"):
        candidate(opened(pool), 7)


REAL: dict[str, Any] = {}
OLDER: dict[str, Any] = {"simulated": True}
HERE: dict[str, Any] = {"simulated": True, "world": "aaaa"}
THERE: dict[str, Any] = {"simulated": True, "world": "bbbb"}
SERVED: dict[str, Any] = {"answers": {"aaaa": 3}}
MIXED: dict[str, Any] = {"answers": {"aaaa": 3, "": 1}}


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (HERE, THERE, "simulated world aaaa and simulated world bbbb"),
        (REAL, HERE, "real models and simulated world aaaa"),
        (THERE, OLDER, "simulated world bbbb and a simulated world that was not recorded"),
        (SERVED, MIXED, "simulated world aaaa and simulated world aaaa and real models"),
        (HERE, MIXED, "simulated world aaaa and simulated world aaaa and real models"),
        (REAL, SERVED, "real models and simulated world aaaa"),
    ],
)
def test_runs_of_two_worlds_are_refused_in_one_line_that_names_both(
    first: dict[str, Any], second: dict[str, Any], found: str
) -> None:
    runs = (opened(ParetoPool(), **first), opened(ParetoPool(), "two", **second))
    expected = rf"one and .*two: expected runs in one world, found {found}, whose scores do not"
    with pytest.raises(ConfigError, match=expected):
        refuse_two_worlds(*runs)


@pytest.mark.parametrize(
    ("first", "second", "unknown"),
    [(OLDER, OLDER, True), (HERE, HERE, False), (REAL, REAL, False), (MIXED, MIXED, False)],
)
def test_worlds_that_were_not_recorded_are_unknown(
    first: dict[str, Any], second: dict[str, Any], unknown: bool
) -> None:
    runs = (opened(ParetoPool(), **first), opened(ParetoPool(), "two", **second))
    refuse_two_worlds(*runs)
    assert worlds_are_unknown(*runs) == unknown


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ({"metric": "exact"}, {"metric": "exact", "replicas": 3}, True),
        ({"metric": "exact"}, {"metric": "contains"}, False),
        ({"metric": "json", "fields": ["a"]}, {"metric": "json"}, False),
        ({"workload": "instructions"}, {"workload": "instructions-loose"}, False),
        ({"metric": "exact", "failure_score": 0.0}, {"metric": "exact", "failure_score": 1}, False),
    ],
)
def test_runs_are_scored_alike_if_what_decides_a_score_is_the_same(
    first: dict[str, Any], second: dict[str, Any], alike: bool
) -> None:
    runs = [opened(ParetoPool(), config={"task": task}) for task in (first, second)]
    assert scored_alike(*runs) == alike


@pytest.mark.parametrize(
    ("first", "second"), [(REAL, REAL), (HERE, HERE), (HERE, SERVED), (MIXED, MIXED)]
)
def test_runs_of_one_world_may_be_compared(first: dict[str, Any], second: dict[str, Any]) -> None:
    refuse_two_worlds(opened(ParetoPool(), **first), opened(ParetoPool(), "two", **second))
