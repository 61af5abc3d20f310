"""Targets: what speed and safety are asked for, beside what was found.

Outcomes of comparisons between mechanisms have none: their sign and size are published as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flashevolve.bench.cell import Row
from flashevolve.bench.compare import Column, arms_of, by_seed, compared, told
from flashevolve.bench.report import Table


@dataclass(frozen=True, kw_only=True)
class Target:
    """One line of the table."""

    words: str
    arm: str
    baseline: str
    column: Column
    floor: float
    """What is asked for at least; at most, if `larger` is false."""
    aim: float
    larger: bool = True


def verdict(value: float, target: Target) -> str:
    """Returns whether a value reaches the floor and the aim."""
    sign = 1 if target.larger else -1
    if sign * value >= sign * target.aim:
        return "aim met"
    return "floor met" if sign * value >= sign * target.floor else "MISSED"


def table(rows: Sequence[Row], targets: Sequence[Target]) -> Table:
    """Returns the targets beside what the rows say; those without a figure say so."""
    lines = []
    for target in targets:
        found = compared(rows, target.arm, target.baseline, target.column)
        bound = "at least" if target.larger else "at most"
        lines.append(
            (
                f"{target.words}: {target.arm} against {target.baseline}",
                told(found, target.column),
                f"{bound} {target.floor:g}",
                f"{target.aim:g}",
                "no figure" if found is None else verdict(found.value, target),
            )
        )
    columns = ("what", "found", "asked for", "aim", "verdict")
    return Table(title="Targets", columns=columns, rows=tuple(lines))


def best_of(rows: Sequence[Row], names: Sequence[str], column: Column) -> str | None:
    """Returns the arm with the largest mean of a figure: the best of a grid, with hindsight.

    None if none of them was run.
    """
    present = [name for name in names if name in arms_of(rows)]
    found = {name: by_seed(rows, name, column.key).values() for name in present}
    means = {name: sum(values) / len(values) for name, values in found.items() if values}
    return max(means, key=lambda name: means[name]) if means else None
