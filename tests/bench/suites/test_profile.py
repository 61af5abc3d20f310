from typing import Any

from flashevolve.bench.execute import check, run_jobs
from flashevolve.bench.suite import Options, suite
from flashevolve.bench.suites import profile
from tests.bench.made import a_row


def test_every_algorithm_runs_sync_and_async() -> None:
    jobs = suite("profile").jobs(Options(seeds=1))
    check(jobs)
    names = [job.arm.name for job in jobs]
    all_names = [*profile.ALGORITHMS, profile.OWN_LENGTHS]
    assert names == [f"{a}, {way}" for a in all_names for way in ("sync", "async")]
    assert {job.cell.task for job in jobs} == {"shape-ifbench", "instructions"}


def test_quick_runs_in_seconds_and_reports() -> None:
    rows = run_jobs(suite("profile").jobs(Options(seeds=1, quick=True)), n_processes=1)
    report = suite("profile").report(rows, "flashevolve bench profile --quick")
    assert rows[0].world in report.head[0]
    figure = report.figures[0]
    assert [line.label for line in figure.lines] == ["GEPA, sync", "GEPA, async"]
    for made in rows:
        shares = [v for k, v in made.figures.items() if k.startswith("share_") and v is not None]
        assert abs(sum(shares) - 1) < 1e-5


def test_published_figures_stand_beside_ours_and_are_called_published() -> None:
    figures: dict[str, Any] = {"share_propose": 0.25, "whole_share_propose": 0.2, "mean_all": 650.0}
    rows = [a_row("GEPA, sync", 0, minutes=30.0, **figures)]
    report = suite("profile").report(rows, "command")
    shares = report.tables[0]
    assert shares.rows[0] == ("GEPA, sync", "20")
    assert ("paper: GEPA, sync", "8 / 10 / 82") in shares.rows
    assert "published (Figure 2), measured on real hardware" in shares.notes[0]
    assert report.tables[2].rows[-1][:3] == ("paper: all", "-", "699")
