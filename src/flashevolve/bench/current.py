"""Current rows: those of a file that belong to what a suite would run today.

A folder of rows outlives changes of its suite: cells, arms and quick trials that nobody would make
again stay in it. A report is of the suite's own jobs alone, and of the latest row of each.
"""

from collections.abc import Iterable, Sequence

from flashevolve.bench.cell import Row
from flashevolve.bench.suite import Options, Suite


def current(rows: Sequence[Row], suite: Suite) -> list[Row]:
    """Returns the rows that belong to the suite's jobs, in the order of the jobs."""
    n_seeds = max((1 + row.seed for row in rows), default=0)
    jobs = suite.jobs(Options(seeds=max(n_seeds, suite.seeds)))
    found = {row.key: row for row in rows}
    return [found[job.key] for job in jobs if job.key in found]


def seeds_of(rows: Iterable[Row]) -> dict[str, int]:
    """Returns on how many seeds each group of rows was run."""
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row.group, set()).add(row.seed)
    return {group: len(seeds) for group, seeds in found.items()}
