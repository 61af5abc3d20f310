"""What suites share: arms that several of them run, and jobs of arms by seeds."""

from collections.abc import Iterable, Sequence
from typing import Any

from flashevolve.bench import measure
from flashevolve.bench.cell import Arm, Cell, Job, Measure
from flashevolve.bench.compare import Column
from flashevolve.bench.suite import Options

SYNC = Arm(name="sync", settings={"schedule": "sync", "policy": "full"})
"""One step at a time, its requests in parallel: the baseline of every ratio."""

RATES: tuple[Measure, ...] = (measure.work, measure.fates, measure.backend, measure.ceiling)
LEARNING: tuple[Measure, ...] = (
    measure.work,
    measure.fronts,
    measure.fates,
    measure.quality,
    measure.backend,
)

POINTS = 100.0
"""Scores are told in points: hundredths."""
TEST = Column(key="test", title="test, points", digits=1, scale=POINTS)
GAP_TO_VAL = Column(key="gap_to_validation", title="val - test", digits=1, scale=POINTS)
FRONT_PER_HOUR = Column(
    key="front_per_hour", events="front", title="front/hour", digits=1, against="ratio"
)
TOKENS_PER_FRONT = Column(
    key="tokens",
    per="front",
    events="front",
    title="k tokens per front",
    digits=0,
    against="ratio",
    scale=1e-3,
)
PROPOSALS = Column(
    key="proposed_per_min", events="proposed", title="proposals/min", digits=2, against="ratio"
)
SWEEPS = Column(key="swept_per_min", events="swept", title="sweeps/min", digits=2, against="ratio")
ADMITTED = Column(
    key="admitted_per_min", events="admitted", title="admitted/min", digits=2, against="ratio"
)
IN_FLIGHT = Column(key="in_flight", title="in flight", digits=1)
CEILING = Column(key="share_of_ceiling", title="share of ceiling, %", digits=0, scale=100)
TARGET = Column(key="target_min", title="minutes to target", digits=1, against="ratio")
FRONT_TARGET = Column(
    key="front_target_min", title="minutes to its fronts", digits=1, against="ratio"
)
REACHED = Column(key="reached", title="reached it, %", digits=0, scale=100)
FRONT_REACHED = Column(key="front_reached", title="reached them, %", digits=0, scale=100)
AREAS = (
    Column(key="area_time", title="area, equal time", digits=1, scale=POINTS),
    Column(key="area_tokens", title="area, equal tokens", digits=1, scale=POINTS),
    Column(key="area_metric calls", title="area, equal metric calls", digits=1, scale=POINTS),
)


def arm(name: str, **settings: Any) -> Arm:
    """Returns an arm of the asynchronous engine, policy full unless `settings` say otherwise."""
    return Arm(name=name, settings={"policy": "full", **settings})


def jobs_of(
    suite: str,
    cell: Cell,
    arms: Iterable[Arm],
    seeds: int,
    measures: Sequence[Measure],
    group: str = "",
) -> list[Job]:
    """Returns a job for each seed and arm, all arms of a seed together."""
    arms = list(arms)
    return [
        Job(suite=suite, arm=a, cell=cell, seed=seed, measures=tuple(measures), group=group)
        for seed in range(seeds)
        for a in arms
    ]


def cell_of(options: Options, **given: Any) -> Cell:
    """Returns a cell, on the backend asked for, and tiny if `--quick` is asked for."""
    if options.preset is not None:
        given["preset"] = options.preset
    if options.quick:
        # Enough for what the arms differ in: fronts, stale steps, a prefix that is ahead.
        given |= {"n_val": 18, "n_test": 12 if given.get("n_test", 1) else 0}
        given |= {"metric_calls": 300} if given.get("metric_calls") else {"minutes": 4.0}
    return Cell(**given)
