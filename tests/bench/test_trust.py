from dataclasses import replace
from pathlib import Path

from flashevolve.bench.cell import append_row
from flashevolve.bench.prediction import RATE, arm_of, group_of
from flashevolve.bench.published import COMBEE_TABLE
from flashevolve.bench.report import Report
from flashevolve.bench.suite import Options, suite
from flashevolve.bench.trust import checked
from tests.bench.made import a_row

REPORT = Report(suite="made", about="", head=(), tables=())


def keep(folder: Path, factor: float, world: str = "w") -> None:
    """Keeps a prediction that misses everything by a factor."""
    jobs = {(j.group, j.arm.name): j for j in suite("throughput").jobs(Options(seeds=1))}
    for batch, table in COMBEE_TABLE.items():
        for shape, published in table.items():
            figures = {RATE: factor * published.proposals_per_min}
            group, arm = group_of(shape), arm_of(batch)
            row = replace(a_row(arm, 0, world=world), group=group, key=jobs[group, arm].key)
            append_row(folder / "throughput.jsonl", replace(row, figures=figures))
            # A trial of another cell comes to nothing.
            append_row(folder / "throughput.jsonl", replace(row, key="old", figures={RATE: 1e6}))


def test_ratios_are_warned_of_unless_the_prediction_was_good(tmp_path: Path) -> None:
    rows = [a_row("sync", 0)]
    for name, factor, warned in (("good", 1.4, 0), ("bad", 1.6, 1)):
        folder = tmp_path / name
        folder.mkdir()
        keep(folder, factor)
        assert len(checked(REPORT, rows, folder).warnings) == warned


def test_a_prediction_of_another_world_is_none(tmp_path: Path) -> None:
    keep(tmp_path, 1.0, world="other")
    for folder in (tmp_path, None):
        (warning,) = checked(REPORT, [a_row("sync", 0)], folder).warnings
        assert "was not made in this world" in warning


def test_measured_rows_and_the_prediction_itself_need_none() -> None:
    assert checked(REPORT, [a_row("sync", 0, world="")], None).warnings == ()
    assert checked(replace(REPORT, suite="throughput"), [a_row("sync", 0)], None).warnings == ()
    assert checked(replace(REPORT, real_time=True), [a_row("ours", 0)], None).warnings == ()


def test_rows_of_several_sources_are_shown_with_a_warning(tmp_path: Path) -> None:
    keep(tmp_path, 1.0)
    old, new = a_row("sync", 0), replace(a_row("sync", 1), code="c0de")
    (warning,) = checked(REPORT, [old, new], tmp_path).warnings
    assert "2 states of the sources (c0de, unknown)" in warning
    assert checked(REPORT, [new], tmp_path).warnings == ()
