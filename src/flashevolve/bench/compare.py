"""Compare: from rows to tables of arms, with intervals, and to sentences about what was found.

Everything is paired by seed. A figure that an arm lacks on a seed leaves that pair out, and the
table says so by its number of seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from flashevolve.bench import stats
from flashevolve.bench.cell import Row
from flashevolve.bench.measure import X_AXES, Y_TEST, area, time_to, value_at
from flashevolve.bench.report import Figure, Line, Table

N_POINTS = 60
"""Of an anytime curve in a figure."""


RATIO_DIGITS = 2
LEAST_EVENTS = 10
"""A ratio whose divisor rests on fewer events says nothing: one more would change it by a tenth."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A figure in a table."""

    key: str
    """Of `Row.figures`."""
    per: str | None = None
    """Another figure that it is divided by: the mean over seeds of the one by that of the other, so
    that a seed on which the divisor is 0 counts too."""
    events: str | None = None
    """The figure that counts what a rate counts; a ratio by fewer than `LEAST_EVENTS` is none."""
    title: str
    digits: int = 2
    against: Literal["difference", "ratio"] = "difference"
    """How it is compared with the baseline's."""
    scale: float = 1.0
    """What a value is multiplied with to be shown; 100 = percent, or points of a score."""


def arms_of(rows: Sequence[Row]) -> list[str]:
    """Returns the arms in order of appearance."""
    return list(dict.fromkeys(row.arm for row in rows))


def by_seed(rows: Sequence[Row], arm: str, key: str, scale: float = 1.0) -> dict[int, float]:
    """Returns an arm's figure by seed; seeds without it are left out."""
    found = {row.seed: row.figures.get(key) for row in rows if row.arm == arm}
    return {seed: scale * value for seed, value in found.items() if value is not None}


def shown(estimate: stats.Estimate | None, digits: int, *, sign: bool = False) -> str:
    """Returns a value with its interval."""
    if estimate is None:
        return "-"
    form = f"{'+' if sign else ''}.{digits}f"
    text = f"{estimate.value:{form}}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{estimate.low:{form}}, {estimate.high:{form}}]"


def enough(rows: Sequence[Row], arm: str, column: Column) -> bool:
    """Returns whether an arm's figure rests on events enough to divide by it."""
    if column.events is None:
        return True
    return sum(by_seed(rows, arm, column.events).values()) >= LEAST_EVENTS


def own(rows: Sequence[Row], arm: str, column: Column) -> stats.Estimate | None:
    """Returns an arm's figure over its seeds; None if what it is divided by is too rare."""
    found = by_seed(rows, arm, column.key, column.scale)
    if column.per is not None:
        if not enough(rows, arm, column):
            return None
        return stats.product([(found, 1.0), (by_seed(rows, arm, column.per), -1.0)])
    return stats.mean(list(found.values())) if found else None


def values(title: str, rows: Sequence[Row], columns: Sequence[Column]) -> Table:
    """Returns a table of each arm's own figures."""
    lines = []
    for arm in arms_of(rows):
        cells = [arm]
        for column in columns:
            cells.append(shown(own(rows, arm, column), column.digits))
        lines.append(tuple(cells))
    titles = ("arm", *(column.title for column in columns))
    return Table(title=title, columns=titles, rows=tuple(lines))


def compared(rows: Sequence[Row], arm: str, baseline: str, column: Column) -> stats.Estimate | None:
    """Returns an arm's figure against the baseline's: paired difference, or ratio.

    None if a figure that is divided by rests on too few events.
    """
    divided = (arm, baseline) if column.per is not None else (baseline,)
    if column.against == "ratio" and not all(enough(rows, name, column) for name in divided):
        return None
    ours = by_seed(rows, arm, column.key, column.scale)
    theirs = by_seed(rows, baseline, column.key, column.scale)
    if column.per is not None:
        divisors = by_seed(rows, arm, column.per), by_seed(rows, baseline, column.per)
        return stats.product([(ours, 1.0), (divisors[0], -1.0), (theirs, -1.0), (divisors[1], 1.0)])
    return getattr(stats, column.against)(ours, theirs)  # type: ignore[no-any-return]


def told(found: stats.Estimate | None, column: Column) -> str:
    """Returns a comparison: a difference with its sign, a ratio as so many times."""
    if column.against == "difference" or found is None:
        return shown(found, column.digits, sign=True)
    return f"{shown(found, RATIO_DIGITS)} x"


def against(title: str, rows: Sequence[Row], baseline: str, columns: Sequence[Column]) -> Table:
    """Returns a table of each arm against one of them."""
    lines = []
    for arm in arms_of(rows):
        if arm == baseline:
            continue
        cells = [arm]
        for column in columns:
            found = compared(rows, arm, baseline, column)
            cells.append(told(found, column))
        lines.append(tuple(cells))
    titles = (f"against {baseline}", *(column.title for column in columns))
    return Table(title=title, columns=titles, rows=tuple(lines))


def finding(rows: Sequence[Row], arm: str, baseline: str, column: Column, words: str) -> str | None:
    """Returns one sentence with sign, size and interval; None without a comparison.

    `words` says what is compared, such as "test score after 10 minutes, in points".
    """
    found = compared(rows, arm, baseline, column)
    if found is None:
        return None
    neutral = 1.0 if column.against == "ratio" else 0.0
    side = found.side(neutral)
    verdict = {1: "more", -1: "less", 0: f"undecided: the interval holds {neutral:.0f}"}
    if found.low is None:
        verdict[0] = "too few seeds, or too uneven, for an interval"
    about = f"{verdict[side]}; n={found.n}"
    return f"{arm} against {baseline}, {words}: {told(found, column)} ({about})"


# -- what only all arms of a seed together give ----------------------------------------------------


def with_equal(rows: Sequence[Row], baseline: str) -> list[Row]:
    """Returns the rows with figures that compare the arms of each seed.

    `area_time`, `area_tokens`, `area_metric calls`: the anytime test curve's mean up to what the
    thriftiest arm of that seed spent. `test_at_...`: the curve's value there. `target_min`: minutes
    until the test score reached what the baseline had at its end, and `reached`, 0 where the curve
    ended before: then the minutes are a lower bound. A seed on which the baseline ended no better
    than it began has no target. `front_target_min`: minutes until as many admissions had improved a
    front as the baseline's had at its end, or to the end, and `front_reached`.
    """
    by: dict[int, list[Row]] = {}
    for row in rows:
        by.setdefault(row.seed, []).append(row)
    made: dict[str, Row] = {}
    for together in by.values():
        ends = {
            name: min(row.curves["curve"][-1][axis] for row in together)
            for name, axis in X_AXES.items()
        }
        base = next((row for row in together if row.arm == baseline), None)
        target = target_of(base) if base is not None else None
        n_fronts = len(base.curves.get("fronts", ())) if base is not None else 0
        for row in together:
            curve, extra = row.curves["curve"], dict(row.figures)
            for name, axis in X_AXES.items():
                extra[f"area_{name}"] = area(curve, ends[name], axis)
                extra[f"test_at_{name}"] = value_at(curve, ends[name], axis, Y_TEST)
            if target is not None:
                seconds, reached = time_to(curve, target)
                extra |= {"target_min": seconds / 60, "reached": float(reached)}
            if n_fronts:
                own_fronts = row.curves.get("fronts", ())
                times = [*own_fronts, *[curve[-1][0]] * n_fronts]
                extra["front_target_min"] = times[n_fronts - 1] / 60
                extra["front_reached"] = float(len(own_fronts) >= n_fronts)
            made[row.key] = replace(row, figures=extra)
    return [made[row.key] for row in rows]


def target_of(base: Row) -> float | None:
    """Returns the test score to be reached; None where the baseline did not improve on its seed."""
    end, began = base.figures.get("test"), base.figures.get("seed_test")
    return None if end is None or (began is not None and end <= began) else end


def without_target(rows: Sequence[Row], baseline: str) -> tuple[int, int]:
    """Returns on how many seeds the baseline gave no target, and how many it ran on."""
    found = [target_of(row) for row in rows if row.arm == baseline]
    return sum(target is None for target in found), len(found)


def anytime(name: str, title: str, rows: Sequence[Row], axis: str = "time") -> Figure:
    """Returns the anytime test curves of all arms, each drawn as far as all its seeds go."""
    lines = [_curve(arm, rows, axis) for arm in arms_of(rows)]
    unit = {"time": "minutes"}.get(axis, axis)
    return Figure(name=name, title=title, x=unit, y="test score", lines=tuple(lines))


def _curve(arm: str, rows: Sequence[Row], axis: str) -> Line:
    place, scale = X_AXES[axis], 60 if axis == "time" else 1
    curves = [row.curves["curve"] for row in rows if row.arm == arm]
    end = min(curve[-1][place] for curve in curves)
    drawn: list[tuple[float, stats.Estimate]] = []
    for x in (end * i / N_POINTS for i in range(N_POINTS + 1)):
        found = [value_at(curve, x, place, Y_TEST) for curve in curves]
        known = [value for value in found if value is not None]
        if known:
            drawn.append((x / scale, stats.mean(known)))
    bands = [(e.value if e.low is None else e.low, e.high) for _, e in drawn]
    return Line(
        label=arm,
        x=tuple(round(x, 3) for x, _ in drawn),
        y=tuple(round(e.value, 5) for _, e in drawn),
        low=tuple(round(low, 5) for low, _ in bands),
        high=tuple(round(low if high is None else high, 5) for low, high in bands),
    )


def points(name: str, title: str, rows: Sequence[Row], column: Column) -> Figure:
    """Returns a figure with one point and interval per arm for one column."""
    arms = arms_of(rows)
    estimates = [own(rows, arm, column) for arm in arms]
    kept = [(arm, e) for arm, e in zip(arms, estimates, strict=True) if e is not None]
    line = Line(
        label=column.title,
        x=tuple(float(i) for i in range(len(kept))),
        y=tuple(round(e.value, 5) for _, e in kept),
        low=tuple(round(e.value if e.low is None else e.low, 5) for _, e in kept),
        high=tuple(round(e.value if e.high is None else e.high, 5) for _, e in kept),
    )
    ticks = tuple(arm for arm, _ in kept)
    return Figure(
        name=name, title=title, x="", y=column.title, lines=(line,), kind="point", ticks=ticks
    )
