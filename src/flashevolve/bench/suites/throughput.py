"""Throughput: proposals and sweeps a minute on four published workloads (the paper's Table 1).

Shapes ask a backend for what the published workloads ask for, and learn nothing. Rates count from
the moment at which the seed is scored, which all arms do alike; slower arms run longer, so that
their rates are known as well. Every arm of a comparison has the same C.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from flashevolve.bench import stats
from flashevolve.bench.capacity import largest_c
from flashevolve.bench.cell import Arm, Cell, Job, Row
from flashevolve.bench.compare import Column, by_seed, own, shown
from flashevolve.bench.prediction import arm_of, group_of, predictions, ratio_warning
from flashevolve.bench.published import COMBEE_TABLE, GEPA_TABLE, SHAPES
from flashevolve.bench.report import Report, Table, head_of
from flashevolve.bench.steady import steady
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.common import RATES, SYNC
from flashevolve.bench.tasks import SHAPE

NAME = "throughput"
ABOUT = "proposals, sweeps and tokens on four published workloads, at the same C"
PRESETS = ("h100-qwen3-8b", "hosted-api")
LARGEST_C = {
    "h100-qwen3-8b": {"ifbench": 68, "hotpotqa": 24, "hover": 42, "aime": 99},
    "hosted-api": {"ifbench": 213, "hotpotqa": 120, "hover": 145, "aime": 342},
}
"""What `largest_c` gives; other backends are asked when they are needed."""
DEFAULT = Arm(name="default")


def _sync(name: str, **settings: Any) -> Arm:
    return Arm(name=name, settings={**SYNC.settings, **settings})


COMBEE = tuple(
    _sync(arm_of(batch), algorithm="combee", combee={"batch": batch}) for batch in COMBEE_TABLE
)
DYNAMIC = _sync("Combee dynamic", algorithm="combee", combee={"batch": "dynamic"})
SIZES = ((4, 4), (8, 8), (16, 8))
GRID = tuple(_sync(f"{p} x {n}", gepa={"parents": p, "proposals": n}) for p, n in SIZES)
"""gepa's P x N, all in one step of four barriers; only where P x N is at most C."""
BATCHED = (*GRID, *COMBEE, DYNAMIC)
HOSTED = (*GRID[1:], COMBEE[1])
"""Of these, what the hosted backend is asked: its answers take more of this machine's time."""
SYNC_MINUTES = {"ifbench": 60.0, "hotpotqa": 240.0, "hover": 240.0, "aime": 600.0}
"""Virtual minutes of sync: long enough for its sweeps to be counted. Quick = one for all arms."""
BATCHED_MINUTES = {"ifbench": 40.0, "hotpotqa": 40.0, "hover": 60.0, "aime": 60.0}
HOSTED_MINUTES = {"ifbench": 20.0, "hotpotqa": 20.0, "hover": 40.0, "aime": 40.0}
"""The hosted backend's batched arms and default: short where many calls fit into a minute."""
ASYNC_MINUTES, SWEPT_MINUTES, BASELINE_MINUTES = 40.0, 20.0, 40.0
"""Of default, of default in the sweeps over C and N_val, and of the baseline's client."""
SWEPT_SHARE = 3
"""One seed in so many takes part in the sweeps over C and N_val."""
C_SWEEP, N_VAL_SWEEP = (16, 64, 256), (60, 300)

TARGETS = {"h100-qwen3-8b": (3.5, 8.0), "hosted-api": (4.9, 12.0)}
"""By backend: at least, and aim, of proposals/min and of sweeps/min against sync."""
FLOOR_OF_CEILING, AIM_OF_CEILING = 0.85, 0.95
FLOOR_OF_GAIN = 0.80

PROPOSALS = Column(key="steady_proposed_per_min", title="proposals/min")
SWEEPS = Column(key="steady_swept_per_min", title="sweeps/min", digits=3)
TOKENS = Column(key="steady_tokens_out_per_s", title="output tokens/s", digits=0)
SHARE = Column(key="share_of_ceiling", title="share of ceiling, %", digits=0, scale=100)


# -- jobs ------------------------------------------------------------------------------------------


def jobs(options: Options) -> list[Job]:
    """Returns the comparisons on each backend, both sweeps, and the prediction of Combee."""
    presets = (options.preset,) if options.preset else PRESETS[: 1 if options.quick else None]
    n_swept = 0 if options.quick else max(1, options.seeds // SWEPT_SHARE)
    made: list[Job] = []
    for seed in range(options.seeds):
        for preset in presets:
            for shape in SHAPES:
                made += _main_jobs(options, preset, shape, seed)
            for c in C_SWEEP if seed < n_swept else ():
                made += _jobs(options, f"C, {preset}, {c}", preset, "ifbench", seed, c=c)
            for n_val in N_VAL_SWEEP if seed < n_swept else ():
                group = f"N_val, {preset}, {n_val}"
                made += _jobs(options, group, preset, "ifbench", seed, n_val=n_val)
        if PRESETS[0] in presets:
            for shape in SHAPES:
                made += _prediction_jobs(options, shape, seed)
    return made


def capacity(preset: str, shape: str) -> int:
    """Returns C of all arms of one shape on one backend."""
    known = LARGEST_C.get(preset)
    return known[shape] if known else largest_c(preset, shape)


def _main_jobs(options: Options, preset: str, shape: str, seed: int) -> list[Job]:
    c = capacity(preset, shape)
    batched = HOSTED if preset == PRESETS[1] else BATCHED
    fits = {one.name for one, (p, n) in zip(GRID, SIZES, strict=True) if p * n <= c}
    arms = [one for one in batched if one not in GRID or one.name in fits]
    if options.quick:
        arms = [GRID[0], COMBEE[0]]
    group = main_group(preset, shape)
    return _jobs(options, group, preset, shape, seed, (SYNC, *arms, DEFAULT), c=c)


def main_group(preset: str, shape: str) -> str:
    """Returns the group of rows of one shape on one backend."""
    return f"{preset}, {shape}"


def _jobs(
    options: Options,
    group: str,
    preset: str,
    shape: str,
    seed: int,
    arms: Iterable[Arm] = (SYNC, DEFAULT),
    *,
    c: int | None = None,
    n_val: int | None = None,
) -> list[Job]:
    c = c or capacity(preset, shape)
    return [
        _job(
            options,
            group,
            one,
            seed,
            preset=preset,
            shape=shape,
            c=c,
            n_val=n_val,
            minutes=_minutes(one, preset, shape, swept=group != main_group(preset, shape)),
        )
        for one in arms
    ]


def _minutes(one: Arm, preset: str, shape: str, *, swept: bool) -> float:
    if one == SYNC:
        return SYNC_MINUTES[shape]
    if swept:
        return SWEPT_MINUTES
    if preset == PRESETS[1]:
        return HOSTED_MINUTES[shape]
    return ASYNC_MINUTES if one == DEFAULT else BATCHED_MINUTES[shape]


def _prediction_jobs(options: Options, shape: str, seed: int) -> list[Job]:
    from flashevolve.simulate.world import load_world

    return [
        _job(
            options,
            group_of(shape),
            one,
            seed,
            preset=PRESETS[0],
            shape=shape,
            c=load_world().shape(shape).baseline_in_flight,
            minutes=BASELINE_MINUTES,
        )
        for one in (SYNC, *COMBEE)
    ]


def _job(
    options: Options,
    group: str,
    one: Arm,
    seed: int,
    *,
    preset: str,
    shape: str,
    c: int,
    minutes: float,
    n_val: int | None = None,
) -> Job:
    from flashevolve.simulate.world import load_world

    settings = load_world().shape(shape)
    cell = Cell(
        task=f"{SHAPE}{shape}",
        preset=preset,
        concurrency=c,
        n_train=settings.n_train,
        n_val=12 if options.quick else n_val or settings.n_val,
        n_test=0,
        minutes=1.0 if options.quick else minutes,
    )
    return Job(suite=NAME, arm=one, cell=cell, seed=seed, measures=(*RATES, steady), group=group)


# -- the report ------------------------------------------------------------------------------------


def report(rows: Sequence[Row], command: str) -> Report:
    """Tells rates and ratios per shape, what the targets ask for, and how Combee is predicted."""
    presets = [p for p in _presets(rows) if any(r.group.startswith(f"{p}, ") for r in rows)]
    tables: list[Table] = []
    findings: list[str] = []
    for preset in presets:
        tables += [_rates(rows, preset), _ratios(rows, preset)]
        findings += targets(rows, preset)
    for kind in ("C", "N_val"):
        tables += [_sweep(rows, kind)] if any(r.group.startswith(f"{kind}, ") for r in rows) else []
    tables += [table for table in (_closure(rows), _predicted(rows)) if table.rows]
    warning = ratio_warning(rows)
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command),
        tables=tuple(tables),
        findings=tuple(findings),
        warnings=(warning,) if warning else (),
    )


def _presets(rows: Sequence[Row]) -> list[str]:
    found = (row.group.partition(", ")[0] for row in rows)
    return [p for p in dict.fromkeys(found) if p not in ("C", "N_val", "baseline client")]


def _of(rows: Sequence[Row], preset: str, shape: str) -> list[Row]:
    return [row for row in rows if row.group == main_group(preset, shape)]


def _rates(rows: Sequence[Row], preset: str) -> Table:
    """Each arm's own rates; the ceiling is what its own calls could gain at the same C."""
    lines = []
    for shape in SHAPES:
        mine = _of(rows, preset, shape)
        for name in dict.fromkeys(row.arm for row in mine):
            columns = (PROPOSALS, SWEEPS, TOKENS, SHARE)
            cells = [shown(own(mine, name, column), column.digits) for column in columns]
            share = own(mine, name, SHARE)
            cells.append(f"{100 / share.value:.2f} x" if share and share.value else "-")
            lines.append((shape, name, *cells))
    titles = ("shape", "arm", PROPOSALS.title, SWEEPS.title, TOKENS.title, SHARE.title, "ceiling")
    return Table(title=f"Rates, {preset}", columns=titles, rows=tuple(lines))


def _ratios(rows: Sequence[Row], preset: str) -> Table:
    """Each arm against sync, by shape and as the geometric mean of those that can tell."""
    arms = dict.fromkeys(r.arm for r in rows if r.group.startswith(f"{preset}, "))
    lines = []
    for name in arms:
        if name == SYNC.name:
            continue
        for column in (PROPOSALS, SWEEPS):
            cells = [_ratio(_of(rows, preset, shape), name, column) for shape in SHAPES]
            mean = shown(geometric(rows, preset, name, SYNC.name, column), 2)
            lines.append((name, column.title, *cells, mean))
    columns = ("against sync", "of", *SHAPES, "geometric mean")
    note = "Where a shape has no sweep under an arm, its ratio and the mean leave it out."
    return Table(title=f"Against sync, {preset}", columns=columns, rows=tuple(lines), notes=(note,))


def _ratio(rows: Sequence[Row], name: str, column: Column) -> str:
    ours, theirs = by_seed(rows, name, column.key), by_seed(rows, SYNC.name, column.key)
    return shown(stats.ratio(ours, theirs), 2)


def geometric(
    rows: Sequence[Row], preset: str, name: str, baseline: str, column: Column
) -> stats.Estimate | None:
    """Returns the geometric mean over shapes of one arm's rate over another's, paired by seed."""
    pairs = []
    for shape in SHAPES:
        mine = _of(rows, preset, shape)
        ours, theirs = by_seed(mine, name, column.key), by_seed(mine, baseline, column.key)
        if sum(ours.values()) > 0 and sum(theirs.values()) > 0:
            pairs.append((ours, theirs))
    return stats.geometric_ratio(pairs) if pairs else None


def ceiling_of(rows: Sequence[Row], preset: str, name: str) -> float | None:
    """Returns how much faster an arm's calls could have been served: geometric mean over shapes."""
    shares = []
    for shape in SHAPES:
        found = by_seed(_of(rows, preset, shape), name, SHARE.key)
        if found and fmean(found.values()) > 0:
            shares.append(fmean(found.values()))
    return math.exp(-fmean(map(math.log, shares))) if shares else None


def targets(rows: Sequence[Row], preset: str) -> list[str]:
    """Returns a sentence for each target: what was reached, and whether it holds."""
    lines = []
    floor, aim = TARGETS.get(preset, TARGETS[PRESETS[1]])
    ceiling = ceiling_of(rows, preset, SYNC.name)
    for column in (PROPOSALS, SWEEPS):
        found = geometric(rows, preset, DEFAULT.name, SYNC.name, column)
        if found is not None and ceiling is not None:
            lines.append(_judged(preset, column, found, ceiling, floor, aim))
    for shape in SHAPES:
        share = own(_of(rows, preset, shape), DEFAULT.name, SHARE)
        if share is not None:
            verdict = _verdict(share.value / 100, FLOOR_OF_CEILING, AIM_OF_CEILING)
            lines.append(
                f"{preset}, {shape}: default reaches {shown(share, 0)} % of its work-conserving "
                f"ceiling (floor 85, aim 95): {verdict}"
            )
    return [*lines, *_against_best(rows, preset, floor)]


def _judged(
    preset: str,
    column: Column,
    found: stats.Estimate,
    ceiling: float,
    floor: float,
    aim: float,
) -> str:
    least, wanted = min(floor, FLOOR_OF_CEILING * ceiling), min(aim, AIM_OF_CEILING * ceiling)
    return (
        f"{preset}, {column.title}: default is {shown(found, 2)} x sync (geometric mean; floor "
        f"{least:.2f}, aim {wanted:.2f}; sync's ceiling {ceiling:.2f}): "
        f"{_verdict(found.value, least, wanted)}"
    )


def _verdict(value: float, floor: float, aim: float) -> str:
    if value >= aim:
        return "holds, and the aim too"
    return "holds" if value >= floor else "MISSED"


def _against_best(rows: Sequence[Row], preset: str, floor: float) -> list[str]:
    """Compares default with the batched setting that is best in hindsight, at the same C.

    The floor's gain is what sync's floor asks for; where the best setting leaves less room than
    that below its own ceiling, 80 % of the room counts.
    """
    lines = []
    for column in (PROPOSALS, SWEEPS):
        means = {a.name: geometric(rows, preset, a.name, SYNC.name, column) for a in BATCHED}
        known = {name: mean.value for name, mean in means.items() if mean is not None}
        if not known:
            continue
        best = max(sorted(known), key=known.__getitem__)
        found = geometric(rows, preset, DEFAULT.name, best, column)
        room = ceiling_of(rows, preset, best)
        if found is None or room is None:
            continue
        least = FLOOR_OF_GAIN * min(floor, room)
        lines.append(
            f"{preset}, {column.title}: default is {shown(found, 2)} x {best}, the best of P x N "
            f"and Combee (ceiling {room:.2f}; floor {least:.2f} = 80 % of the lower of that and "
            f"{floor}): {'holds' if found.value >= least else 'MISSED'}"
        )
    return lines


def _sweep(rows: Sequence[Row], kind: str) -> Table:
    """The same comparison over C, or over the size of the validation set, on ifbench."""
    lines = []
    for group in dict.fromkeys(r.group for r in rows if r.group.startswith(f"{kind}, ")):
        _, preset, value = group.split(", ")
        mine = [row for row in rows if row.group == group]
        cells = [_ratio(mine, DEFAULT.name, column) for column in (PROPOSALS, SWEEPS)]
        for name in (SYNC.name, DEFAULT.name):
            cells += [shown(own(mine, name, c), c.digits) for c in (TOKENS, SHARE)]
        lines.append((preset, value, *cells))
    columns = (
        *("backend", kind, "default / sync, proposals", "the same, sweeps"),
        *("sync, tokens/s", "sync, share of ceiling, %"),
        *("default, tokens/s", "default, share of ceiling, %"),
    )
    notes: tuple[str, ...] = ()
    if kind == "C":
        told = ", ".join(
            f"{preset} {by_shape['ifbench']}" for preset, by_shape in LARGEST_C.items()
        )
        notes = (f"Largest C from which a tenth more brings 5 % throughput: {told}.",)
    return Table(title=f"Over {kind}, ifbench", columns=columns, rows=tuple(lines), notes=notes)


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


SUITE = Suite(name=NAME, about=ABOUT, seeds=3, jobs=jobs, report=report)
