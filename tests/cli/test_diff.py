import json
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.cli.diff import heading, parse, settings_that_differ
from flashevolve.cli.main import invoke
from flashevolve.cli.sides import sides
from flashevolve.errors import ConfigError
from flashevolve.rundir import open_run, read_result
from flashevolve.simulate.world import WORLD_FILE, load_world
from tests.cli.made import simulated

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the same task with another seed, algorithm's settings and replicas."""
    folder = tmp_path_factory.mktemp("other")
    config = simulated(folder)
    changes = ["--seed", "5", "--gepa.minibatch", "2", "--task.replicas", "2"]
    assert invoke(["run", str(config), "--run-dir", str(folder / "run"), *changes]) == 0
    return folder / "run"


def said(capsys: Capture, *arguments: object) -> str:
    capsys.readouterr()
    assert invoke(["diff", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def told(capsys: Capture, *arguments: object) -> dict[str, Any]:
    data = json.loads(said(capsys, *arguments, "--json"))
    assert isinstance(data, dict)
    return data


def test_a_run_is_shown_from_its_seed_to_its_best(evolved: Path, capsys: Capture) -> None:
    out = said(capsys, evolved)
    result = read_result(evolved)
    assert result is not None
    best = open_run(evolved).state.pool.best()
    assert best is not None
    assert f"run run in {evolved}: from the seed to candidate {best.id}, the best" in out
    assert f"{result['seed_score']:.4f}    {result['best_score']:.4f}" in out
    assert "simulated: a built-in reader answered" in out
    assert f"+++ system (candidate {best.id}, the best)" in out
    added = [line[1:] for line in out.splitlines() if line[:1] == "+" and line[1:2] != "+"]
    assert added
    assert set(added) <= set(best.artifact["system"].split("\n"))
    assert "\x1b" not in out


def test_json_holds_both_texts_scores_lineage_and_gain(evolved: Path, capsys: Capture) -> None:
    data = told(capsys, evolved)
    result = read_result(evolved)
    assert result is not None
    assert data["simulated"] is True
    assert data["to"]["artifact"] == result["best_artifact"]
    assert (data["from"]["val"], data["to"]["val"]) == (result["seed_score"], result["best_score"])
    assert data["to"]["test"] == result["test_score"]
    assert data["to"]["lineage"][0] == 0
    assert data["test_gain"] == result["test_gain"]
    (component,) = data["components"]
    assert component["diff"].startswith("--- system (the seed)\n+++ system (")
    assert set(component) == {"component", "added", "removed", "diff"}


def test_two_candidates_are_compared_by_number(finished: Path, capsys: Capture) -> None:
    data = told(capsys, finished, 1, 0)
    assert (data["from"]["candidate"], data["to"]["candidate"]) == (1, 0)
    assert "test_gain" not in data
    assert "the texts are the same" in said(capsys, finished, 1, 1)


def test_without_a_directory_it_is_about_the_run_that_was_written_last(
    finished: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, at_s in (("a", 2e9), ("b", 1e9)):
        shutil.copytree(finished, tmp_path / "runs" / name)
        os.utime(tmp_path / "runs" / name / "run.sqlite", (at_s, at_s))
    assert told(capsys)["from"]["run_dir"] == str(Path("runs", "a"))
    assert told(capsys, 0, 1)["to"]["candidate"] == 1


def test_two_runs_are_compared_by_their_bests_scores_and_configurations(
    finished: Path, other: Path, capsys: Capture
) -> None:
    out = said(capsys, finished, other)
    one, two = read_result(finished), read_result(other)
    assert one is not None
    assert two is not None
    row = next(line for line in out.splitlines() if line.startswith("test, best"))
    assert row.split()[2:] == [f"{one['test_score']:.4f}", f"{two['test_score']:.4f}"]
    for line in ("  seed           0  5", "  gepa.minibatch  3  2", "  task.replicas   1  2"):
        assert line.split() in [shown.split() for shown in out.splitlines()]
    assert "examples differ" not in out
    data = told(capsys, finished, other)
    assert {row["key"] for row in data["config"]} == {"seed", "gepa.minibatch", "task.replicas"}
    assert [r["test_score"] for r in data["results"]] == [one["test_score"], two["test_score"]]


def test_runs_on_other_examples_are_said_not_to_compare(
    finished: Path, tmp_path: Path, capsys: Capture
) -> None:
    config = simulated(tmp_path)
    lines = (tmp_path / "test.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "test.jsonl").write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    assert invoke(["run", str(config), "--run-dir", str(tmp_path / "run"), "--budget", "40"]) == 0
    out = said(capsys, finished, tmp_path / "run")
    assert "their test examples differ: scores on them do not compare" in out
    assert "their val examples differ" not in out
    row = next(line for line in out.splitlines() if "contents of data.test" in line)
    assert row.split()[3:] == ["3", "examples", "2", "examples"]


def test_splits_of_one_size_with_other_examples_show_digits_of_their_fingerprints(
    finished: Path, tmp_path: Path
) -> None:
    one = open_run(finished)
    data = {**one.started.data, "test": {"n": 3, "hash": "0123456789abcdef"}}
    two = replace(one, started=replace(one.started, data=data))
    (found,) = settings_that_differ(one, two).values()
    own = one.started.data["test"]["hash"]
    assert found == (f"3 examples ({own[:8]})", "3 examples (01234567)")


def test_runs_that_were_scored_differently_are_said_not_to_compare(
    finished: Path, tmp_path: Path, capsys: Capture
) -> None:
    config, there = simulated(tmp_path), tmp_path / "run"
    changes = ["--run-dir", str(there), "--task.workload", "instructions-loose", "--budget", "40"]
    assert invoke(["run", str(config), *changes]) == 0
    warning = "they are scored differently: their scores do not compare"
    assert warning in said(capsys, finished, there).splitlines()
    assert told(capsys, finished, there)["scored_alike"] is False
    assert warning not in said(capsys, finished, finished)
    assert told(capsys, finished, finished)["scored_alike"] is True


def test_runs_whose_simulated_worlds_were_not_recorded_are_said_to_be_of_unknown_ones(
    finished: Path, tmp_path: Path, capsys: Capture
) -> None:
    older = tmp_path / "older"
    shutil.copytree(finished, older)
    with closing(sqlite3.connect(older / "run.sqlite")) as store, store:
        for table in ("events", "snapshots"):
            column, key = (
                ("event", "$.world") if table == "events" else ("state", "$.started.world")
            )
            store.execute(f"UPDATE {table} SET {column} = json_remove({column}, '{key}')")
    expected = "a simulated world was not recorded: whether it was the same, and their scores"
    assert expected in said(capsys, older, older)
    assert told(capsys, older, older)["worlds_known"] is False
    assert told(capsys, finished, finished)["worlds_known"] is True


def test_the_file_of_a_simulated_world_is_no_difference(finished: Path) -> None:
    one = open_run(finished)
    config = {**one.started.config, "simulation": {"world": "elsewhere.toml"}}
    two = replace(one, started=replace(one.started, config=config))
    assert settings_that_differ(one, two) == {}


def test_a_folder_of_runs_is_not_a_run_and_the_way_to_list_them_is_told(
    finished: Path, capsys: Capture
) -> None:
    capsys.readouterr()
    assert invoke(["diff", str(finished.parent)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "expected a run, found a folder with 1 of them. Name one; to list them: " in line
    assert line.endswith(f"flashevolve ls {finished.parent}")


def test_a_number_of_thousands_of_digits_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^diff: expected the number of a candidate, found one"):
        parse(["a", "9" * 5000])


def test_a_best_that_was_never_scored_says_so_in_place_of_its_test_score(
    evolved: Path, capsys: Capture
) -> None:
    run = open_run(evolved)
    scored = ev.TestScored(which="best", candidate=0, mean=0.5, n=3)
    run.state.tests["best"] = scored
    lines = heading([run], *sides(run, []))
    assert "test: the best has changed since it was scored; resume the run to its end" in lines
    assert not any("gain on test" in line for line in lines)


def test_reading_changes_nothing_in_the_run(finished: Path, capsys: Capture) -> None:
    before = {p.name: p.read_bytes() for p in finished.iterdir()}
    said(capsys, finished)
    assert {p.name: p.read_bytes() for p in finished.iterdir()} == before


def test_a_component_can_be_chosen(evolved: Path, capsys: Capture) -> None:
    assert "--- system" in said(capsys, evolved, "--component", "system")
    assert invoke(["diff", str(evolved), "--component", "sytem"]) == 2
    expected = "--component: neither artifact has a component 'sytem'. Did you mean 'system'?"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    "targets", [["a", "b", "c"], ["a", "1", "2", "3"], ["a", "b", "1"], ["1", "2", "3"]]
)
def test_too_many_names_are_refused_in_one_line(targets: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"^diff: expected DIR, DIR A, DIR A B or DIR DIR, found"):
        parse(targets)


def test_a_directory_whose_name_is_a_number_is_a_run(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished, tmp_path / "7")
    monkeypatch.chdir(tmp_path)
    assert parse(["7", "8"]) == ([Path("7")], [8])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["99"], "no candidate 99; expected one from 0 to"),
        (["nowhere"], "no run in nowhere"),
    ],
)
def test_what_is_not_there_is_one_line(
    finished: Path, arguments: list[str], message: str, capsys: Capture
) -> None:
    assert invoke(["diff", str(finished), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_on_a_terminal_the_texts_are_coloured_and_safe(
    finished: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flashevolve.artifact import Artifact
    from flashevolve.cli import diff
    from flashevolve.cli.texts import changes

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    old, new = Artifact({"p": "[bold]a[/bold]"}), Artifact({"p": "b\x1b[2J" + "x" * 200})
    (change,) = changes(old, new, "x", "y")
    diff.print_coloured(change)
    out = capsys.readouterr().out
    assert "\x1b[31m-[bold]a[/bold]\x1b[0m" in out
    assert "+b\\x1b[2J" + "x" * 200 in out
    monkeypatch.setenv("NO_COLOR", "1")
    diff.print_coloured(change)
    assert "\x1b[3" not in capsys.readouterr().out


def test_runs_of_two_simulated_worlds_are_refused_with_both_hashes(
    finished: Path, tmp_path: Path, capsys: Capture
) -> None:
    text = WORLD_FILE.read_text(encoding="utf-8")
    own = tmp_path / "world.toml"
    own.write_text(text.replace("mean_tokens = 699.0", "mean_tokens = 50.0"), encoding="utf-8")
    config, there = simulated(tmp_path), tmp_path / "run"
    changes = ["--run-dir", str(there), "--simulation.world", str(own), "--budget", "40"]
    assert invoke(["run", str(config), *changes]) == 0
    capsys.readouterr()
    assert invoke(["diff", str(finished), str(there)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"world {load_world().hash} and simulated world {load_world(own).hash}" in line
    assert told(capsys, there)["world"] == load_world(own).hash
