"""The examples run, offline, with small budgets."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from flashevolve.cli.main import invoke
from flashevolve.rundir import read_result
from tests.source import ROOT

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    ("name", "metric_calls"),
    [
        ("python_optimize", 140),
        ("own_agent", 60),
        ("own_workflow", 140),
        ("dspy_program", 140),
    ],
)
def test_an_example_in_python_runs_and_does_not_get_worse(
    name: str, metric_calls: int, tmp_path: Path
) -> None:
    main = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]
    result = main(str(tmp_path / "run"), metric_calls=metric_calls)
    assert result.simulated
    assert result.spent["metric_calls"] <= metric_calls
    assert result.best_score >= result.seed_score


@pytest.mark.parametrize(
    ("name", "metric_calls"),
    [
        ("instructions", 140),
        ("own_data", 30),
        ("hotpotqa", 70),
        ("hover", 70),
        ("aime", 140),
        ("ifbench", 140),
    ],
)
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


def printed(notebook: Any) -> list[list[str]]:
    """Returns what each cell of code has printed; anything else than text is not in there."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(output.output_type == "stream" for cell in cells for output in cell.outputs)
    return [[output.text for output in cell.outputs] for cell in cells]


def test_the_notebook_runs_and_prints_what_was_committed() -> None:
    maker = runpy.run_path(str(ROOT / "docs" / "make_notebook.py"))
    before, now = maker["committed"](), maker["executed"]()
    assert any("simulated: True" in text for texts in printed(now) for text in texts)
    made_with, runs_on = (n.metadata.language_info.version.split(".")[:2] for n in (before, now))
    # Sums of floats differ in their last digit between versions of Python, and so may a choice.
    assert made_with != runs_on or printed(before) == printed(now), "run docs/make_notebook.py"
