"""Each suite at its smallest: jobs that resolve, rows that become a report."""

import pytest

from flashevolve.bench.execute import check, run_jobs
from flashevolve.bench.suite import Options, suite

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
