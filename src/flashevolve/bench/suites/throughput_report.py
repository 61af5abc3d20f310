"""The report of throughput: rates and ratios by shape, targets, sweeps, and what is predicted.

It reads rows alone: groups name the backend and the shape, arms the rest. A mean over shapes is of
those whose divisor can be counted, and says how many they are.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from flashevolve.bench import stats
from flashevolve.bench.cell import Row
from flashevolve.bench.compare import LEAST_EVENTS, Column, by_seed, compared, enough, own, shown
from flashevolve.bench.prediction import GROUP, group_of, predictions, ratio_warning
from flashevolve.bench.published import GEPA_TABLE, SHAPES
from flashevolve.bench.report import Figure, Line, Report, Table, Verdict, head_of
from flashevolve.bench.suites.common import SYNC
from flashevolve.bench.targets import (
    AIM_OF_CEILING,
    FLOOR_OF_CEILING,
    Bounds,
    against_batched,
    below_ceiling,
    judge,
)

NAME = "throughput"
ABOUT = "proposals, sweeps and tokens on four published workloads, at the same C"
DEFAULT_NAME = "default"
OURS = (DEFAULT_NAME, "full")
"""Arms of the asynchronous engine; all others but sync are batched."""

TARGETS = {"h100-qwen3-8b": (3.5, 8.0), "hosted-api": (4.9, 12.0)}
"""By backend: at least, and aim, of proposals/min and of sweeps/min against sync. Another backend
has no target, and gets no verdict."""

PROPOSALS = Column(
    key="steady_proposed_per_min", events="proposed", title="proposals/min", against="ratio"
)
SWEEPS = Column(
    key="steady_swept_per_min", events="swept", title="sweeps/min", digits=3, against="ratio"
)
TOKENS = Column(key="steady_tokens_out_per_s", title="output tokens/s", digits=0)
PER_PROPOSAL = Column(
    key="steady_tokens_out_per_s",
    per="steady_proposed_per_min",
    events="proposed",
    title="output k tokens/proposal",
    digits=2,
    scale=60e-3,
)
"""Equal work shows here: an arm that is faster because it asks for less has a smaller figure."""
SHARE = Column(key="share_of_ceiling", title="share of ceiling, %", digits=0, scale=100)


def main_group(preset: str, shape: str) -> str:
    """Returns the group of rows of one shape on one backend."""
    return f"{preset}, {shape}"


def report(rows: Sequence[Row], command: str) -> Report:
    """Tells rates and ratios per shape, what the targets ask for, and how Combee is predicted."""
    presets = _presets(rows)
    tables: list[Table] = []
    verdicts: list[Verdict] = []
    figures: list[Figure] = []
    for preset in presets:
        tables += [_rates(rows, preset), _ratios(rows, preset)]
        verdicts += targets(rows, preset)
        figures += _figures(rows, preset)
    for kind in ("C", "N_val"):
        tables += [_sweep(rows, kind)] if any(r.group.startswith(f"{kind}, ") for r in rows) else []
    tables += [table for table in (_closure(rows), _predicted(rows)) if table.rows]
    warning = ratio_warning(rows)
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command),
        tables=tuple(tables),
        verdicts=tuple(verdicts),
        figures=tuple(figures),
        warnings=(warning,) if warning else (),
    )


def _presets(rows: Sequence[Row]) -> list[str]:
    found = (row.group.partition(", ")[0] for row in rows)
    return [p for p in dict.fromkeys(found) if p not in ("C", "N_val", GROUP)]


def _of(rows: Sequence[Row], preset: str, shape: str) -> list[Row]:
    return [row for row in rows if row.group == main_group(preset, shape)]


def _arms(rows: Sequence[Row], preset: str) -> list[str]:
    return list(dict.fromkeys(row.arm for shape in SHAPES for row in _of(rows, preset, shape)))


# -- rates and ratios ------------------------------------------------------------------------------


def _rates(rows: Sequence[Row], preset: str) -> Table:
    """Each arm's own rates; the ceiling is what its own calls could gain at the same C."""
    columns = (PROPOSALS, SWEEPS, TOKENS, PER_PROPOSAL, SHARE)
    lines = []
    for shape in SHAPES:
        mine = _of(rows, preset, shape)
        for name in dict.fromkeys(row.arm for row in mine):
            cells = [shown(own(mine, name, column), column.digits) for column in columns]
            share = own(mine, name, SHARE)
            cells.append(f"{100 / share.value:.2f} x" if share and share.value else "-")
            lines.append((shape, _c_of(mine), name, *cells))
    titles = ("shape", "C", "arm", *(c.title for c in columns), "ceiling")
    note = "An arm that asks for fewer output tokens per proposal has less work to do for it."
    return Table(title=f"Rates, {preset}", columns=titles, rows=tuple(lines), notes=(note,))


def _c_of(rows: Sequence[Row]) -> str:
    """Returns C, as the cells of the rows name it."""
    found = {row.cell.partition("C=")[2].partition(",")[0] for row in rows}
    return ", ".join(sorted(found))


def _ratios(rows: Sequence[Row], preset: str) -> Table:
    """Each arm against sync, by shape and as the geometric mean of those that can tell."""
    lines = []
    for name in _arms(rows, preset):
        if name == SYNC.name:
            continue
        for column in (PROPOSALS, SWEEPS):
            cells = [_ratio(_of(rows, preset, shape), name, column) for shape in SHAPES]
            mean = speed(rows, preset, column, dict.fromkeys(SHAPES, SYNC.name), name)
            told = "-" if mean is None else f"{shown(mean.estimate, 2)} ({mean.words})"
            lines.append((name, column.title, *cells, told))
    columns = ("against sync", "of", *SHAPES, "geometric mean")
    note = (
        f"Where sync made fewer than {LEAST_EVENTS} proposals or sweeps over all seeds, a ratio "
        "by them is left out, of the mean too."
    )
    return Table(title=f"Against sync, {preset}", columns=columns, rows=tuple(lines), notes=(note,))


def _ratio(rows: Sequence[Row], name: str, column: Column) -> str:
    return shown(compared(rows, name, SYNC.name, column), 2)


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A geometric mean over shapes."""

    estimate: stats.Estimate
    shapes: tuple[str, ...]
    """Those that it is of."""

    @property
    def words(self) -> str:
        """Of how many shapes it is."""
        return f"of {len(self.shapes)} shape{'s' if len(self.shapes) > 1 else ''}"


def speed(
    rows: Sequence[Row],
    preset: str,
    column: Column,
    baseline: Mapping[str, str],
    name: str = DEFAULT_NAME,
) -> Mean | None:
    """Returns how many times a baseline's rate an arm has: geometric mean over shapes.

    `baseline`: shape -> arm. Seeds are paired and resampled together; None if no shape can tell.
    """
    pairs, shapes = [], []
    for shape, other in baseline.items():
        mine = _of(rows, preset, shape)
        ours, theirs = by_seed(mine, name, column.key), by_seed(mine, other, column.key)
        if enough(mine, other, column) and sum(ours.values()) > 0 and sum(theirs.values()) > 0:
            pairs.append((ours, theirs))
            shapes.append(shape)
    estimate = stats.geometric_ratio(pairs) if pairs else None
    return None if estimate is None else Mean(estimate=estimate, shapes=tuple(shapes))


def ceiling_of(rows: Sequence[Row], preset: str, arms: Mapping[str, str]) -> float | None:
    """Returns how much faster arms' calls could have been served: geometric mean over shapes.

    `arms`: shape -> arm.
    """
    shares = []
    for shape, name in arms.items():
        found = by_seed(_of(rows, preset, shape), name, SHARE.key)
        if found and fmean(found.values()) > 0:
            shares.append(fmean(found.values()))
    return math.exp(-fmean(map(math.log, shares))) if shares else None


# -- targets ---------------------------------------------------------------------------------------


def targets(rows: Sequence[Row], preset: str) -> list[Verdict]:
    """Returns each target beside what was reached; none for a backend that has no targets."""
    asked = TARGETS.get(preset)
    if asked is None:
        return []
    made = []
    for column in (PROPOSALS, SWEEPS):
        sync = dict.fromkeys(SHAPES, SYNC.name)
        found = speed(rows, preset, column, sync)
        shapes = dict.fromkeys(found.shapes, SYNC.name) if found is not None else {}
        ceiling = ceiling_of(rows, preset, shapes)
        bounds = None if ceiling is None else below_ceiling(*asked, ceiling)
        words = f"{preset}, {column.title}: default against sync"
        made.append(_verdict(words, found, bounds, ceiling))
    for shape in SHAPES:
        share = own(_of(rows, preset, shape), DEFAULT_NAME, SHARE)
        if share is not None and share.value:
            made.append(_of_ceiling(f"{preset}, {shape}", share))
    return [*made, *_against_best(rows, preset)]


def _verdict(
    words: str, found: Mean | None, bounds: Bounds | None, ceiling: float | None
) -> Verdict:
    if found is None or bounds is None:
        return Verdict(what=words, floor="-", aim="-", found="-", verdict="no figure")
    return Verdict(
        what=f"{words}, geometric mean {found.words}",
        floor=f"at least {bounds[0]:.2f}",
        aim=f"{bounds[1]:.2f}",
        found=f"{shown(found.estimate, 2)} x",
        ceiling="-" if ceiling is None else f"{ceiling:.2f} x",
        n=found.estimate.n,
        verdict=judge(found.estimate.value, *bounds),
    )


def _of_ceiling(words: str, share: stats.Estimate) -> Verdict:
    floor, aim = 100 * FLOOR_OF_CEILING, 100 * AIM_OF_CEILING
    return Verdict(
        what=f"{words}: default's share of its work-conserving ceiling, %",
        floor=f"at least {floor:.0f}",
        aim=f"{aim:.0f}",
        found=shown(share, 0),
        ceiling=f"{100 / share.value:.2f} x",
        n=share.n,
        verdict=judge(share.value, floor, aim),
    )


def best_batched(rows: Sequence[Row], preset: str, column: Column) -> dict[str, str]:
    """Returns for each shape the batched arm with the highest rate, chosen with hindsight."""
    found = {}
    for shape in SHAPES:
        mine = _of(rows, preset, shape)
        arms = dict.fromkeys(r.arm for r in mine if r.arm not in (SYNC.name, *OURS))
        rates = {
            name: fmean(by_seed(mine, name, column.key).values())
            for name in arms
            if by_seed(mine, name, column.key) and enough(mine, name, column)
        }
        if rates:
            found[shape] = max(sorted(rates), key=rates.__getitem__)
    return found


def _against_best(rows: Sequence[Row], preset: str) -> list[Verdict]:
    """Compares default with each shape's best batched setting, at the same C."""
    made = []
    for column in (PROPOSALS, SWEEPS):
        best = best_batched(rows, preset, column)
        found = speed(rows, preset, column, best)
        kept = {shape: best[shape] for shape in found.shapes} if found is not None else {}
        room = ceiling_of(rows, preset, kept)
        words = f"{preset}, {column.title}: default against the best of P x N and Combee"
        words += f" ({', '.join(dict.fromkeys(kept.values()))})" if kept else ""
        bounds = None if room is None else against_batched(room)
        made.append(_verdict(words, found, bounds, room))
    return made


# -- figures, sweeps and predictions ---------------------------------------------------------------


def _figures(rows: Sequence[Row], preset: str) -> list[Figure]:
    """Rates, and the share of the ceiling that was reached, by shape."""
    made = []
    for slug, column in (("rates", PROPOSALS), ("ceiling", SHARE)):
        lines = [_line(rows, preset, name, column) for name in _arms(rows, preset)]
        figure = Figure(
            name=f"bench-throughput-{slug}-{preset}",
            title=f"Throughput on {preset}, simulated",
            x="",
            y=column.title,
            lines=tuple(line for line in lines if line.x),
            kind="point",
            ticks=SHAPES,
            log=column is PROPOSALS,
        )
        made += [figure] if figure.lines else []
    return made


def _line(rows: Sequence[Row], preset: str, name: str, column: Column) -> Line:
    found = [own(_of(rows, preset, shape), name, column) for shape in SHAPES]
    known = [(i, e) for i, e in enumerate(found) if e is not None and e.value > 0]
    return Line(
        label=name,
        x=tuple(float(i) for i, _ in known),
        y=tuple(round(e.value, 5) for _, e in known),
        low=tuple(round(e.value if e.low is None else e.low, 5) for _, e in known),
        high=tuple(round(e.value if e.high is None else e.high, 5) for _, e in known),
    )


def _sweep(rows: Sequence[Row], kind: str) -> Table:
    """The same comparison over C, or over the size of the validation set, on ifbench."""
    lines = []
    for group in dict.fromkeys(r.group for r in rows if r.group.startswith(f"{kind}, ")):
        _, preset, value = group.split(", ")
        mine = [row for row in rows if row.group == group]
        cells = [_ratio(mine, DEFAULT_NAME, column) for column in (PROPOSALS, SWEEPS)]
        for name in (SYNC.name, DEFAULT_NAME):
            columns = (TOKENS, PER_PROPOSAL, SHARE)
            cells += [shown(own(mine, name, c), c.digits) for c in columns]
        lines.append((preset, value, *cells))
    columns_of = [
        f"{name}, {told}"
        for name in (SYNC.name, DEFAULT_NAME)
        for told in ("tokens/s", "k tokens/proposal", "share of ceiling, %")
    ]
    titles = ("backend", kind, "default / sync, proposals", "the same, sweeps", *columns_of)
    return Table(title=f"Over {kind}, ifbench", columns=titles, rows=tuple(lines))


def _closure(rows: Sequence[Row]) -> Table:
    """What the engine's own sync gives with the baseline's client, beside what it was fitted to."""
    lines = []
    for shape in SHAPES:
        mine = [r for r in rows if r.group == group_of(shape) and r.arm == SYNC.name]
        if not mine:
            continue
        found = [own(mine, SYNC.name, column) for column in (PROPOSALS, TOKENS, SWEEPS)]
        published = GEPA_TABLE[shape]
        lines.append(
            (
                shape,
                shown(found[0], 2),
                f"{published.proposals_per_min}",
                shown(found[1], 0),
                f"{published.tokens_per_s:g}",
                shown(found[2], 3),
            )
        )
    columns = (
        *("sync, baseline client", "proposals/min", "published"),
        *("tokens/s", "published", "sweeps/min"),
    )
    note = "Fitted, not predicted. HotpotQA's published token rate is unusable, and was not used."
    return Table(title="Closure of the shapes", columns=columns, rows=tuple(lines), notes=(note,))


def _predicted(rows: Sequence[Row]) -> Table:
    lines = [
        (f"Combee {p.batch}, {p.shape}", f"{p.found:.2f}", f"{p.published}", f"{p.error:+.2f}")
        for p in predictions(rows)
    ]
    columns = ("predicted, never fitted", "proposals/min", "published", "log error")
    return Table(title="Combee with the baseline's client", columns=columns, rows=tuple(lines))
