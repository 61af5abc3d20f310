"""The page of benchmarks, made from rows by hand."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

from flashevolve.bench.cell import append_row
from flashevolve.bench.suite import Options, suite
from tests.bench.made import a_row

ROOT = Path(__file__).parent.parent.parent
MAKE: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "make_benchmarks.py"))


def keep(folder: Path, name: str, seeds: int, **figures: Any) -> None:
    """Keeps a row for each of a suite's jobs, and one of a job that it has no more."""
    for job in suite(name).jobs(Options(seeds=seeds)):
        row = replace(a_row(job.arm.name, job.seed, **figures), key=job.key, group=job.group)
        append_row(folder / f"{name}.jsonl", row)
    append_row(folder / f"{name}.jsonl", replace(a_row("an old arm", 0), key="old"))


def test_one_table_of_targets_comes_first_then_findings_then_the_suites(tmp_path: Path) -> None:
    keep(tmp_path, "workers", 2, front_per_hour=9.0, front=20.0, share_of_ceiling=0.5)
    keep(tmp_path, "speculation", 2, front_per_hour=9.0, front=20.0)
    page = MAKE["page"](MAKE["reports"](tmp_path))
    order = ["## Targets of speed", "## Findings", "### In speculation", "### In workers"]
    order += ["## speculation", "## workers"]
    places = [page.index(f"\n{title}") for title in order]
    assert places == sorted(places)
    assert page.count("| what | asked for | aim | reached | ceiling | seeds | verdict |") == 1
    assert "default against" in page
    assert "| 1.00 x | 2.00 x | 2 | floor met |" in page
    assert "Fewer than 100 seeds because of cost: all arms 2." in page
    assert "an old arm" not in page


def test_rows_of_no_job_make_no_section(tmp_path: Path) -> None:
    append_row(tmp_path / "workers.jsonl", a_row("an old arm", 0))
    assert MAKE["reports"](tmp_path) == []
    assert "## workers" not in MAKE["page"]([])


def test_the_suite_of_real_clients_stands_beside_the_simulated_ones(tmp_path: Path) -> None:
    keep(tmp_path, "workers", 1, front_per_hour=9.0, front=20.0, share_of_ceiling=0.5)
    keep_measured(tmp_path, "gepa", 2)
    page = MAKE["page"](MAKE["reports"](tmp_path))
    assert "- MEASURED in real time, of real clients; the endpoint is simulated" in page
    assert "| gepa, sigma 1: faster to equal metric calls than gepa 8 x 8 |" in page
    assert "(images/bench-gepa-floor-dspy.svg)" in page


def keep_measured(folder: Path, name: str, seeds: int) -> None:
    """Keeps a row for each job of a suite of real clients, all of the same speed."""
    figures: dict[str, Any] = {
        "floor_s": 9.0, "share_of_floor": 0.9, "wall_s": 10.0, "metric_calls": 10.0,
        "overshoot": 0.0, "val": 0.5, "endpoint_cpu_share": 0.1, "cpu_s": 1.0,
    }  # fmt: skip
    ends = [float(i) for i in range(1, 11)]
    curves: dict[str, list[Any]] = {"ends": ends, "bests": [[5, 0.5]]}
    for job in suite(name).jobs(Options(seeds=seeds)):
        row = replace(a_row(job.arm.name, job.seed, **figures), curves=curves)
        append_row(folder / f"{name}.jsonl", replace(row, key=job.key, group=job.group))
