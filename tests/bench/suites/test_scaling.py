from dataclasses import replace

import pytest

from flashevolve.bench.cell import Row
from flashevolve.bench.execute import check, run_jobs
from flashevolve.bench.suite import Options, suite
from flashevolve.bench.suites import scaling
from tests.bench.made import a_row


def row(n: int, tokens_per_s: float, engine_ms: float = 0.42, test: float = 0.5) -> Row:
    made = a_row(str(n), 0, test=test, tokens_out_per_s=tokens_per_s, engine_ms=engine_ms)
    return replace(made, figures={**made.figures, "calls_per_s": tokens_per_s / 700})


def test_each_number_of_replicas_has_its_backend_and_limit() -> None:
    jobs = suite("scaling").jobs(Options(seeds=2))
    check(jobs)
    assert len({job.key for job in jobs}) == len(jobs) == 2 * len(scaling.REPLICAS) - 3
    assert max(int(job.arm.name) for job in jobs if job.seed == 1) == scaling.SMALL
    assert all(job.arm.settings == {} for job in jobs)
    last = jobs[len(scaling.REPLICAS) - 1]
    assert last.cell.preset == "h100-qwen3-8b*128"
    assert last.cell.concurrency == 64 * 128


def test_quick_runs_in_seconds_and_reports() -> None:
    jobs = suite("scaling").jobs(Options(seeds=1, quick=True))
    rows = run_jobs(jobs, n_processes=1)
    report = suite("scaling").report(rows, "flashevolve bench scaling --quick")
    assert [line[0] for line in report.tables[0].rows] == ["1", "2"]
    assert "PREDICTIONS" in report.head[0]
    for made in rows:
        used, busy = made.figures["utilisation"], made.figures["engine_ms"]
        assert used is not None
        assert 0 < used < 1
        assert busy is not None
        assert busy > 0
        assert made.figures["share_of_ceiling"]


def test_what_is_kept_is_throughput_per_replica_against_one() -> None:
    rows = scaling.with_kept([row(1, 5000), row(4, 18000), row(64, 160000)])
    assert [r.figures["kept"] for r in rows] == [1.0, 0.9, 0.5]
    assert all("kept" not in r.figures for r in scaling.with_kept([row(4, 18000)]))


def test_the_target_is_what_one_replica_ended_with() -> None:
    rows = scaling.with_kept([row(1, 5000, test=0.5), row(4, 18000, test=0.4)])
    assert [r.figures["reached"] for r in rows] == [1.0, 0.0]
    assert [r.figures["target_min"] for r in rows] == [5.0, 10.0]


def test_the_limit_lies_where_all_calls_fill_one_core() -> None:
    rows = scaling.with_kept([row(1, 7000), row(4, 27000), row(64, 200000)])
    kept, limit = scaling.limits(rows)
    assert "at 1, 4 replicas (of 1, 4, 64)" in kept
    # 0.42 and 0.58 ms make a thousand calls a second; one replica answers ten.
    assert "1.00 ms of CPU (0.42 measured, 0.58 for the client)" in limit
    assert "1000 calls/s, which 100 replicas" in limit


def test_each_number_of_replicas_has_its_verdict_up_to_the_limit() -> None:
    rows = scaling.with_kept([row(1, 7000), row(4, 27000), row(64, 200000), row(128, 500000)])
    found = scaling.verdicts(rows)
    assert [v.what.partition(":")[0] for v in found] == [
        "4 replicas",
        "64 replicas",
        "128 replicas",
    ]
    assert [v.verdict for v in found] == ["floor met", "MISSED", "beyond the limit"]
    assert {v.ceiling for v in found} == {"1000 calls/s, 100 replicas"}


def test_without_one_replica_there_is_nothing_to_compare() -> None:
    assert scaling.limits(scaling.with_kept([row(4, 27000)])) == []
    assert scaling.verdicts(scaling.with_kept([row(4, 27000)])) == []


def test_rows_of_a_real_endpoint_are_told_by_what_they_have() -> None:
    real = [
        replace(a_row(str(n), 0, world="", tokens_out_per_s=9.0 * n, gap=1.0), simulated=False)
        for n in (1, 2)
    ]
    report = suite("scaling").report(real, "command")
    assert "Measured on a real endpoint" in report.head[0]
    assert report.tables[0].rows[1][:3] == ("2", "-", "100")
    assert report.figures == ()


@pytest.mark.parametrize("preset", ["h100-qwen3-8b", "h100-qwen3-8b*3"])
def test_another_preset_is_scaled_from_one(preset: str) -> None:
    jobs = suite("scaling").jobs(Options(seeds=1, preset=preset))
    assert [job.cell.preset for job in jobs[:2]] == ["h100-qwen3-8b*1", "h100-qwen3-8b*2"]
