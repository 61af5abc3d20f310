"""What the suites say beside their figures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flashevolve.bench.cell import Row
from flashevolve.bench.report import Table
from flashevolve.bench.suites import evolution, speculation, staleness, workers
from tests.bench.made import a_row


def rows(group: str, arms: Sequence[str], **figures: Any) -> list[Row]:
    return [
        replace(a_row(arm, seed, "w", **figures), group=group, key=f"{group}/{arm}/{seed}")
        for arm in arms
        for seed in range(2)
    ]


def cell(table: Table, row: str, column: str) -> str:
    (line,) = (line for line in table.rows if line[0] == row)
    return line[table.columns.index(column)]


def test_staleness_says_what_is_built_into_the_reader_and_what_repairs_cost() -> None:
    made = rows(staleness.TIME, ("sync", "reflective", "regenerate"), repair_calls=7.0)
    told = staleness.report(made, "again")
    assert "that reflective beats regenerate here is no evidence" in told.warnings[0]
    assert "`history` changes no verdict" in told.warnings[0]
    (fates,) = (t for t in told.tables if t.title.endswith("what became of the steps"))
    assert cell(fates, "regenerate", "repair calls a run") == "7.0"
    assert cell(told.tables[0], "reflective", "repair calls a run") == "7.0"
    real = [replace(row, simulated=False, world="") for row in made]
    assert staleness.report(real, "again").warnings == ()


def test_speculation_says_what_its_prefix_is() -> None:
    told = speculation.report(rows("", ("sync", "off")), "again")
    assert any("one fixed random order per seed" in n for t in told.tables for n in t.notes)


def evolved() -> list[Row]:
    figures = {"share_of_ceiling": 0.2, "front": 20.0, "tokens": 100.0}
    made = rows(evolution.ALGORITHMS, ("sync",), front_per_hour=10.0, **figures)
    made += rows(evolution.ALGORITHMS, ("default",), front_per_hour=45.0, **figures)
    figures["share_of_ceiling"] = 0.5
    return made + rows(evolution.ALGORITHMS, (evolution.BATCHED[0].name,), front_per_hour=25.0,
                       **figures)  # fmt: skip


def test_the_best_batched_setting_is_asked_for_80_percent_of_its_own_room() -> None:
    found = evolution.report(evolved(), "again").verdicts
    assert found[-1].what.startswith("front per hour, the best batched setting: default against")
    assert (found[-1].floor, found[-1].aim) == ("at least 1.6", "1.9")
    assert (found[-1].found, found[-1].ceiling, found[-1].verdict) == (
        "1.80 x",
        "2.00 x",
        "floor met",
    )
    assert found[0].ceiling == "5.00 x"


def test_time_to_target_leaves_out_and_counts_seeds_without_progress() -> None:
    made = [
        replace(row, figures={**row.figures, "seed_test": 0.5 if row.seed else 0.1})
        for row in evolved()
    ]
    told = evolution.report(made, "again")
    (note,) = (n for t in told.tables for n in t.notes if "target leave out" in n)
    assert note.startswith("Minutes to target leave out 1 of 2 seeds")
    assert any("fronts leave out 2 of 2 seeds" in n for t in told.tables for n in t.notes)
    (target,) = (v for v in told.verdicts if v.what.startswith("minutes to target"))
    assert target.n == 1


def test_workers_judges_the_default_configuration() -> None:
    made = rows("", ("sync", "adaptive", workers.FIXED[0].name), front_per_hour=9.0, front=20.0)
    (found,) = workers.report(made, "again").verdicts
    assert found.verdict == "no figure"
    made += rows("", ("default",), front_per_hour=10.8, front=20.0)
    (found,) = workers.report(made, "again").verdicts
    assert "default against" in found.what
    assert (found.found, found.verdict) == ("1.20 x", "aim met")
