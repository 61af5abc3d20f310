from dataclasses import replace

from flashevolve.bench.cell import Arm, Cell, Job
from flashevolve.bench.current import current, seeds_of
from flashevolve.bench.report import Report
from flashevolve.bench.suite import Options, Suite
from tests.bench.made import a_row


def jobs(options: Options) -> list[Job]:
    """One job a seed; quick ones have another cell."""
    cell = Cell(minutes=1.0 if options.quick else 9.0)
    return [
        Job(suite="made", arm=Arm(name="a"), cell=cell, seed=seed, measures=())
        for seed in range(options.seeds)
    ]


SUITE = Suite(
    name="made", about="", seeds=2, jobs=jobs,
    report=lambda rows, command: Report(suite="made", about="", head=(), tables=()),
)  # fmt: skip


def test_only_rows_of_the_suites_own_jobs_are_told_and_the_latest_of_each() -> None:
    mine = [replace(a_row("a", j.seed), key=j.key) for j in jobs(Options(seeds=3))]
    quick = [replace(a_row("a", j.seed), key=j.key) for j in jobs(Options(seeds=1, quick=True))]
    newer = replace(mine[0], figures={"test": 0.9})
    assert current([*reversed(mine), *quick, newer], SUITE) == [newer, *mine[1:]]
    assert current([], SUITE) == []


def test_each_group_has_its_own_number_of_seeds() -> None:
    rows = [replace(a_row("a", seed), group="g" if seed else "h") for seed in (0, 1, 1, 2)]
    assert seeds_of(rows) == {"h": 1, "g": 2}
