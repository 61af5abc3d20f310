"""A run that a simulated endpoint answered over HTTP is told as simulated, and a mix as a mix."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flashevolve.cli.main import invoke
from flashevolve.cli.progress import Progress
from flashevolve.cli.screen import status_line
from flashevolve.rundir import open_run, read_records, read_result
from tests.cli.made import project, reply
from tests.cli.made import simulated as virtual_project
from tests.fakes.endpoint import Endpoint
from tests.fakes.simulated import PRESET, echoing, served, world

Capture = pytest.CaptureFixture[str]
HERE = world().hash
THERE = "0123456789ab"
PREDICTIONS = (
    "simulated: a built-in reader answered, over HTTP, in real seconds of a paced endpoint. "
    f"Scores and times are predictions about a stated world, not about any model ({HERE})"
)


@contextmanager
def simulated(world_hash: str = HERE) -> Iterator[str]:
    with served(echoing(replace(world(), hash=world_hash)), time_scale=5000.0) as base_url:
        yield base_url


def run(folder: Path, base_url: str, *options: str, name: str = "run") -> dict[str, Any]:
    """Runs, or goes on, against an endpoint; returns `result.json`."""
    config = project(folder, model=f'[model]\nname = "{PRESET}"\nbase_url = "{base_url}"')
    assert invoke(["run", str(config), "--run-dir", str(folder / name), *options]) == 0
    result = read_result(folder / name)
    assert result is not None
    return result


def out(capsys: Capture, *arguments: str) -> str:
    capsys.readouterr()
    assert invoke(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_run_is_called_simulated_by_its_worlds_hash_wherever_it_is_told(
    tmp_path: Path, capsys: Capture
) -> None:
    with simulated() as base_url:
        result = run(tmp_path, base_url, "--budget", "20")
    assert PREDICTIONS in capsys.readouterr().out.splitlines()
    told = {key: result[key] for key in ("simulated", "world", "answered_by", "virtual_s")}
    assert told == {"simulated": True, "world": HERE, "answered_by": [HERE], "virtual_s": None}
    assert result["wall_s"] > 0

    run_dir = str(tmp_path / "run")
    progress = Progress()
    for record in read_records(run_dir):
        progress.apply(record)
    view = progress.view()
    assert view is not None
    assert status_line(view).endswith(f"predictions: simulated world {HERE} answered")
    assert PREDICTIONS in out(capsys, "show", run_dir).splitlines()
    assert PREDICTIONS in out(capsys, "diff", run_dir).splitlines()
    differences = json.loads(out(capsys, "diff", run_dir, "--json"))
    assert (differences["simulated"], differences["world"]) == (True, HERE)
    (row,) = json.loads(out(capsys, "ls", str(tmp_path), "--json"))["runs"]
    assert row["simulated"] is True
    assert " simulated " in out(capsys, "ls", str(tmp_path)).splitlines()[1]


@pytest.mark.parametrize("other", [THERE, "real"])
def test_a_run_that_goes_on_at_another_endpoint_is_called_mixed(
    other: str, tmp_path: Path, capsys: Capture
) -> None:
    with simulated() as base_url:
        run(tmp_path, base_url, "--budget", "20")
    with Endpoint(reply) if other == "real" else simulated(other) as found:
        base_url = found.base_url if isinstance(found, Endpoint) else found
        result = run(tmp_path, base_url, "--budget", "40")
    told = {key: result[key] for key in ("simulated", "world", "answered_by")}
    assert told == {"simulated": True, "world": None, "answered_by": sorted([HERE, other])}
    shown = out(capsys, "show", str(tmp_path / "run"))
    assert "mixed: simulated world " in shown
    assert "neither predictions about one world nor measurements of a model" in shown
    assert "predictions about a stated world" not in shown
    assert "(partly simulated)" in out(capsys, "ls", str(tmp_path))


def test_answers_that_are_reused_keep_their_world(tmp_path: Path) -> None:
    with simulated() as base_url:
        run(tmp_path, base_url, "--budget", "20", name="first")
    with Endpoint(reply) as endpoint:
        reusing = ("--budget", "40", "--run.reuse", str(tmp_path / "first"))
        result = run(tmp_path, endpoint.base_url, *reusing, name="second")
    assert result["answered_by"] == [HERE, "real"]


def test_a_run_of_real_endpoints_names_no_world(tmp_path: Path) -> None:
    with Endpoint(reply) as endpoint:
        result = run(tmp_path, endpoint.base_url, "--budget", "20")
    assert (result["simulated"], result["world"], result["answered_by"]) == (False, None, ["real"])


def test_a_snapshot_of_a_version_that_did_not_count_answers_costs_a_replay(tmp_path: Path) -> None:
    with simulated() as base_url:
        run(tmp_path, base_url, "--budget", "20")
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as store, store:
        store.execute("UPDATE snapshots SET state = json_remove(state, '$.answers')")
        assert store.total_changes == 1
    state = open_run(tmp_path / "run").state
    assert state.answered_by == (HERE,)
    assert sum(state.answers.values()) == state.usage.calls


@pytest.mark.parametrize("how", ["resume", "reuse"])
def test_answers_of_virtual_time_are_not_mixed_with_an_endpoints(
    how: str, tmp_path: Path, capsys: Capture
) -> None:
    config, first = str(virtual_project(tmp_path)), str(tmp_path / "run")
    assert invoke(["run", config, "--run-dir", first, "--budget", "20"]) == 0
    options = ["--budget", "40", "--model.base-url", "http://127.0.0.1:9/v1", "--run-dir"]
    options += [first] if how == "resume" else [str(tmp_path / "two"), "--run.reuse", first]
    capsys.readouterr()
    assert invoke(["run", config, *options]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "error: " in line]
    what = first if how == "resume" else f"run.reuse = {first}"
    assert f"{what}: expected models that answer in virtual time, as when it was made, " in line
    assert "found models in real time. Restore the models" in line
