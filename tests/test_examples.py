"""The examples run, offline, with small budgets."""

import runpy
from pathlib import Path

import pytest

from flashevolve.cli.main import invoke
from flashevolve.rundir import read_result
from tests.source import ROOT

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    ("name", "metric_calls"),
    [("python_optimize", 140), ("own_agent", 60), ("own_workflow", 140)],
)
def test_an_example_in_python_runs_and_does_not_get_worse(
    name: str, metric_calls: int, tmp_path: Path
) -> None:
    main = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]
    result = main(str(tmp_path / "run"), metric_calls=metric_calls)
    assert result.simulated
    assert result.spent["metric_calls"] <= metric_calls
    assert result.best_score >= result.seed_score


@pytest.mark.parametrize(("name", "metric_calls"), [("instructions", 140), ("own_data", 30)])
def test_an_example_with_a_configuration_runs(name: str, metric_calls: int, tmp_path: Path) -> None:
    config = EXAMPLES / name / "run.toml"
    run_dir = tmp_path / "run"
    assert (
        invoke(["run", str(config), "--run-dir", str(run_dir), "--budget", str(metric_calls)]) == 0
    )
    result = read_result(run_dir)
    assert result is not None
    assert result["test_score"] is not None
    assert result["reason"] == "metric_calls"
