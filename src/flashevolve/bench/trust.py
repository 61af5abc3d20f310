"""Trust: no report of ratios without what the prediction of Combee says about them.

The throughput suite predicts published figures that nothing was fitted to. Reports of other suites
carry its warning, if the prediction was bad or was not made in their world.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flashevolve.bench.cell import Row, one_world, read_rows
from flashevolve.bench.prediction import ratio_warning
from flashevolve.bench.report import Report

PREDICTING = "throughput"
"""The suite whose rows hold the prediction."""


def checked(report: Report, rows: Sequence[Row], rows_dir: Path | None) -> Report:
    """Returns the report with a warning about its ratios, if they need one.

    `rows_dir` is where rows of earlier suites are kept; None = nowhere. Measured rows need no
    prediction, and the predicting suite has its own warning.
    """
    world = one_world(rows)
    if not world or report.suite == PREDICTING:
        return report
    path = rows_dir / f"{PREDICTING}.jsonl" if rows_dir is not None else None
    kept = read_rows(path) if path is not None and path.exists() else []
    warning = ratio_warning([row for row in kept if row.world == world])
    return report if warning is None else replace(report, warnings=(warning, *report.warnings))
