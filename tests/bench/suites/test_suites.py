"""Each suite at its smallest: jobs that resolve, rows that become a report."""

import pytest

from flashevolve.bench.cell import Row
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
    assert [arm for arm in arms if not occurred(name, [r for r in rows if r.arm == arm])] == []


SLOW = ("sync", "Combee", "P x N", "K1=K3=1")
"""One step at a time, or in large ones: within seconds there may be no second sweep."""
REPAIRING = ("reflective", "regenerate", "no history", "shuffled history", "batched repair")


def occurred(name: str, rows: list[Row]) -> bool:
    """Whether some row of an arm shows what the arm differs in."""
    arm = rows[0].arm

    def most(figure: str) -> float:
        return max(row.figures.get(figure) or 0.0 for row in rows)

    if arm.startswith(SLOW):
        return most("calls") > 0
    if name == "speculation" and arm == "a=.5, demote":
        return most("foretold") > 0
    if name == "staleness" and arm in REPAIRING:
        return most("repaired_share") > 0
    return most("swept") > 0 and (name != "evolution" or most("front") > 0)


def test_quick_keeps_the_two_batches_of_combee_apart() -> None:
    jobs = suite("evolution").jobs(Options(seeds=1, quick=True))
    batches = [job for job in jobs if job.arm.name in ("Combee 10", "Combee 40")]
    assert len(batches) == 2
    assert all(job.cell.n_train >= 40 for job in batches)
