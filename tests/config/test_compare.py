from typing import Any

import pytest
from hypothesis import given, settings

from flashevolve.config import compare, dump, resolve
from flashevolve.config.compare import differences
from tests.config.test_resolve import BEAM, trees

BASE: dict[str, Any] = {
    "algorithm": BEAM,
    "model": {"name": "a", "base_url": "http://x/v1"},
    "models": {"task": "b", "reflect": ["c", "d"]},
    "budget": {"usd": 5},
    "artifact": {"system": "s"},
}


def recorded(changes: dict[str, Any]) -> dict[str, Any]:
    return dump(resolve({**BASE, **changes}, "/base"))


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": {"metric_calls": 7, "grace_s": 3}},
        {"limits": {"concurrency": 2, "in_flight": 9}},
        {"control": {"mode": "paper", "workers": {"a": 3}}},
        {"run": {"dir": "elsewhere", "base": "/other"}},
        {"data": {"train": "moved.jsonl"}},
        {"model": {"name": "a", "base_url": "http://y/v1", "key_env": "K", "timeout_s": 3}},
        {"model": {"name": "a", "base_url": "http://x/v1", "max_output_tokens": 9}},
        {"models": {"task": {"name": "b", "max_output_tokens": 9}, "reflect": ["c", "d"]}},
        {
            "model": {
                "name": "a",
                "price": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 1},
                "extra_headers": {"X": "1"},
            }
        },
    ],
)
def test_a_resume_may_change_budget_limits_places_and_endpoints(changes: dict[str, Any]) -> None:
    assert compare(recorded({}), recorded(changes)) == []


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"policy": "full"}, ["policy"]),
        ({"schedule": "sync"}, ["schedule"]),
        ({"seed": 1}, ["seed"]),
        ({"beam": {"width": 9}}, ["beam.width"]),
        ({"artifact": {"system": "t", "user": "u"}}, ["artifact.system", "artifact.user"]),
        ({"data": {"split": [1, 1, 1]}}, ["data.split"]),
        ({"data": {"id": "key"}}, ["data.id"]),
        ({"task": {"metric": "exact"}}, ["task.metric"]),
        ({"staleness": {"gap": "global"}}, ["staleness.gap"]),
        ({"speculation": {"evaluate": 0.5}}, ["speculation.evaluate"]),
        ({"models": {"task": "z", "reflect": ["c", "d"]}}, ["models.task.name"]),
        ({"models": {"task": "b", "reflect": ["c", "e"]}}, ["models.reflect.1.name"]),
    ],
)
def test_a_resume_may_not_change_what_decides_the_run(
    changes: dict[str, Any], keys: list[str]
) -> None:
    assert compare(recorded({}), recorded(changes)) == keys


@given(trees, trees)
@settings(max_examples=60, deadline=None)
def test_nothing_differs_from_itself_and_differences_are_mutual(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    a, b = dump(resolve(one, "/base")), dump(resolve(other, "/base"))
    assert compare(a, a) == []
    assert set(compare(a, b)) == set(compare(b, a))


def test_a_run_from_before_there_were_replicas_had_one() -> None:
    before, one, two = (recorded(c) for c in ({}, {}, {"task": {"replicas": 2}}))
    del before["task"]["replicas"]
    assert compare(before, one) == compare(one, before) == []
    assert compare(before, two) == compare(one, two) == ["task.replicas"]


OLDER_TABLES: dict[str, tuple[str, ...]] = {
    "task": (
        "answer", "failure_score", "fields", "input", "metered", "metric", "pattern",
        "perfect_score", "replicas", "run", "tolerance", "workload",
    ),
    "data": ("id", "path", "split", "split_seed", "test", "train", "val"),
    "limits": (
        "concurrency", "in_flight", "queue", "retries", "retry_total_s", "retry_wait_s", "threads",
        "workers",
    ),
    "staleness": ("delta_max", "gap", "history_tokens", "repair_prompt"),
    "gepa": (
        "acceptance", "components", "epsilon", "merge", "merge_max", "merge_overlap_floor",
        "minibatch", "reflect", "selection", "skip_perfect",
    ),
}  # fmt: skip
"""What a version before control, speculation and PxN recorded, but for tables that did not grow."""


def test_a_run_that_an_older_version_recorded_resumes_with_the_values_that_it_had() -> None:
    now = recorded({"algorithm": "gepa"})
    before = {key: value for key, value in now.items() if key not in ("control", "speculation")}
    for table, keys in OLDER_TABLES.items():
        before[table] = {key: before[table][key] for key in keys}
    assert compare(before, now) == compare(now, before) == []
    wider = recorded({"algorithm": "gepa", "gepa": {"proposals": 2}})
    assert compare(before, wider) == ["gepa.proposals"]


def test_differences_hold_both_values_of_every_key_but_where_the_runs_live() -> None:
    changes = {
        "budget": {"usd": 7},
        "run": {"dir": "x"},
        "data": {"val": "moved.jsonl"},
        "task": {"replicas": 3},
    }
    first, second = recorded({}), recorded({**changes, "artifact": {"system": "s", "user": "u"}})
    del first["task"]["replicas"]
    assert differences(first, second) == {
        "budget.usd": (5, 7),
        "task.replicas": (1, 3),
        "artifact.user": (None, "u"),
    }
