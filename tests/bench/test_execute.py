from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from flashevolve.bench import execute as executing
from flashevolve.bench import measure
from flashevolve.bench.cell import Arm, Cell, Job
from flashevolve.bench.execute import (
    RealModel,
    check,
    estimate_s,
    execute,
    merged,
    run_jobs,
)
from flashevolve.errors import ConfigError
from flashevolve.simulate.endpoint import Endpoint
from flashevolve.simulate.world import load_world
from tests.fakes.simulated import served

CELL = Cell(minutes=2.0, n_train=9, n_val=9, n_test=8, concurrency=8)
MEASURES = (measure.work, measure.fates, measure.quality, measure.backend, measure.null_gate)
ARM = Arm(name="full", settings={"policy": "full"})
JOB = Job(suite="t", arm=ARM, cell=CELL, seed=1, measures=MEASURES)


def test_later_trees_win_table_by_table() -> None:
    assert merged({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 3}, "b": {"z": 1}}) == {
        "a": {"x": 1, "y": 3},
        "b": {"z": 1},
    }


def test_a_job_gives_the_same_row_twice_and_says_whose_world_it_was() -> None:
    one, two = execute(JOB), execute(JOB)
    assert replace(one, cpu_s=0.0) == replace(two, cpu_s=0.0)
    assert one.simulated
    assert len(one.world) == 12
    assert one.figures["minutes"] == pytest.approx(2.0)
    assert (one.figures["calls"] or 0) > 9
    assert one.curves["curve"][0][4] == one.figures["seed_test"]


def test_arms_of_a_seed_start_from_the_same_score() -> None:
    sync = execute(replace(JOB, arm=Arm(name="sync", settings={"schedule": "sync"})))
    assert sync.figures["seed_test"] == execute(JOB).figures["seed_test"]
    assert sync.figures["gap"] == 0.0


def test_rows_that_are_there_are_not_made_again_and_come_in_order() -> None:
    jobs = [replace(JOB, seed=seed) for seed in (0, 1)]
    kept = execute(jobs[1])
    new: list[int] = []
    rows = run_jobs(jobs, n_processes=1, done=[kept], on_row=lambda row: new.append(row.seed))
    assert [row.seed for row in rows] == [0, 1]
    assert new == [0]
    assert rows[1] is kept


def test_a_worker_that_was_interrupted_starts_no_further_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[Job] = []
    monkeypatch.setattr(executing, "_stopped", Event())
    monkeypatch.setattr(executing, "execute", begun.append)
    executing._execute_unless_stopped(JOB)
    with pytest.raises(KeyboardInterrupt):
        executing._stop(2, None)
    with pytest.raises(KeyboardInterrupt):
        executing._execute_unless_stopped(JOB)
    assert begun == [JOB]


def test_rows_of_another_world_are_refused() -> None:
    old = replace(execute(JOB), world="other")
    with pytest.raises(ConfigError, match="one simulated world"):
        run_jobs([JOB, replace(JOB, seed=2)], n_processes=1, done=[old])


@pytest.mark.slow
def test_processes_give_what_one_process_gives() -> None:
    jobs = [replace(JOB, seed=seed) for seed in (0, 1, 2)]
    apart, alone = run_jobs(jobs, n_processes=2), run_jobs(jobs, n_processes=1)
    assert [replace(r, cpu_s=0.0) for r in apart] == [replace(r, cpu_s=0.0) for r in alone]


def test_mistakes_are_found_before_anything_runs() -> None:
    wrong = replace(JOB, arm=Arm(name="odd", settings={"polcy": "full"}))
    with pytest.raises(ConfigError, match=r"arm odd: polcy: unknown key. Did you mean 'policy'"):
        check([JOB, wrong])
    with pytest.raises(ConfigError, match=r"task: expected one of instructions, .*found 'other'"):
        check([replace(JOB, cell=replace(CELL, task="other"))])


def test_an_estimate_grows_with_the_work() -> None:
    sync = replace(JOB, arm=Arm(name="sync", settings={"schedule": "sync"}))
    assert 0 < estimate_s(sync) < estimate_s(replace(JOB, cell=replace(CELL, concurrency=64)))
    assert estimate_s(JOB) < estimate_s(replace(JOB, cell=replace(CELL, minutes=20.0)))
    assert estimate_s(replace(JOB, cell=replace(CELL, minutes=None, metric_calls=1000))) > 0.5


def test_the_same_job_runs_on_an_endpoint_in_a_directory_of_its_own(tmp_path: Path) -> None:
    job = replace(JOB, cell=replace(CELL, minutes=None, metric_calls=40))
    endpoint = Endpoint.from_preset("h100-qwen3-8b", world=load_world(), seed=0)
    with served(endpoint, time_scale=2000.0) as base_url:
        real = RealModel(name="h100-qwen3-8b", base_url=base_url, run_root=tmp_path)
        check([job], real)
        (row,) = run_jobs([job], real=real)
        again = run_jobs([job], real=real)
    assert row.model == "h100-qwen3-8b"
    # The endpoint says which world it is: answers in real time, and a prediction all the same.
    assert (row.simulated, row.world) == (True, load_world().hash)
    assert row.figures["seed_test"] is not None
    assert row.figures["metric_calls"] == again[0].figures["metric_calls"]
    assert [path.name for path in tmp_path.iterdir()] == ["t-full-1"]


def test_a_simulated_model_is_no_real_one(tmp_path: Path) -> None:
    real = RealModel(name="sim/h100-qwen3-8b", base_url=None, run_root=tmp_path)
    with pytest.raises(ConfigError, match="--model: expected a real model, found 'sim/h100-qwen3"):
        run_jobs([JOB], real=real)
