import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Any
from zlib import crc32

import pytest

import flashevolve as fe
from flashevolve import events as ev
from flashevolve.result import result_of
from flashevolve.rundir import open_run, read_records, read_result
from flashevolve.workloads.instructions import generate


def test_where_nothing_was_admitted_the_result_says_so_in_place_of_a_test_score(
    tmp_path: Path,
) -> None:
    result = fe.optimize(
        seed={"system": "Answer."},
        train=[{"input": "one"}],
        val=[{"input": "two"}],
        test=[{"input": "three"}],
        run=lambda artifact, example, ctx: ctx.chat("task", example["input"]).text,
        score=lambda example, output: 0.5,
        metered=True,
        models="sim/h100-qwen3-8b",
        budget=fe.Budget(tokens=9),
        run_dir=tmp_path / "run",
    )
    assert result.reason == "tokens"
    assert result.test_score is None
    assert result.test_reason == "not scored: nothing was admitted"
    assert result.test_gain is None
    assert result.to_json()["test_gain"] is None


DATA: dict[str, Any] = dict(generate(seed=3, n_train=12, n_val=6, n_test=12))


def longer_is_better(example: Mapping[str, Any], output: str) -> tuple[float, str]:
    """Scores by the length of the prompt, more on some examples, whatever the reader writes."""
    weight = 0.5 + crc32(example["prompt"].encode()) % 5 / 10
    return min(1.0, len(output) / 1000) * weight, "The title is missing."


OPTIONS: Mapping[str, Any] = {
    "seed": {"system": "Follow the instructions."},
    "train": DATA["train"],
    "val": DATA["val"],
    "run": lambda artifact, example: artifact["system"],
    "score": longer_is_better,
    "id_field": "key",
    "models": "sim/h100-qwen3-8b",
    "concurrency": 8,
}
WAIT_S = 30.0


def evolved(run_dir: Path, n_test: int = 12, **options: Any) -> fe.Result:
    options = {**OPTIONS, "budget": fe.Budget(metric_calls=250), **options}
    return fe.optimize(**options, test=DATA["test"][:n_test], run_dir=run_dir)


def test_the_gain_on_test_is_what_the_recorded_scores_say(tmp_path: Path) -> None:
    result = evolved(tmp_path / "run", replicas=2)
    assert result.replicas == 2
    assert len(result.test_differences) == 12
    outcomes = [
        r.event for r in read_records(result.run_dir) if isinstance(r.event, ev.OutcomeRecorded)
    ]
    means = {
        artifact: fmean(o.score for o in outcomes if (o.artifact, o.split) == (artifact, "test"))
        for artifact in {o.artifact for o in outcomes if o.split == "test"}
    }
    assert sum(o.split == "test" for o in outcomes) == 2 * 2 * 12
    gain, seed = result.test_gain, fe.Artifact(open_run(result.run_dir).started.artifact)
    assert gain is not None
    assert result.best != seed
    assert gain.mean == pytest.approx(means[result.best.hash] - means[seed.hash])
    assert gain.mean == pytest.approx(result.test_score - result.seed_test_score)  # type: ignore[operator]
    assert gain.low is not None
    assert gain.high is not None
    assert gain.low <= gain.mean <= gain.high
    told = read_result(result.run_dir)
    assert told is not None
    assert told["test_gain"] == {
        "mean": gain.mean, "low": gain.low, "high": gain.high, "n": 12, "reason": ""
    }  # fmt: skip


def test_a_result_that_is_read_again_tells_the_same_gain(tmp_path: Path) -> None:
    first = evolved(tmp_path / "run")
    assert evolved(tmp_path / "run").test_gain == first.test_gain is not None


def test_a_run_that_went_on_compares_its_last_best_with_the_seed(tmp_path: Path) -> None:
    evolved(tmp_path / "run", budget=fe.Budget(metric_calls=40))
    result = evolved(tmp_path / "run", budget=fe.Budget(metric_calls=250))
    gain = result.test_gain
    assert gain is not None
    assert gain.mean == pytest.approx(result.test_score - result.seed_test_score)  # type: ignore[operator]


def test_with_few_test_examples_the_result_says_so_in_place_of_an_interval(tmp_path: Path) -> None:
    gain = evolved(tmp_path / "run", n_test=4).test_gain
    assert gain is not None
    assert (gain.low, gain.n) == (None, 4)
    assert gain.reason == "4 examples are too few for an interval, which needs 10"


def test_a_snapshot_of_an_older_version_costs_no_gain(tmp_path: Path) -> None:
    gain = evolved(tmp_path / "run").test_gain
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as store, store:
        changed = store.execute("UPDATE snapshots SET state = json_remove(state, '$.test_scores')")
        assert changed.rowcount > 0
    state = open_run(tmp_path / "run").state
    assert result_of(state, tmp_path / "run", "", None).test_gain == gain is not None


def gone_on_until_better(run_dir: Path) -> fe.Result:
    """A finished run, taken up with more budget and stopped as soon as there is a new best."""
    done = evolved(run_dir, budget=fe.Budget(metric_calls=40))
    assert done.test_score is not None
    runs: list[fe.Run] = []
    go_on = threading.Event()

    def score(example: Mapping[str, Any], output: str) -> tuple[float, str]:
        assert go_on.wait(WAIT_S)
        if runs[0].best() != done.best:
            runs[0].stop()
        return longer_is_better(example, output)

    options = {**OPTIONS, "score": score, "budget": fe.Budget(metric_calls=2000)}
    runs.append(fe.start(**options, test=DATA["test"], run_dir=run_dir))
    go_on.set()
    return runs[0].result()


def test_an_older_bests_test_score_is_not_told_of_a_best_that_was_never_scored(
    tmp_path: Path,
) -> None:
    result = gone_on_until_better(tmp_path / "run")
    assert result.reason == "stop"
    assert open_run(result.run_dir).state.tests["best"].mean is not None
    assert (result.test_score, result.test_gain) == (None, None)
    assert result.seed_test_score is not None
    expected = "the best has changed since it was scored; resume the run to its end"
    assert result.test_reason == expected
