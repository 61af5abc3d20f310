import json
import sys
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
        (["stalenes"], "found 'stalenes'. Did you mean 'staleness'?"),
        (["workers", "--seeds", "0"], "Invalid value for '--seeds'"),
        (["workers", "--base-url", "http://x/v1"], "expected --model NAME beside it"),
        (["workers", "--report-only"], "expected --rows DIR beside it"),
        (["workers", "--preset", "h101"], "--preset: expected a simulated model among"),
        (["scaling", "--preset", "h101"], "found 'h101'."),
        (["throughput", "--preset", "h101"], "--preset: expected a simulated model among"),
        (["scaling", "--model", "m"], "--model: expected a suite that a real endpoint can answer"),
        (["gepa", "--model", "m"], "whose runs need a stated latency. Leave --model out"),
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


@pytest.mark.parametrize(
    ("option", "place"), [("--json", "f/r.json"), ("--rows", "f/rows"), ("--figures", "f/g")]
)
def test_a_place_that_cannot_be_written_to_is_refused_before_any_run(
    option: str, place: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "f").write_text("in the way", encoding="utf-8")
    assert invoke(["bench", "workers", "--quick", option, str(tmp_path / place)]) == 2
    err = capsys.readouterr().err
    assert f"{option}: expected a place to write to, found {tmp_path / place}: " in err
    assert err.count("\n") == 1, "and no run was made"


@pytest.mark.parametrize(
    ("package", "more"), [("numpy", []), ("matplotlib.pyplot", ["--figures", "g"])]
)
def test_a_missing_package_is_told_before_any_run(
    package: str, more: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    assert invoke(["bench", "workers", "--quick", *more]) == 2
    err = capsys.readouterr().err
    assert f"expected the package {package.partition('.')[0]}, found none" in err
    assert err.count("\n") == 1, "and no run was made"


def test_the_folder_of_the_report_is_made(tmp_path: Path) -> None:
    out = tmp_path / "new" / "r.json"
    assert invoke(["bench", "scaling", "--quick", "--jobs", "1", "--json", str(out)]) == 0
    assert not [line for line in json.loads(out.read_text())["head"] if "real endpoint" in line]
