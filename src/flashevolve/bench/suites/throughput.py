"""Throughput: proposals and sweeps a minute on four published workloads (the paper's Table 1).

Shapes ask a backend for what the published workloads ask for, and learn nothing. Rates count from
the moment at which the seed is scored, which all arms do alike; slower arms run longer, so that
their rates are known as well. Every arm of a comparison has the same C.
"""

from collections.abc import Iterable
from typing import Any

from flashevolve.bench.capacity import largest_c
from flashevolve.bench.cell import Arm, Cell, Job
from flashevolve.bench.prediction import arm_of, group_of
from flashevolve.bench.published import COMBEE_TABLE, SHAPES
from flashevolve.bench.steady import steady
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.common import RATES, SYNC
from flashevolve.bench.suites.throughput_report import ABOUT, NAME, main_group, report
from flashevolve.bench.tasks import SHAPE

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


SUITE = Suite(name=NAME, about=ABOUT, seeds=5, jobs=jobs, report=report)
