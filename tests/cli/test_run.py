"""What a user can get wrong is one line, before anything is paid for."""

import json
from pathlib import Path

import pytest

from flashevolve.algorithms.registry import ALGORITHMS
from flashevolve.cli.main import invoke
from flashevolve.rundir import open_run
from tests.cli.made import CANARY, jsonl, project, reply, rows, simulated
from tests.fakes.endpoint import Endpoint, Received, Step, status

Capture = pytest.CaptureFixture[str]


def mistake(capsys: Capture, *arguments: str, code: int = 2) -> str:
    """Runs a command that must fail with exactly one line, and returns the line."""
    assert invoke(list(arguments)) == code
    out, err = capsys.readouterr()
    assert out == ""
    errors = [line for line in err.splitlines() if line]
    assert len(errors) == 1, err
    return errors[0]


def test_an_unknown_key_names_the_nearest(tmp_path: Path, capsys: Capture) -> None:
    config = project(tmp_path, budget="[budget]\nmetric_cals = 100")
    line = mistake(capsys, "run", str(config))
    assert "budget.metric_cals: unknown key. Did you mean 'metric_calls'?" in line


def test_an_unknown_key_on_the_command_line_names_the_nearest(
    tmp_path: Path, capsys: Capture
) -> None:
    line = mistake(capsys, "run", str(project(tmp_path)), "--budget.metric-cals", "100")
    assert "--budget.metric_cals: unknown key. Did you mean 'metric_calls'?" in line


def test_an_unknown_flag_names_the_nearest(tmp_path: Path, capsys: Capture) -> None:
    assert "--policy" in mistake(capsys, "run", str(project(tmp_path)), "--polici", "full")


def test_a_missing_configuration_is_named(tmp_path: Path, capsys: Capture) -> None:
    project(tmp_path)
    line = mistake(capsys, "run", str(tmp_path / "rum.toml"))
    assert "rum.toml: expected a TOML file, found none. Did you mean 'run.toml'?" in line


def test_no_configuration_at_all_says_how_to_get_one(capsys: Capture) -> None:
    assert "flashevolve init prompt DIR" in mistake(capsys, "run")


def test_a_missing_data_file_is_named(tmp_path: Path, capsys: Capture) -> None:
    config = project(tmp_path)
    (tmp_path / "val.jsonl").unlink()
    assert "val.jsonl" in mistake(capsys, "run", str(config))


def test_a_malformed_line_is_named_with_its_file(tmp_path: Path, capsys: Capture) -> None:
    config = project(tmp_path)
    with (tmp_path / "train.jsonl").open("a") as file:
        file.write('{"input": \n')
    assert "train.jsonl, line 7: expected" in mistake(capsys, "run", str(config))


def test_duplicate_ids_are_named(tmp_path: Path, capsys: Capture) -> None:
    config = project(tmp_path)
    jsonl(tmp_path / "val.jsonl", [*rows("val", 2), *rows("val", 1)])
    assert "'val-0'" in mistake(capsys, "run", str(config))


def test_empty_data_is_refused(tmp_path: Path, capsys: Capture) -> None:
    config = project(tmp_path)
    jsonl(tmp_path / "train.jsonl", [])
    assert "train.jsonl" in mistake(capsys, "run", str(config))


def test_a_money_budget_without_a_price_is_refused(tmp_path: Path, capsys: Capture) -> None:
    config = project(tmp_path, base_url="https://models.example/v1")
    line = mistake(capsys, "run", str(config), "--usd", "5")
    assert "expected a known price for every model, found none for 'm'" in line


def test_no_budget_shows_three_examples(tmp_path: Path, capsys: Capture) -> None:
    line = mistake(capsys, "run", str(project(tmp_path, budget="")))
    assert all(f"--budget.{key}" in line for key in ("metric-calls", "usd", "seconds"))


def test_a_budget_too_small_says_the_minimum(tmp_path: Path, capsys: Capture) -> None:
    line = mistake(capsys, "run", str(project(tmp_path)), "--budget", "5")
    assert "expected at least 14" in line


def test_a_flag_that_takes_a_number_refuses_text(tmp_path: Path, capsys: Capture) -> None:
    line = mistake(capsys, "run", str(project(tmp_path)), "--seed", "one")
    assert line.startswith("error: --seed: expected a whole number")


def test_a_directory_of_another_configuration_is_refused(finished: Path, capsys: Capture) -> None:
    config = str(finished.parent / "run.toml")
    line = mistake(capsys, "run", config, "--run-dir", str(finished), "--seed", "7")
    assert "expected the configuration that this run was started with" in line
    assert "seed" in line


def test_a_first_step_that_fails_says_once_how_to_go_on(tmp_path: Path, capsys: Capture) -> None:
    with Endpoint(lambda received: status(503)) as endpoint:
        config = project(tmp_path, endpoint.base_url)
        arguments = ["--run-dir", str(tmp_path / "r"), "--limits.retries", "0"]
        assert invoke(["run", str(config), *arguments]) == 3
    (line,) = [x for x in capsys.readouterr().err.splitlines() if x.startswith("error: ")]
    assert line.endswith(f"Mend the cause, then: flashevolve resume {tmp_path / 'r'}")
    assert line.count("resume") == 1


def test_a_wrong_key_stops_the_run_with_one_line(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", CANARY)
    with Endpoint(reply, key="another") as endpoint:
        config = project(tmp_path, endpoint.base_url)
        arguments = ["--run-dir", str(tmp_path / "r"), "--model.key-env", "MY_KEY"]
        assert invoke(["run", str(config), *arguments]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert len([line for line in err.splitlines() if line.startswith("error: ")]) == 1
    assert "401" in err
    assert f"flashevolve resume {tmp_path / 'r'}" in err
    assert "MY_KEY" in err
    assert CANARY not in err
    assert "Traceback" not in err


def test_a_missing_key_is_one_line(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    config = project(tmp_path, "https://models.example/v1")
    arguments = ["--run-dir", str(tmp_path / "r"), "--model.key-env", "MY_KEY"]
    assert "variable MY_KEY is not set" in mistake(capsys, "run", str(config), *arguments)
    assert not (tmp_path / "r" / "run.sqlite").exists()


def test_json_is_one_object_with_everything_that_is_promised(
    tmp_path: Path, capsys: Capture
) -> None:
    with Endpoint(reply) as endpoint:
        config = project(tmp_path, endpoint.base_url)
        run_dir = tmp_path / "r"
        arguments = ["--policy", "guarded", "--seed", "1", "--run-dir", str(run_dir), "--json"]
        assert invoke(["run", str(config), *arguments, "--model.extra-body.top_k", "20"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["policy"] == "guarded"
    assert result["model"] == "m"
    assert result["simulated"] is False
    assert result["virtual_s"] is None
    assert result["best_score"] >= result["seed_score"]
    assert isinstance(result["test_score"], float)
    assert isinstance(result["seed_test_score"], float)
    assert list(result["best_artifact"]) == ["system"]
    counters = (
        "proposed screened swept admitted front best rejected discarded repaired skipped dropped "
        "failed"
    )
    assert set(counters.split()) <= result["counters"].keys()
    assert result["usage"].keys() == {"llm_calls", "tokens_in", "tokens_out", "cost_usd"}
    assert result["usage"]["llm_calls"] == len(endpoint.received)
    assert all(body["top_k"] == 20 for body in endpoint.bodies)
    assert f"new run in {run_dir}" in err
    assert "6 train, 4 val, 3 test" in err
    assert open_run(run_dir).state.started is not None


def test_a_seeded_split_is_shown(tmp_path: Path, capsys: Capture) -> None:
    jsonl(tmp_path / "all.jsonl", rows("q", 12))
    with Endpoint(reply) as endpoint:
        config = project(tmp_path, endpoint.base_url, data='[data]\npath = "all.jsonl"')
        assert invoke(["run", str(config), "--run-dir", str(tmp_path / "r")]) == 0
    assert "6 train, 3 val, 3 test (split with split_seed 0)" in capsys.readouterr().err


def test_a_finished_run_prints_its_result_again_and_spends_nothing(
    tmp_path: Path, capsys: Capture
) -> None:
    arguments = ["run", str(simulated(tmp_path)), "--run-dir", str(tmp_path / "r"), "--json"]
    assert invoke(arguments) == 0
    first = capsys.readouterr().out
    before = open_run(tmp_path / "r").state.t_s
    assert invoke(arguments) == 0
    assert capsys.readouterr().out == first
    assert open_run(tmp_path / "r").state.t_s == before


def test_a_finished_run_goes_on_with_more_budget(tmp_path: Path, capsys: Capture) -> None:
    run_dir = tmp_path / "r"
    arguments = ["run", str(simulated(tmp_path)), "--run-dir", str(run_dir), "--json"]
    assert invoke(arguments) == 0
    first = json.loads(capsys.readouterr().out)
    assert invoke(["resume", str(run_dir), "--budget", "200", "--json"]) == 0
    out, err = capsys.readouterr()
    second = json.loads(out)
    assert f"resuming the run in {run_dir}" in err
    assert first["spent"]["metric_calls"] <= 120 < second["spent"]["metric_calls"] <= 200
    assert second["run_id"] == first["run_id"]


def test_without_json_the_result_is_in_words_with_a_warning_when_simulated(
    tmp_path: Path, capsys: Capture
) -> None:
    assert invoke(["run", str(simulated(tmp_path)), "--run-dir", str(tmp_path / "r")]) == 0
    out = capsys.readouterr().out
    assert "simulated: a built-in reader answered" in out
    assert "4 examples" in out
    assert "3 examples" in out
    assert f"flashevolve best {tmp_path / 'r'}" in out


def test_a_key_that_expires_before_the_test_split_stops_with_one_line_and_can_go_on(
    tmp_path: Path, capsys: Capture
) -> None:
    expired = True

    def script(received: Received) -> Step:
        on_test = received.body["messages"][-1]["content"].startswith("test ")
        return status(401, "expired") if expired and on_test else reply(received)

    with Endpoint(script) as endpoint:
        config = project(tmp_path, endpoint.base_url)
        assert invoke(["run", str(config), "--run-dir", str(tmp_path / "r")]) == 3
        out, err = capsys.readouterr()
        assert out == ""
        assert "401" in next(line for line in err.splitlines() if line.startswith("error: "))
        expired = False
        assert invoke(["resume", str(tmp_path / "r"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test_score"] is not None


def test_the_help_lists_every_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"What evolves it: {', '.join(ALGORITHMS)}, or module:Class." in shown
