"""Trust: no report without what is known against its figures.

The throughput suite predicts published figures that nothing was fitted to. Reports of other suites
carry its warning, if the prediction was bad or was not made in their world. Rows of trials, or of
cells that the suite has no more, predict nothing. Rows that were made with different sources may
differ for that alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flashevolve.bench.cell import Row, one_world, read_rows
from flashevolve.bench.current import current
from flashevolve.bench.prediction import ratio_warning
from flashevolve.bench.report import Report
from flashevolve.bench.suite import suite

PREDICTING = "throughput"
"""The suite whose rows hold the prediction."""


def checked(report: Report, rows: Sequence[Row], rows_dir: Path | None) -> Report:
    """Returns the report with warnings about its ratios and its rows' sources, if it needs any.

    `rows_dir` is where rows of earlier suites are kept; None = nowhere. Measured rows need no
    prediction, times of real clients rest on none, and the predicting suite has its own warning.
    """
    mixed = code_warning(rows)
    if mixed is not None:
        report = replace(report, warnings=(mixed, *report.warnings))
    world = one_world(rows)
    if not world or report.suite == PREDICTING or report.real_time:
        return report
    path = rows_dir / f"{PREDICTING}.jsonl" if rows_dir is not None else None
    kept = read_rows(path) if path is not None and path.exists() else []
    kept = current(kept, suite(PREDICTING)) if kept else []
    warning = ratio_warning([row for row in kept if row.world == world])
    return report if warning is None else replace(report, warnings=(warning, *report.warnings))


def code_warning(rows: Sequence[Row]) -> str | None:
    """Returns what to say of rows that were made with several states of the sources; else None."""
    codes = sorted({row.code or "unknown" for row in rows})
    if len(codes) < 2:
        return None
    return (
        f"WARNING: these rows were made with {len(codes)} states of the sources "
        f"({', '.join(codes)}): differences between them may be the code's. Run the suite again."
    )
