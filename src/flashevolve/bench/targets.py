"""Targets: what speed is asked for, beside what was found.

Outcomes of comparisons between mechanisms have none: their sign and size are published as they are.
A verdict is about values; the interval stands beside it. A time that some runs never came to an end
of is a lower bound, and meets nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flashevolve.bench.cell import Row
from flashevolve.bench.compare import Column, arms_of, by_seed, compared, told
from flashevolve.bench.report import Verdict

FLOOR_OF_CEILING, AIM_OF_CEILING = 0.85, 0.95
"""Shares of what a work-conserving schedule could reach."""
FLOOR_OF_ROOM, AIM_OF_ROOM = 0.80, 0.95
"""Shares of the room that the best batched setting leaves below its own ceiling."""


class Bounds(NamedTuple):
    """What is asked for at least, and aimed at."""

    floor: float
    aim: float


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
    reached: str | None = None
    """The figure that is 0 where a run ended before the time that `column` tells; None = none."""
    ceiling: float | None = None
    """How much faster the baseline's own calls could have been served."""


def judge(value: float, floor: float, aim: float, *, larger: bool = True) -> str:
    """Returns whether a value reaches the floor and the aim."""
    sign = 1 if larger else -1
    if sign * value >= sign * aim:
        return "aim met"
    return "floor met" if sign * value >= sign * floor else "MISSED"


def below_ceiling(floor: float, aim: float, ceiling: float) -> Bounds:
    """Returns what is asked for where a ceiling may lie lower than the target."""
    return Bounds(min(floor, FLOOR_OF_CEILING * ceiling), min(aim, AIM_OF_CEILING * ceiling))


def against_batched(room: float) -> Bounds:
    """Returns what is asked for against the best batched setting.

    `room` is that setting's own ceiling: how much faster its calls could have been served.
    """
    return Bounds(FLOOR_OF_ROOM * room, AIM_OF_ROOM * room)


def verdicts(rows: Sequence[Row], targets: Sequence[Target]) -> tuple[Verdict, ...]:
    """Returns the targets beside what the rows say; those without a figure say so."""
    return tuple(_verdict(rows, target) for target in targets)


def _verdict(rows: Sequence[Row], target: Target) -> Verdict:
    found = compared(rows, target.arm, target.baseline, target.column)
    bound = "at least" if target.larger else "at most"
    told_of = "no figure"
    if found is not None:
        told_of = judge(found.value, target.floor, target.aim, larger=target.larger)
        told_of = _censored(rows, target, told_of)
    return Verdict(
        what=f"{target.words}: {target.arm} against {target.baseline}",
        floor=f"{bound} {target.floor:.3g}",
        aim=f"{target.aim:.3g}",
        found=told(found, target.column),
        ceiling="-" if target.ceiling is None else f"{target.ceiling:.2f} x",
        n=None if found is None else found.n,
        verdict=told_of,
    )


def _censored(rows: Sequence[Row], target: Target, verdict: str) -> str:
    """Returns the verdict, which is none where the arm's times are lower bounds."""
    if target.reached is None:
        return verdict
    both = by_seed(rows, target.arm, target.reached), by_seed(rows, target.baseline, target.reached)
    reached = [share for seed, share in both[0].items() if seed in both[1]]
    if not reached or min(reached) >= 1:
        return verdict
    bound = f"lower bound, {100 * sum(reached) / len(reached):.0f} % reached"
    return f"MISSED ({bound})" if verdict == "MISSED" else bound


def best_of(rows: Sequence[Row], names: Sequence[str], column: Column) -> str | None:
    """Returns the arm with the largest mean of a figure: the best of a grid, with hindsight.

    None if none of them was run.
    """
    present = [name for name in names if name in arms_of(rows)]
    found = {name: by_seed(rows, name, column.key).values() for name in present}
    means = {name: sum(values) / len(values) for name, values in found.items() if values}
    return max(means, key=lambda name: means[name]) if means else None
