import json
from pathlib import Path

import pytest

from flashevolve.bench.suite import SUITES
from flashevolve.cli.main import invoke

Capture = pytest.CaptureFixture[str]


def test_a_suite_prints_its_tables_and_keeps_json_rows_and_figures(
    tmp_path: Path, capsys: Capture
) -> None:
    out = ["--json", str(tmp_path / "r.json"), "--rows", str(tmp_path / "rows")]
    asked = ["bench", "speculation", "--quick", "--jobs", "1", *out]
    assert invoke([*asked, "--figures", str(tmp_path / "f")]) == 0
    shown = capsys.readouterr()
    assert "PREDICTIONS of the simulation" in shown.out
    assert "core-minutes" in shown.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["suite"] == "speculation"
    assert {"head", "tables", "findings", "rows", "warnings"} <= report.keys()
    assert {"arm", "seed", "world", "figures", "key"} <= report["rows"][0].keys()
    assert (tmp_path / "f" / "bench-speculation.svg").exists()
    n_rows = len((tmp_path / "rows" / "speculation.jsonl").read_text().splitlines())
    assert n_rows == len(report["rows"])
    assert invoke([*asked, "--report-only"]) == 0
    assert invoke(asked) == 0
    assert "0 runs to make" in capsys.readouterr().err
    assert len((tmp_path / "rows" / "speculation.jsonl").read_text().splitlines()) == n_rows


def test_the_help_names_every_suite(capsys: Capture) -> None:
    assert invoke(["bench", "--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in SUITES if name not in shown] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["stalenes"], "expected one of"),
        (["workers", "--seeds", "0"], "Invalid value for '--seeds'"),
        (["workers", "--base-url", "http://x/v1"], "expected --model NAME beside it"),
        (["workers", "--report-only"], "expected --rows DIR beside it"),
        (["workers", "--preset", "h101"], "expected a simulated model among"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], told: str, capsys: Capture) -> None:
    assert invoke(["bench", *arguments]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_a_report_of_no_rows_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert invoke(["bench", "workers", "--report-only", "--rows", str(tmp_path)]) == 2
    assert "expected rows of workers" in capsys.readouterr().err


def test_rows_of_other_sources_are_made_again_but_can_be_reported(
    tmp_path: Path, capsys: Capture
) -> None:
    asked = ["bench", "scaling", "--quick", "--jobs", "1", "--rows", str(tmp_path)]
    assert invoke(asked) == 0
    path = tmp_path / "scaling.jsonl"
    rows = [json.loads(line) | {"code": "old"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    assert invoke([*asked, "--report-only"]) == 0
    assert invoke(asked) == 0
    assert f"{len(rows)} runs to make" in capsys.readouterr().err
    assert invoke([*asked, "--report-only"]) == 0
    assert "states of the sources" not in capsys.readouterr().out
