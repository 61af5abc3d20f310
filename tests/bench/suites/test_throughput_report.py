from dataclasses import replace
from typing import Any

import pytest

from flashevolve.bench.cell import Row
from flashevolve.bench.published import SHAPES
from flashevolve.bench.suites.throughput_report import (
    DEFAULT_NAME,
    PROPOSALS,
    SWEEPS,
    ceiling_of,
    main_group,
    report,
    speed,
    targets,
)
from tests.bench.made import a_row

PRESET = "h100-qwen3-8b"
SYNC = dict.fromkeys(SHAPES, "sync")


def made(
    shape: str,
    arm: str,
    seed: int,
    rate: float,
    share: float,
    sweeps: float = 0.1,
    preset: str = PRESET,
) -> Row:
    figures: dict[str, Any] = {
        "steady_proposed_per_min": rate,
        "steady_swept_per_min": sweeps,
        "steady_tokens_out_per_s": 100.0,
        "share_of_ceiling": share,
        "proposed": 60 * rate,
        "swept": 60 * sweeps,
    }
    return replace(a_row(arm, seed, **figures), group=main_group(preset, shape), suite="throughput")


def some(speed: float, best: float = 2.0, preset: str = PRESET) -> list[Row]:
    """Rows in which default is `speed` times as fast as sync, which reaches a fifth of its calls'
    ceiling, and the best batched setting `best` times, at half of its own."""
    rows = []
    for shape in SHAPES:
        for seed in range(5):
            rows += [
                made(shape, "sync", seed, 2.0, 0.2, preset=preset),
                made(shape, "4 x 4", seed, 1.0, 0.4, preset=preset),
                made(shape, "Combee 40", seed, 2.0 * best, 0.5, 0.1 * best, preset),
                made(shape, DEFAULT_NAME, seed, 2.0 * speed, 0.9, 0.1 * speed, preset),
            ]
    return rows


def rarely_swept(shape: str) -> list[Row]:
    """Rows in which sync sweeps 5 times in all on one shape."""
    return [
        replace(r, figures={**r.figures, "swept": 1.0})
        if r.group == main_group(PRESET, shape) and r.arm == "sync"
        else r
        for r in some(4.0)
    ]


def test_a_speed_is_the_geometric_mean_of_the_shapes() -> None:
    rows = [row for row in some(3.0) if row.group != main_group(PRESET, "aime")]
    rows += [made("aime", "sync", 0, 1.0, 0.2), made("aime", DEFAULT_NAME, 0, 48.0, 0.9)]
    found = speed([r for r in rows if r.seed == 0], PRESET, PROPOSALS, SYNC)
    assert found is not None
    assert found.estimate.value == pytest.approx((3 * 3 * 3 * 48) ** 0.25)
    assert found.words == "of 4 shapes"
    assert ceiling_of(rows, PRESET, SYNC) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("speed", "verdict"), [(3.0, "MISSED"), (3.6, "floor met"), (4.9, "aim met")]
)
def test_a_target_is_judged_by_the_lower_of_floor_and_ceiling(speed: float, verdict: str) -> None:
    first = targets(some(speed), PRESET)[0]
    assert (
        first.what == f"{PRESET}, proposals/min: default against sync, geometric mean of 4 shapes"
    )
    assert first.found == f"{speed:.2f} [{speed:.2f}, {speed:.2f}] x"
    assert (first.floor, first.aim, first.ceiling) == ("at least 3.50", "4.75", "5.00 x")
    assert (first.n, first.verdict) == (5, verdict)


def test_the_best_batched_setting_is_chosen_with_hindsight_and_leaves_its_own_room() -> None:
    found = [v for v in targets(some(3.4), PRESET) if "the best of P x N" in v.what]
    assert len(found) == 2
    assert all("(Combee 40)" in v.what and v.found == "1.70 [1.70, 1.70] x" for v in found)
    assert {(v.floor, v.aim, v.ceiling) for v in found} == {("at least 1.60", "1.90", "2.00 x")}
    assert {v.verdict for v in found} == {"floor met"}


def test_each_shape_has_its_own_best_batched_setting() -> None:
    rows = [r for r in some(4.0) if r.arm != "Combee 40" or r.group != main_group(PRESET, "aime")]
    (proposals, sweeps) = (v for v in targets(rows, PRESET) if "the best of P x N" in v.what)
    assert "(Combee 40, 4 x 4), geometric mean of 4 shapes" in proposals.what
    assert proposals.found.startswith(f"{(2 * 2 * 2 * 8) ** 0.25:.2f} [")
    assert "of 4 shapes" in sweeps.what


def test_a_shape_whose_sweeps_are_too_few_to_count_is_left_out_of_their_mean() -> None:
    rows = rarely_swept("aime")
    found = speed(rows, PRESET, SWEEPS, SYNC)
    assert found is not None
    assert found.words == "of 3 shapes"
    assert found.estimate.value == pytest.approx(4.0)
    told = report(rows, "again")
    assert "geometric mean of 3 shapes" in told.verdicts[1].what
    ratios = told.tables[1].rows
    assert ratios[-1][:2] == (DEFAULT_NAME, "sweeps/min")
    assert ratios[-1][2 + SHAPES.index("aime")] == "-"
    assert ratios[-1][-1].endswith("(of 3 shapes)")


def test_each_rate_stands_beside_the_tokens_of_a_proposal() -> None:
    rates = report(some(4.0), "again").tables[0]
    place = rates.columns.index("output k tokens/proposal")
    assert [line[place] for line in rates.rows[:4]] == [
        "3.00 [3.00, 3.00]",
        "6.00 [6.00, 6.00]",
        "1.50 [1.50, 1.50]",
        "0.75 [0.75, 0.75]",
    ]
    assert rates.rows[0][rates.columns.index("C")] == "4"


def test_a_backend_without_targets_gets_figures_and_no_verdict() -> None:
    told = report(some(4.0, preset="my-own"), "again")
    assert told.verdicts == ()
    assert told.tables[0].title == "Rates, my-own"
    assert targets(some(4.0), PRESET)


def test_figures_have_a_point_for_each_arm_and_shape() -> None:
    rates, shares = report(some(4.0), "again").figures
    assert [line.label for line in rates.lines] == ["sync", "4 x 4", "Combee 40", DEFAULT_NAME]
    assert rates.ticks == SHAPES
    assert rates.log
    assert shares.lines[-1].y == (90.0,) * len(SHAPES)


def test_a_report_without_the_prediction_warns() -> None:
    (warning,) = report(some(4.0), "again").warnings
    assert "was not made in this world" in warning


def test_a_target_without_anything_to_divide_by_says_so() -> None:
    rows = [replace(r, figures={**r.figures, "swept": 0.0}) for r in some(4.0)]
    found = [v for v in targets(rows, PRESET) if "sweeps/min" in v.what]
    assert [(v.found, v.n, v.verdict) for v in found] == [("-", None, "no figure")] * 2
    assert [v.verdict for v in targets(rows, PRESET) if "proposals/min" in v.what] == [
        "floor met",
        "aim met",
    ]
