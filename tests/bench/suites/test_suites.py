"""Each suite at its smallest: jobs that resolve, rows that become a report."""

from dataclasses import replace

import pytest

from flashevolve.bench.cell import Row
from flashevolve.bench.execute import check, run_jobs
from flashevolve.bench.suite import Options, suite
from flashevolve.bench.suites.workers import FIXED, best_fixed
from tests.bench.made import a_row

OWN = ("evolution", "staleness", "speculation", "workers")


@pytest.mark.parametrize("name", OWN)
def test_all_arms_of_a_suite_can_run_and_are_told_apart(name: str) -> None:
    jobs = suite(name).jobs(Options(seeds=2))
    check(jobs)
    assert len({job.key for job in jobs}) == len(jobs)
    assert {job.seed for job in jobs} == {0, 1}
    assert any(job.arm.name == "sync" for job in jobs)


@pytest.mark.parametrize("name", OWN)
def test_quick_runs_in_seconds_and_reports(name: str) -> None:
    chosen = suite(name)
    rows = run_jobs(chosen.jobs(Options(seeds=1, quick=True)), n_processes=1)
    report = chosen.report(rows, f"flashevolve bench {name} --quick")
    assert rows[0].world in report.head[0]
    assert "PREDICTIONS" in report.head[0]
    arms = {row.arm for row in rows}
    assert arms <= {line[0] for table in report.tables for line in table.rows}
    assert report.figures


def test_the_best_fixed_setting_is_the_one_with_most_front_in_all() -> None:
    def row(arm: str, seed: int, front: float) -> Row:
        return replace(a_row(arm, seed), figures={"front_per_hour": front})

    few, many = FIXED[0].name, FIXED[1].name
    rows = [row(few, 0, 5), row(few, 1, 0), row(many, 0, 3), row(many, 1, 3), row("adaptive", 0, 9)]
    assert best_fixed(rows) == many
    assert best_fixed([row("adaptive", 0, 9)]) is None
