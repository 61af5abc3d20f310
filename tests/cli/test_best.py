import json
from pathlib import Path

import pytest

from flashevolve.artifact import Artifact
from flashevolve.cli.best import as_text
from flashevolve.cli.main import invoke
from flashevolve.rundir import read_result

Capture = pytest.CaptureFixture[str]


def best_text(run_dir: Path) -> str:
    result = read_result(run_dir)
    assert result is not None
    return str(result["best_artifact"]["system"])


def test_it_prints_the_text(finished: Path, capsys: Capture) -> None:
    assert invoke(["best", str(finished)]) == 0
    assert capsys.readouterr().out.rstrip("\n") == best_text(finished).rstrip("\n")


def test_json_tells_candidate_and_score(finished: Path, capsys: Capture) -> None:
    assert invoke(["best", str(finished), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["artifact"] == {"system": best_text(finished)}
    assert 0 <= data["score"] <= 1


def test_out_writes_exactly_the_text(finished: Path, tmp_path: Path) -> None:
    file = tmp_path / "prompt.md"
    assert invoke(["best", str(finished), "--component", "system", "--out", str(file)]) == 0
    assert file.read_bytes().decode() == best_text(finished)


def test_diff_shows_what_was_added(evolved: Path, capsys: Capture) -> None:
    assert invoke(["best", str(evolved), "--diff"]) == 0
    out = capsys.readouterr().out
    added = [line[1:] for line in out.splitlines() if line.startswith("+") and line[1:2] != "+"]
    assert added
    assert all(line in best_text(evolved) for line in added)


def test_an_unknown_component_names_the_nearest(finished: Path, capsys: Capture) -> None:
    assert invoke(["best", str(finished), "--component", "sytem"]) == 2
    assert "no component 'sytem'. Did you mean 'system'?" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_one_line(finished: Path, capsys: Capture) -> None:
    assert invoke(["best", str(finished), "--out", str(finished / "no" / "where")]) == 2
    assert "cannot write there" in capsys.readouterr().err


def test_several_components_stand_under_their_names() -> None:
    assert as_text(Artifact({"a": "x", "b": "y"})) == "== a ==\nx\n== b ==\ny"
