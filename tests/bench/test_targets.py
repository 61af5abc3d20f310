from dataclasses import replace

import pytest

from flashevolve.bench.compare import Column
from flashevolve.bench.report import targets_table
from flashevolve.bench.targets import (
    Target,
    against_batched,
    below_ceiling,
    best_of,
    judge,
    verdicts,
)
from tests.bench.made import a_row

RATE = Column(key="rate", title="rate", against="ratio")
TARGET = Target(words="rate", arm="full", baseline="sync", column=RATE, floor=4.0, aim=10.0)


def test_a_verdict_tells_aim_floor_and_miss_either_way_round() -> None:
    assert [judge(value, 4.0, 10.0) for value in (3.9, 4.0, 10.0)] == [
        "MISSED",
        "floor met",
        "aim met",
    ]
    assert [judge(value, 1.0, 0.7, larger=False) for value in (1.1, 1.0, 0.7)] == [
        "MISSED",
        "floor met",
        "aim met",
    ]


def test_a_table_of_targets_holds_what_was_found() -> None:
    rows = [a_row("sync", 0, rate=1.0), a_row("full", 0, rate=5.0)]
    (line,) = targets_table(verdicts(rows, [replace(TARGET, ceiling=6.0)])).rows
    assert line[:4] == ("rate: full against sync", "at least 4", "10", "5.00 x")
    assert line[4:] == ("6.00 x", "1", "floor met")
    (line,) = targets_table(verdicts(rows[:1], [TARGET])).rows
    assert line[-3:] == ("-", "-", "no figure")


def test_a_lower_bound_meets_nothing() -> None:
    minutes = Column(key="minutes", title="minutes", against="ratio")
    target = replace(TARGET, column=minutes, floor=0.25, aim=0.1, larger=False, reached="reached")

    def told(ours: float, second: float) -> str:
        rows = [a_row("sync", seed, minutes=10.0, reached=1.0) for seed in (0, 1)]
        rows += [
            a_row("full", seed, minutes=ours, reached=reached)
            for seed, reached in ((0, 1.0), (1, second))
        ]
        return verdicts(rows, [target])[0].verdict

    assert told(0.5, 1.0) == "aim met"
    assert told(0.5, 0.0) == "lower bound, 50 % reached"
    assert told(9.0, 0.0) == "MISSED (lower bound, 50 % reached)"


def test_what_is_asked_for_yields_to_a_ceiling() -> None:
    assert below_ceiling(3.5, 8.0, 100.0) == (3.5, 8.0)
    assert below_ceiling(3.5, 8.0, 4.0) == pytest.approx((3.4, 3.8))
    assert against_batched(2.0) == pytest.approx((1.6, 1.9))


def test_the_best_of_a_grid_is_the_one_with_the_largest_mean() -> None:
    rates = {"few": (5.0, 0.0), "many": (3.0, 3.0), "other": (9.0, 9.0)}
    rows = [
        a_row(arm, seed, rate=rate) for arm, of in rates.items() for seed, rate in enumerate(of)
    ]
    assert best_of(rows, ["few", "many", "absent"], RATE) == "many"
    assert best_of(rows, ["absent"], RATE) is None
