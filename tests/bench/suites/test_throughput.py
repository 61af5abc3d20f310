import pytest

from flashevolve.bench.execute import check, execute, run_jobs
from flashevolve.bench.prediction import group_of
from flashevolve.bench.published import GEPA_TABLE, SHAPES, TOKENS_UNUSABLE
from flashevolve.bench.suite import Options, suite
from flashevolve.bench.suites import throughput
from flashevolve.bench.suites.common import SYNC
from flashevolve.bench.suites.throughput import LARGEST_C
from flashevolve.bench.suites.throughput_report import main_group, report

PRESET = "h100-qwen3-8b"


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
    made = report(rows, "flashevolve bench throughput --quick")
    assert "PREDICTIONS" in made.head[0]
    assert rows[0].model == "sim/h100-qwen3-8b/ifbench"
    titles = [table.title for table in made.tables]
    assert titles[-2:] == ["Closure of the shapes", "Combee with the baseline's client"]
    assert len(made.tables[-1].rows) == 8
    assert any("work-conserving" in verdict.what for verdict in made.verdicts)
    assert [figure.name for figure in made.figures] == [
        "bench-throughput-rates-h100-qwen3-8b",
        "bench-throughput-ceiling-h100-qwen3-8b",
    ]


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
