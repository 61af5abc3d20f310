from dataclasses import replace

from flashevolve.bench.compare import Column
from flashevolve.bench.targets import Target, best_of, table, verdict
from tests.bench.made import a_row

RATE = Column(key="rate", title="rate", against="ratio")
TARGET = Target(words="rate", arm="full", baseline="sync", column=RATE, floor=4.0, aim=10.0)


def test_a_verdict_tells_aim_floor_and_miss_either_way_round() -> None:
    assert [verdict(value, TARGET) for value in (3.9, 4.0, 10.0)] == [
        "MISSED",
        "floor met",
        "aim met",
    ]
    fewer = replace(TARGET, floor=1.0, aim=0.7, larger=False)
    assert [verdict(value, fewer) for value in (1.1, 1.0, 0.7)] == [
        "MISSED",
        "floor met",
        "aim met",
    ]


def test_a_table_of_targets_holds_what_was_found() -> None:
    rows = [a_row("sync", 0, rate=1.0), a_row("full", 0, rate=5.0)]
    (line,) = table(rows, [TARGET]).rows
    assert line == ("rate: full against sync", "5.00 x", "at least 4", "10", "floor met")
    (line,) = table(rows[:1], [TARGET]).rows
    assert line[-1] == "no figure"


def test_the_best_of_a_grid_is_the_one_with_the_largest_mean() -> None:
    rates = {"few": (5.0, 0.0), "many": (3.0, 3.0), "other": (9.0, 9.0)}
    rows = [
        a_row(arm, seed, rate=rate) for arm, of in rates.items() for seed, rate in enumerate(of)
    ]
    assert best_of(rows, ["few", "many", "absent"], RATE) == "many"
    assert best_of(rows, ["absent"], RATE) is None
