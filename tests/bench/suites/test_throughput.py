from dataclasses import replace
from typing import Any

import pytest

from flashevolve.bench.cell import Row
from flashevolve.bench.execute import check, execute, run_jobs
from flashevolve.bench.prediction import group_of
from flashevolve.bench.published import GEPA_TABLE, SHAPES, TOKENS_UNUSABLE
from flashevolve.bench.suite import Options, suite
from flashevolve.bench.suites import throughput
from flashevolve.bench.suites.common import SYNC
from flashevolve.bench.suites.throughput import (
    BATCHED,
    DEFAULT,
    LARGEST_C,
    PROPOSALS,
    ceiling_of,
    geometric,
    main_group,
    targets,
)
from tests.bench.made import a_row

PRESET = "h100-qwen3-8b"


def made(shape: str, arm: str, seed: int, rate: float, share: float, sweeps: float = 0.1) -> Row:
    figures: dict[str, Any] = {
        "steady_proposed_per_min": rate,
        "steady_swept_per_min": sweeps,
        "steady_tokens_out_per_s": 100.0,
        "share_of_ceiling": share,
    }
    return replace(a_row(arm, seed, **figures), group=main_group(PRESET, shape), suite="throughput")


def some(speed: float, best: float = 2.0) -> list[Row]:
    """Rows in which default is `speed` times as fast as sync, which reaches a fifth of its calls'
    ceiling, and the best batched setting `best` times, at half of its own."""
    rows = []
    for shape in SHAPES:
        for seed in range(5):
            rows += [
                made(shape, SYNC.name, seed, 2.0, 0.2),
                made(shape, BATCHED[0].name, seed, 1.0, 0.4),
                made(shape, BATCHED[1].name, seed, 2.0 * best, 0.5, 0.1 * best),
                made(shape, DEFAULT.name, seed, 2.0 * speed, 0.9, 0.1 * speed),
            ]
    return rows


def test_all_arms_can_run_and_are_told_apart() -> None:
    jobs = throughput.jobs(Options(seeds=1))
    check({job.arm.name: job for job in jobs}.values())
    assert len({job.key for job in jobs}) == len(jobs)
    main = [job for job in jobs if job.group in {main_group(PRESET, s) for s in SHAPES}]
    assert {job.cell.concurrency for job in main} == {68, 24, 42, 99}
    clients = {job.cell.concurrency for job in jobs if job.group == group_of("aime")}
    assert clients == {27}


def test_an_own_backend_gets_its_own_largest_c_and_no_prediction() -> None:
    jobs = throughput.jobs(Options(seeds=1, quick=True, preset="hosted-api"))
    assert {job.cell.preset for job in jobs} == {"hosted-api"}
    assert {job.cell.concurrency for job in jobs} == set(LARGEST_C["hosted-api"].values())


def test_a_batch_has_at_most_as_many_parts_as_requests_in_flight() -> None:
    jobs = throughput.jobs(Options(seeds=1))
    kept = {(j.group, j.arm.name) for j in jobs if j.arm in throughput.GRID}
    assert (main_group(PRESET, "hotpotqa"), "4 x 4") in kept
    assert (main_group(PRESET, "hotpotqa"), "8 x 8") not in kept
    assert (main_group("hosted-api", "hotpotqa"), "8 x 8") in kept
    assert (main_group("hosted-api", "hotpotqa"), "16 x 8") not in kept
    assert (main_group("hosted-api", "aime"), "16 x 8") in kept


def test_a_third_of_the_seeds_takes_part_in_the_sweeps() -> None:
    jobs = throughput.jobs(Options(seeds=6))
    assert {j.seed for j in jobs if j.group.startswith("C, ")} == {0, 1}
    assert {j.arm.name for j in jobs if j.group.startswith("N_val, ")} == {"sync", "default"}


def test_quick_runs_in_seconds_and_reports() -> None:
    jobs = suite("throughput").jobs(Options(seeds=1, quick=True))
    rows = run_jobs(jobs, n_processes=1)
    report = throughput.report(rows, "flashevolve bench throughput --quick")
    assert "PREDICTIONS" in report.head[0]
    assert rows[0].model == "sim/h100-qwen3-8b/ifbench"
    titles = [table.title for table in report.tables]
    assert titles[-2:] == ["Closure of the shapes", "Combee with the baseline's client"]
    assert len(report.tables[-1].rows) == 8
    assert any("work-conserving" in line for line in report.findings)


def test_a_speed_is_the_geometric_mean_of_the_shapes() -> None:
    rows = [row for row in some(3.0) if row.group != main_group(PRESET, "aime")]
    rows += [made("aime", SYNC.name, 0, 1.0, 0.2), made("aime", DEFAULT.name, 0, 48.0, 0.9)]
    found = geometric([r for r in rows if r.seed == 0], PRESET, DEFAULT.name, SYNC.name, PROPOSALS)
    assert found is not None
    assert found.value == pytest.approx((3 * 3 * 3 * 48) ** 0.25)
    assert ceiling_of(rows, PRESET, SYNC.name) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("speed", "verdict"), [(3.0, "MISSED"), (3.6, "holds"), (4.9, "holds, and the aim too")]
)
def test_a_target_is_judged_by_the_lower_of_floor_and_ceiling(speed: float, verdict: str) -> None:
    first = targets(some(speed), PRESET)[0]
    assert f"default is {speed:.2f} [{speed:.2f}, {speed:.2f}] x sync" in first
    assert "floor 3.50, aim 4.75; sync's ceiling 5.00" in first
    assert first.endswith(f": {verdict}")


def test_the_best_batched_setting_is_chosen_with_hindsight() -> None:
    lines = [line for line in targets(some(4.0), PRESET) if "the best of P x N" in line]
    assert len(lines) == 2
    assert all(f"2.00 [2.00, 2.00] x {BATCHED[1].name}" in line for line in lines)
    assert all("ceiling 2.00; floor 1.60" in line and line.endswith("holds") for line in lines)


def test_a_shape_without_sweeps_is_left_out_of_their_mean() -> None:
    rows = [
        replace(r, figures={**r.figures, "steady_swept_per_min": 0.0})
        if r.group == main_group(PRESET, "aime") and r.arm == SYNC.name
        else r
        for r in some(4.0)
    ]
    found = geometric(rows, PRESET, DEFAULT.name, SYNC.name, throughput.SWEEPS)
    assert found is not None
    assert found.value == pytest.approx(4.0)
    table = throughput.report(rows, "again").tables[1]
    assert any("-" in line for line in table.rows)


def test_a_report_without_the_prediction_warns() -> None:
    (warning,) = throughput.report(some(4.0), "again").warnings
    assert "was not made in this world" in warning


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_engines_own_sync_closes_on_the_published_baseline(shape: str) -> None:
    """Proposals a minute with the baseline's client, which the shapes were solved from."""
    jobs = throughput.jobs(Options(seeds=1))
    (job,) = (j for j in jobs if j.group == group_of(shape) and j.arm == SYNC)
    figures = execute(job).figures
    published = GEPA_TABLE[shape]
    found = figures["steady_proposed_per_min"] or 0.0
    assert found == pytest.approx(published.proposals_per_min, rel=0.15)
    if shape not in TOKENS_UNUSABLE:
        # Few sweeps fall into forty minutes, and they are most of the tokens.
        tokens_per_s = figures["steady_tokens_out_per_s"] or 0.0
        assert tokens_per_s == pytest.approx(published.tokens_per_s, rel=0.35)
