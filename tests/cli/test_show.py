import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

import flashevolve as fe
from flashevolve.cli.main import invoke
from flashevolve.cli.show import _ends, in_words, tell
from flashevolve.rundir import read_result
from tests.fakes.small import DATA

Capture = pytest.CaptureFixture[str]


def test_the_story_agrees_with_the_result(finished: Path) -> None:
    story = tell(finished)
    result = read_result(finished)
    assert result is not None
    assert {key: story["result"][key] for key in result if key != "run_dir"} == {
        key: value for key, value in result.items() if key != "run_dir"
    }
    assert story["examples"] == {"train": 6, "val": 4, "test": 3}
    assert len(story["admitted"]) == result["counters"]["admitted"]
    assert story["admitted"][0]["source"] == "seed"
    ended = {row["outcome"]: row["n"] for row in story["ended"]}
    assert ended == {k: v for k, v in story["conservation"].items() if v and k != "created"}
    assert story["conservation"]["created"] == sum(ended.values())


def test_without_a_directory_it_tells_of_the_run_that_was_written_last(
    finished: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["show"]) == 2
    assert "runs: expected a run, found none. Name its directory" in capsys.readouterr().err
    for name, at_s in (("a", 2e9), ("b", 1e9)):
        shutil.copytree(finished, tmp_path / "runs" / name)
        os.utime(tmp_path / "runs" / name / "run.sqlite", (at_s, at_s))
    assert invoke(["show"]) == 0
    assert f"in {Path('runs', 'a')}: finished" in capsys.readouterr().out


def test_it_says_what_happened_in_words(finished: Path, capsys: Capture) -> None:
    assert invoke(["show", str(finished)]) == 0
    out = capsys.readouterr().out
    for part in (
        "finished",
        "data: 6 train, 4 val, 3 test",
        "simulated: a built-in reader answered",
        "the budget of metric calls is spent",
        "admitted candidates",
        "share of time",
        "usage by role",
        "created = ",
    ):
        assert part in out


def test_shares_of_time_add_up(finished: Path) -> None:
    stages = tell(finished)["stages"]
    lines = in_words(tell(finished))
    shares = [int(line.split(" %")[0].split()[-1]) for line in lines if " %" in line]
    assert len(shares) == len(stages)
    assert sum(shares) == pytest.approx(100, abs=len(shares))


def test_json_is_one_object(finished: Path, capsys: Capture) -> None:
    assert invoke(["show", str(finished), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["config"]["policy"] == "reflective"


def test_reasons_that_differ_in_numbers_only_count_once() -> None:
    reasons = {"1.0 <= 2.5 on 3 examples": 2, "0 <= 1 on 3 examples": 1}
    ends = Counter({("rejected", reason): n for reason, n in reasons.items()})
    (row,) = _ends(ends)
    assert row == {"outcome": "rejected", "n": 3, "reasons": {"# <= # on # examples": 3}}


def test_children_of_one_transaction_are_told_each_with_its_own_marks(
    tmp_path: Path, capsys: Capture
) -> None:
    result = fe.optimize(
        seed={"system": "Follow the instructions."},
        **DATA,
        run=lambda artifact, example: artifact["system"],
        score=lambda example, output: (min(1.0, len(output) / 1000), "The title is missing."),
        algorithm=fe.GEPA(proposals=4),
        models="sim/h100-qwen3-8b",
        budget=fe.Budget(metric_calls=150),
        concurrency=8,
        id_field="key",
        run_dir=tmp_path / "run",
    )
    told = tell(result.run_dir)["admitted"]
    assert max(Counter(entry["ticket"] for entry in told).values()) > 1, "it admits several at once"
    best = told[0]["score"]
    for entry in told[1:]:
        better = ["front", "best"] if entry["score"] > best else []
        assert entry["marks"] == better, "every example scores alike"
        best = max(best, entry["score"])
    marks = [entry["marks"] for entry in told[1:]]
    assert [] in marks
    assert ["front", "best"] in marks
    assert invoke(["show", str(result.run_dir)]) == 0
    lines = capsys.readouterr().out.splitlines()
    timeline = lines[lines.index("admitted candidates") + 2 :][: len(told)]
    assert ["best" in line for line in timeline] == ["best" in entry["marks"] for entry in told]
    assert not [line for line in timeline if "admitted" in line]


def test_a_directory_without_a_run_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    assert invoke(["show", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"no run in {tmp_path}" in line
