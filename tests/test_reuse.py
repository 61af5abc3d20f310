"""Answers that another run has paid for: reused by content, at no cost, and only on request."""

from pathlib import Path

import pytest

from flashevolve.config import Budget, merge, resolve
from flashevolve.errors import ConfigError
from flashevolve.prepare import prepare
from flashevolve.result import Result
from flashevolve.run import Run
from flashevolve.workloads.instructions import write


def run(directory: Path, name: str, *overrides: tuple[str, str]) -> Result:
    if not (directory / "train.jsonl").exists():
        write(directory, seed=1, n_train=6, n_val=8, n_test=4)
    tree = {
        "artifact": {"system": "Answer the request."},
        "task": {"workload": "instructions"},
        "data": {split: f"{split}.jsonl" for split in ("train", "val", "test")},
        "model": {"name": "sim/h100-qwen3-8b"},
        "budget": Budget(metric_calls=60),
        "run": {"dir": name},
    }
    return Run(prepare(resolve(merge(tree, overrides), directory))).result()


def test_an_equal_run_pays_nothing_and_comes_to_the_same(tmp_path: Path) -> None:
    sync = ("schedule", "sync")
    first = run(tmp_path, "first", sync)
    second = run(tmp_path, "second", sync, ("run.reuse", str(tmp_path / "first")))
    assert first.usage.calls > 0
    assert second.usage.calls == 0
    assert second.usage.tokens == 0
    assert second.best == first.best
    assert second.test_score == first.test_score
    assert second.counters == first.counters


def test_another_policy_reuses_the_seeds_validation_and_test(tmp_path: Path) -> None:
    first = run(tmp_path, "first", ("policy", "full"))
    alone = run(tmp_path, "alone", ("policy", "guarded"), ("seed", "5"))
    reusing = run(
        tmp_path,
        "reusing",
        ("policy", "guarded"),
        ("seed", "5"),
        ("run.reuse", str(tmp_path / "first")),
    )
    assert reusing.seed_score == first.seed_score
    assert reusing.usage.calls <= alone.usage.calls - 8


def test_a_run_cannot_reuse_itself(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.reuse: expected another run's directory"):
        run(tmp_path, "first", ("run.reuse", str(tmp_path / "first")))
