import json
from pathlib import Path

import pytest

from flashevolve.cli.main import invoke

Capture = pytest.CaptureFixture[str]


def test_a_finished_run_is_listed_with_its_scores(finished: Path, capsys: Capture) -> None:
    assert invoke(["ls", str(finished.parent)]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["dir", "algorithm", "policy", "state"]
    assert row.split()[:4] == [str(finished), "gepa", "reflective", "finished"]


def test_json_is_one_object(finished: Path, capsys: Capture) -> None:
    assert invoke(["ls", str(finished.parent), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert row["state"] == "finished"
    assert row["simulated"] is True


def test_no_runs_say_how_to_start_one(tmp_path: Path, capsys: Capture) -> None:
    assert invoke(["ls", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "flashevolve run" in err


def test_a_damaged_run_does_not_hide_the_others(
    finished: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.sqlite").write_bytes(b"not a database" * 100)
    (tmp_path / "good").symlink_to(finished)
    assert invoke(["ls", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "unreadable" in out
    assert "finished" in out
    assert "bad" in err
