from pathlib import Path

import pytest

from flashevolve.cli.main import invoke
from tests.cli.made import simulated
from tests.cli.test_run import mistake

Capture = pytest.CaptureFixture[str]


def test_what_decides_the_outcome_may_not_change(finished: Path, capsys: Capture) -> None:
    line = mistake(capsys, "resume", str(finished), "--policy", "full")
    assert "expected the configuration that this run was started with" in line


def test_a_directory_without_a_run_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert f"no run in {tmp_path}" in mistake(capsys, "resume", str(tmp_path))


def test_a_finished_run_is_not_run_again(finished: Path, capsys: Capture) -> None:
    before = (finished / "result.json").read_text()
    assert invoke(["resume", str(finished)]) == 0
    assert "the budget of metric calls is spent" in capsys.readouterr().out
    assert (finished / "result.json").read_text() == before


def test_a_data_file_that_was_moved_is_found_from_here(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = simulated(tmp_path)
    run_dir = tmp_path / "r"
    assert invoke(["run", str(config), "--run-dir", str(run_dir)]) == 0
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "train.jsonl").rename(tmp_path / "elsewhere" / "train.jsonl")
    assert invoke(["resume", str(run_dir)]) == 2
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert invoke(["resume", str(run_dir), "--data.train", "train.jsonl"]) == 0
    assert "train.jsonl" in capsys.readouterr().err
