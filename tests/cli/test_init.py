import json
import shlex
import tomllib
from pathlib import Path

import pytest

from flashevolve.cli.init import KINDS, UNSOLVED
from flashevolve.cli.main import invoke
from flashevolve.config import load, resolve
from flashevolve.prepare import prepare

Capture = pytest.CaptureFixture[str]


def test_what_it_prints_runs_at_once_and_offline(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["init", "prompt", "mine"]) == 0
    command = shlex.split(capsys.readouterr().out.split("next: flashevolve ")[1])
    assert invoke([*command, "--budget", "200", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["simulated"] is True
    assert result["test_score"] is not None
    assert Path(result["run_dir"]).parent == Path("runs")


def test_two_edits_are_marked_and_what_they_show_is_valid(tmp_path: Path) -> None:
    assert invoke(["init", "prompt", str(tmp_path / "mine")]) == 0
    config = tmp_path / "mine" / "run.toml"
    lines = config.read_text().splitlines()
    assert sum(line.startswith("# EDIT ") for line in lines) == 2
    shown = "\n".join(line.removeprefix("#").strip() for line in lines if line.startswith("#   "))
    task = tomllib.loads(shown[shown.index("[task]") :])
    model = tomllib.loads(shown[shown.index('name = "Qwen') : shown.index("[task]")])
    tree = load(config) | task | {"model": model}
    assert resolve(tree, config.parent).role("task")[0].name == "Qwen/Qwen3-8B"


def test_a_directory_with_spaces_and_quotes_is_printed_as_a_shell_takes_it(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / 'a "b"'
    assert invoke(["init", "prompt", str(folder)]) == 0
    printed = capsys.readouterr().out.split("next: ")[1]
    assert shlex.split(printed) == ["flashevolve", "run", str(folder / "run.toml")]
    noted = next(line for line in (folder / "run.toml").read_text().splitlines() if "run " in line)
    assert shlex.split(noted.removeprefix("#")) == shlex.split(printed)


def test_it_never_overwrites(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "prompt.md").write_text("mine")
    assert invoke(["init", "prompt", str(tmp_path)]) == 2
    assert "expected a new or empty directory" in capsys.readouterr().err
    assert (tmp_path / "prompt.md").read_text() == "mine"
    assert not (tmp_path / "run.toml").exists()


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").touch()
    assert invoke(["init", "prompt", str(tmp_path / "file" / "x")]) == 2
    assert "cannot write there" in capsys.readouterr().err


def test_an_unknown_kind_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    assert invoke(["init", "promt", str(tmp_path / "x")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'prompt'" in line


def test_the_configuration_says_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["init", "prompt", "a"]) == 0
    assert "flashevolve run a/run.toml" in Path("a/run.toml").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_a_run_that_the_checks_pass(kind: str, tmp_path: Path) -> None:
    assert invoke(["init", kind, str(tmp_path / "mine")]) == 0
    config = tmp_path / "mine" / "run.toml"
    plan = prepare(resolve(load(config), config.parent))
    assert [len(plan.splits[split]) for split in ("train", "val", "test")] == [60, 60, 100]
    assert plan.simulated


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "prompt"])
def test_a_program_s_second_edit_is_its_own_file_and_no_metric(kind: str, tmp_path: Path) -> None:
    assert invoke(["init", kind, str(tmp_path / "mine")]) == 0
    config = tmp_path / "mine" / "run.toml"
    text = config.read_text()
    lines = text.splitlines()
    assert sum(line.startswith("# EDIT ") for line in lines) == 2
    assert "metric =" not in text
    assert "A prompt to evolve" not in text
    edit = next(k for k, line in enumerate(lines) if line.startswith("# EDIT 2"))
    shown = [line.removeprefix("#").strip() for line in lines[edit:] if line.startswith("#   ")]
    tree = load(config)
    for table, keys in tomllib.loads("\n".join(shown)).items():
        tree[table] = {"workload": kind, **keys} if table == "task" else keys
    settings = resolve(tree, config.parent)
    assert settings.data.path is not None
    assert (settings.task.corpus is not None) == (kind == "hover")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_who_cannot_gain_on_the_simulated_model_is_told_so(
    kind: str, tmp_path: Path, capsys: Capture
) -> None:
    assert invoke(["init", kind, str(tmp_path / "mine")]) == 0
    config = tmp_path / "mine" / "run.toml"
    noted = "It cannot solve this task" in config.read_text()
    assert noted == (kind in UNSOLVED)
    capsys.readouterr()
    command = ["run", str(config), "--budget", "300", "--json", "--run.dir", str(tmp_path / "r")]
    assert invoke(command) == 0
    score = json.loads(capsys.readouterr().out)["test_score"]
    assert (score < 0.1) == noted
