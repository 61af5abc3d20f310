import pytest

from flashevolve.bench.execute import check, estimate_s, run_jobs
from flashevolve.bench.suite import Options, check_needs, suite
from flashevolve.bench.suites.gepa_report import DSPY_FAMILY, GEPA_FAMILY, OURS


def test_every_client_runs_at_every_spread_and_the_slow_ones_on_fewer_seeds() -> None:
    chosen = suite("gepa")
    jobs = chosen.jobs(Options(seeds=3))
    check(jobs)
    check_needs(chosen)
    assert len({job.key for job in jobs}) == len(jobs)
    assert {job.group for job in jobs} == {
        f"{family}, sigma {sigma}"
        for family in (GEPA_FAMILY, DSPY_FAMILY)
        for sigma in ["0", "0.5", "1"]
    }
    by_arm = {job.arm.name: [j for j in jobs if j.arm.name == job.arm.name] for job in jobs}
    assert {job.seed for job in by_arm[OURS]} == {0, 1, 2}
    assert [(job.seed, job.group) for job in by_arm["gepa 1 x 1"]] == [(0, "gepa, sigma 0.5")]
    assert all({"means_s", "sigma"} == job.cell.settings["endpoint"].keys() for job in jobs)


def test_three_seeds_take_twelve_minutes() -> None:
    chosen = suite("gepa")
    jobs = chosen.jobs(Options(seeds=3))
    assert sum(map(estimate_s, jobs)) / (chosen.at_once or 1) <= 12.5 * 60


def test_quick_runs_in_seconds_and_reports() -> None:
    chosen = suite("gepa")
    rows = run_jobs(chosen.jobs(Options(seeds=1, quick=True)), n_processes=1)
    assert all(row.simulated and row.world for row in rows)
    for row in rows:
        figures = row.figures
        assert figures["metric_calls"]
        assert figures["reflections"]
        assert 0 < (figures["share_of_floor"] or 0) <= 1
        assert (figures["cpu_s"] or 0) > 0
        assert len(row.curves["ends"]) == figures["metric_calls"]
        assert 0 < (figures["test"] or 0) <= 1
    told = chosen.report(rows, "again")
    assert told.head[0].startswith("MEASURED in real time")
    assert told.tables[0].rows[0][1] == "gepa 4 x 4"
    assert told.figures


def test_a_client_that_fails_names_its_arm_and_its_last_line() -> None:
    from dataclasses import replace

    from flashevolve.bench.cell import Arm
    from flashevolve.errors import ConfigError

    (job, *_) = suite("gepa").jobs(Options(seeds=1, quick=True))
    broken = replace(
        job, cell=replace(job.cell, n_val=-1), arm=Arm(name="a", settings=job.arm.settings)
    )
    with pytest.raises(ConfigError, match="bench gepa, arm a, seed 0: expected the client to end"):
        run_jobs([broken])
