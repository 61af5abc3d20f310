from dataclasses import replace

import pytest

from flashevolve.bench.cell import Row
from flashevolve.bench.compare import (
    Column,
    against,
    anytime,
    arms_of,
    compared,
    finding,
    own,
    points,
    values,
    with_equal,
    without_target,
)
from tests.bench.made import a_row

TEST = Column(key="test", title="test", digits=1, scale=100)
RATE = Column(key="rate", title="rate", digits=1, against="ratio")
PER = Column(key="tokens", per="front", title="tokens per front", digits=0, against="ratio")


def rows() -> list[Row]:
    return [
        made
        for seed in range(8)
        for made in (
            a_row("sync", seed, test=0.5, rate=2.0 + seed % 2, tokens=100.0, front=1.0),
            a_row("full", seed, test=0.6, rate=4.0 + 2 * (seed % 2), tokens=100.0, front=seed % 2),
        )
    ]


def test_arms_keep_their_order_and_have_intervals() -> None:
    made = rows()
    assert arms_of(made) == ["sync", "full"]
    table = values("t", made, [TEST, RATE])
    assert table.columns == ("arm", "test", "rate")
    assert table.rows[0][:2] == ("sync", "50.0 [50.0, 50.0]")
    assert table.rows[1][2].startswith("5.0 [")


def test_differences_have_signs_and_ratios_a_cross() -> None:
    table = against("t", rows(), "sync", [TEST, RATE])
    assert table.rows == (("full", "+10.0 [+10.0, +10.0]", "2.00 [2.00, 2.00] x"),)


def test_a_quotient_of_means_counts_seeds_without_a_success() -> None:
    found = own(rows(), "full", PER)
    assert found is not None
    assert found.value == pytest.approx(200)
    table = against("t", rows(), "sync", [PER])
    assert table.rows[0][1].startswith("2.00 [")


def test_what_is_divided_by_a_handful_of_events_is_no_ratio() -> None:
    rare = replace(RATE, events="n")
    rows = [
        made
        for seed in range(5)
        for made in (a_row("sync", seed, rate=1.0, n=1.0), a_row("full", seed, rate=4.0, n=2.0))
    ]
    assert against("t", rows, "sync", [rare]).rows == (("full", "-"),)
    assert against("t", rows, "full", [rare]).rows == (("sync", "0.25 [0.25, 0.25] x"),)
    per = replace(PER, per="n", key="rate", events="n")
    assert own(rows, "sync", per) is None
    assert own(rows, "full", per) is not None
    assert compared(rows, "full", "sync", per) is None


def test_a_divisor_that_few_seeds_have_gives_no_interval() -> None:
    rows = [a_row("full", seed, rate=1.0) for seed in range(5)]
    rows += [a_row("sync", seed, rate=float(seed == 0)) for seed in range(5)]
    found = compared(rows, "full", "sync", RATE)
    assert found is not None
    assert found.value == pytest.approx(5.0)
    assert (found.low, found.high) == (None, None)
    found = compared(rows, "sync", "full", RATE)
    assert found is not None
    assert found.low == 0.0


def test_seeds_on_which_the_baseline_learned_nothing_have_no_target() -> None:
    rows = [a_row(arm, seed, test=0.5, seed_test=0.5 - seed / 10)
            for seed in (0, 1) for arm in ("sync", "full")]  # fmt: skip
    made = with_equal(rows, "sync")
    assert [row.figures.get("target_min") for row in made] == [None, None, 5.0, 5.0]
    assert without_target(rows, "sync") == (1, 2)


def test_a_finding_tells_sign_size_interval_and_how_many_seeds() -> None:
    line = finding(rows(), "full", "sync", TEST, "test points")
    assert line == "full against sync, test points: +10.0 [+10.0, +10.0] (more; n=8)"
    few = [row for row in rows() if row.seed == 0]
    line = finding(few, "full", "sync", RATE, "rate")
    assert (
        line
        == "full against sync, rate: 2.00 x (too few seeds, or too uneven, for an interval; n=1)"
    )
    assert finding(few, "full", "sync", replace(RATE, key="none"), "") is None


def test_equal_means_what_the_thriftiest_arm_of_the_seed_spent() -> None:
    slow, fast = a_row("sync", 0, test=0.4, at=5.0), a_row("full", 0, test=0.8, at=2.5)
    half = [[0.0, 0, 0, None, 0.0], [150.0, 50, 5, 0.9, 0.8], [300.0, 100, 10, 0.9, 0.8]]
    fast = replace(fast, curves={"curve": half})
    one, two = with_equal([slow, fast], "sync")
    assert one.figures["area_time"] == 0.0
    assert two.figures["area_time"] == pytest.approx(0.4)
    assert two.figures["area_tokens"] == pytest.approx(0.4)
    assert two.figures["test_at_tokens"] == 0.8
    assert (one.figures["target_min"], one.figures["reached"]) == (5.0, 1.0)
    assert (two.figures["target_min"], two.figures["reached"]) == (2.5, 1.0)


def test_the_time_to_as_many_fronts_as_the_baselines_is_censored_too() -> None:
    sync, full, slow = (a_row(arm, 0) for arm in ("sync", "full", "slow"))
    times = {"sync": [300.0, 600.0], "full": [60.0, 120.0, 180.0], "slow": [30.0]}
    rows = [replace(r, curves={**r.curves, "fronts": times[r.arm]}) for r in (sync, full, slow)]
    found = [row.figures["front_target_min"] for row in with_equal(rows, "sync")]
    assert found == [10.0, 2.0, 10.0]
    reached = [row.figures["front_reached"] for row in with_equal(rows, "sync")]
    assert reached == [1.0, 1.0, 0.0]


def test_a_target_that_is_not_reached_is_censored() -> None:
    made = with_equal([a_row("sync", 0, test=0.5), a_row("full", 0, test=0.4)], "sync")
    assert (made[1].figures["target_min"], made[1].figures["reached"]) == (10.0, 0.0)


def test_figures_hold_means_over_seeds_and_intervals() -> None:
    figure = anytime("f", "t", rows())
    assert [line.label for line in figure.lines] == ["sync", "full"]
    assert figure.lines[0].y[0] == 0.0
    assert figure.lines[0].y[-1] == 0.5
    assert figure.lines[0].x[-1] == 10.0
    line = points("p", "t", rows(), RATE).lines[0]
    assert line.y == (2.5, 5.0)
    assert line.low[1] <= 5.0 <= line.high[1]
