from dataclasses import replace

import pytest

from flashevolve.bench.execute import check, estimate_s, run_jobs
from flashevolve.bench.stats import LEAST_SEEDS
from flashevolve.bench.suite import Options, check_needs, suite
from flashevolve.bench.suites.gepa import GEPA_GRID, METRIC_CALLS, SIGMAS
from flashevolve.bench.suites.gepa_report import (
    DSPY_FAMILY,
    GEPA_FAMILY,
    LONGER,
    OURS,
    group_of,
)
from flashevolve.errors import ConfigError


def test_every_client_runs_at_every_spread_and_the_grid_on_one_seed_in_five() -> None:
    chosen = suite("gepa")
    jobs = chosen.jobs(Options(seeds=6))
    check(jobs)
    check_needs(chosen)
    assert len({job.key for job in jobs}) == len(jobs)
    assert {job.group for job in jobs} == {
        group_of(family, sigma, times)
        for family, times in ((GEPA_FAMILY, 1), (DSPY_FAMILY, 1), (GEPA_FAMILY, LONGER))
        for sigma in SIGMAS
    }
    usual = [job for job in jobs if "long" not in job.group and job.group[:4] == GEPA_FAMILY]
    seeds = {arm.name: {job.seed for job in usual if job.arm.name == arm.name} for arm in GEPA_GRID}
    everywhere = {0, 1, 2, 3, 4, 5}
    assert {name for name, ran in seeds.items() if ran == everywhere} == {
        "gepa 8 x 8", "gepa 16 x 8"
    }  # fmt: skip
    assert {name for name, ran in seeds.items() if ran == {0, 5}} == {
        "gepa 1 x 1", "gepa 2 x 2", "gepa 4 x 4", "gepa 8 x 4", "gepa 16 x 1", "gepa 16 x 16"
    }  # fmt: skip
    for name in seeds:
        spreads = {job.group for job in usual if job.arm.name == name}
        assert len(spreads) == (1 if name == "gepa 1 x 1" else len(SIGMAS))
    assert all({"means_s", "sigma"} == job.cell.settings["endpoint"].keys() for job in jobs)


def test_a_longer_run_shows_ours_and_one_peer_on_one_seed_in_five() -> None:
    jobs = [job for job in suite("gepa").jobs(Options(seeds=5)) if "long" in job.group]
    assert {(job.arm.name, job.seed) for job in jobs} == {(OURS, 0), ("gepa 8 x 8", 0)}
    assert {job.cell.metric_calls for job in jobs} == {LONGER * METRIC_CALLS[GEPA_FAMILY]}


def test_the_default_gives_intervals_and_fits_in_half_an_hour() -> None:
    chosen = suite("gepa")
    assert chosen.seeds >= LEAST_SEEDS
    jobs = chosen.jobs(Options(seeds=chosen.seeds))
    assert sum(map(estimate_s, jobs)) / (chosen.at_once or 1) <= 27 * 60
    assert {job.seed for job in jobs if job.group == group_of(DSPY_FAMILY, 1.0)} == {0, 1, 2}


def test_quick_asks_for_no_package_that_it_does_not_run() -> None:
    chosen = suite("gepa")
    absent = replace(chosen, needs={**chosen.needs, "no_such_package": "dspy"})
    check_needs(absent, quick=True)
    with pytest.raises(ConfigError, match="expected the package no_such_package"):
        check_needs(absent)
    # A suite that says nothing of its quick jobs asks for all.
    with pytest.raises(ConfigError, match="expected the package no_such_package"):
        check_needs(replace(absent, quick_needs=None), quick=True)


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
    assert told.verdicts == ()  # one seed of a tiny cell decides nothing


def test_a_client_that_fails_names_its_arm_and_its_last_line() -> None:
    from flashevolve.bench.cell import Arm

    (job, *_) = suite("gepa").jobs(Options(seeds=1, quick=True))
    broken = replace(
        job, cell=replace(job.cell, n_val=-1), arm=Arm(name="a", settings=job.arm.settings)
    )
    with pytest.raises(ConfigError, match="bench gepa, arm a, seed 0: expected the client to end"):
        run_jobs([broken])
