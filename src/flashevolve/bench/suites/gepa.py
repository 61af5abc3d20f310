"""gepa: the installed gepa and dspy.GEPA, and ours in their place, in real time over real HTTP.

All clients of a group have the same examples, budget, slots and distribution of latencies, and each
runs in a process of its own against an endpoint of its own. Latencies are chosen so that no client
comes near one processor: DSPy's client takes several times the CPU of the others for each call. A
reflection takes four times as long as a rollout, as in the probe of gepa whose use of its pool the
targets were set beside, and N_val is that probe's.
"""

from flashevolve.bench.cell import Arm, Cell, Job
from flashevolve.bench.realtime.execute import execute
from flashevolve.bench.realtime.worker import DROP_IN, DROP_IN_DSPY, DSPY, GEPA, OWN
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.gepa_report import (
    ABOUT,
    DSPY_FAMILY,
    GEPA_FAMILY,
    LONGER,
    NAME,
    OURS,
    OWN_CLIENT,
    group_of,
    report,
)

SIGMAS = (0.0, 0.5, 1.0)
SLOTS = 16
MEAN_S = {GEPA_FAMILY: 0.12, DSPY_FAMILY: 0.2}
"""Of a rollout."""
REFLECTION = 4.0
"""Times as long."""
METRIC_CALLS = {GEPA_FAMILY: 1500, DSPY_FAMILY: 400}
"""Enough that cold start and last answers are the smaller part of a run of ours."""
N_TRAIN, N_VAL = 40, 20
N_TEST = {GEPA_FAMILY: 200, DSPY_FAMILY: 100}
PER_CALL = 1.4
"""Slot time for each metric call, in rollouts: reflections included."""
START_S = {GEPA_FAMILY: 2.0, DSPY_FAMILY: 5.0}
"""Real seconds of a job besides the client's own call: processes, imports, scoring on test."""
EVERY, MIDDLE = 5, 0.5
"""The whole grid runs on one seed in so many, the slowest settings at one spread alone."""
DSPY_SEEDS = 3
"""Of each `EVERY`: its runs are the dearest in processor time, and these are what fits."""


AT_ONCE = 2
"""Runs at a time: each takes a third of a processor, its endpoint included, and waits otherwise."""


def _peer(client: str, name: str, parents: int, proposals: int) -> Arm:
    settings = {"client": client, "parents": parents, "proposals": proposals}
    return Arm(name=f"{name} {parents} x {proposals}", settings=settings)


GEPA_GRID = tuple(
    _peer(GEPA, "gepa", p, n)
    for p, n in ((1, 1), (2, 2), (4, 4), (16, 1), (8, 4), (8, 8), (16, 8), (16, 16))
)
"""Up to more proposals a step than the budget pays, so that the fastest lies within."""
DSPY_GRID = tuple(_peer(DSPY, "dspy.GEPA", p, n) for p, n in ((2, 2), (4, 4), (8, 4), (8, 8)))
DROP_IN_GEPA = Arm(name=OURS, settings={"client": DROP_IN})
DROP_IN_OF_DSPY = Arm(name=OURS, settings={"client": DROP_IN_DSPY})
OWN_ARM = Arm(name=OWN_CLIENT, settings={"client": OWN})
ARMS = {
    GEPA_FAMILY: (*GEPA_GRID, DROP_IN_GEPA, OWN_ARM),
    DSPY_FAMILY: (*DSPY_GRID, DROP_IN_OF_DSPY),
}
ON_ALL_SEEDS = ("gepa 8 x 8", "gepa 16 x 8", "dspy.GEPA 8 x 4", OURS)
"""The fastest of a first trial of the grid, and ours."""
AT_MIDDLE = ("gepa 1 x 1", "dspy.GEPA 8 x 8")
"""The slowest of each grid."""
LONG = ("gepa 8 x 8", OURS)
SHARES = {
    "gepa 1 x 1": 0.1, "gepa 2 x 2": 0.3, "gepa 4 x 4": 0.6, "gepa 16 x 1": 0.6, "gepa 8 x 4": 0.7,
    "gepa 8 x 8": 0.8, "gepa 16 x 8": 0.5, "gepa 16 x 16": 0.55,
    "dspy.GEPA 8 x 8": 0.12,
}  # fmt: skip
OUR_SHARE, DSPY_SHARE = 0.8, 0.25
"""Of the floor, as a first trial had them, less what they overshoot: for the suite's time alone."""


def jobs(options: Options) -> list[Job]:
    """Returns every client at every spread; the whole grid of the peers on fewer seeds."""
    seeds = range(options.seeds)
    if options.quick:
        return [
            _job(options, GEPA_FAMILY, MIDDLE, one, seed)
            for seed in seeds
            for one in (GEPA_GRID[2], DROP_IN_GEPA)
        ]
    usual = [
        _job(options, family, sigma, one, seed)
        for seed in seeds
        for family, arms in ARMS.items()
        for sigma in SIGMAS
        for one in arms
        if _runs(family, one, sigma, seed)
    ]
    longer = [
        _job(options, GEPA_FAMILY, sigma, one, seed, LONGER)
        for seed in seeds
        if seed % EVERY == 0
        for sigma in SIGMAS
        for one in ARMS[GEPA_FAMILY]
        if one.name in LONG
    ]
    return [*usual, *longer]


def _runs(family: str, one: Arm, sigma: float, seed: int) -> bool:
    if one.name in AT_MIDDLE and sigma != MIDDLE:
        return False
    if family == DSPY_FAMILY and seed % EVERY >= DSPY_SEEDS:
        return False
    return one.name in ON_ALL_SEEDS or seed % EVERY == 0


def _job(options: Options, family: str, sigma: float, one: Arm, seed: int, times: int = 1) -> Job:
    mean_s = 0.01 if options.quick else MEAN_S[family]
    n_calls = 72 if options.quick else METRIC_CALLS[family] * times
    means_s = {"task": mean_s, "reflect": REFLECTION * mean_s}
    n_val, n_test = (8, 8) if options.quick else (N_VAL, N_TEST[family])
    cell = Cell(
        preset=options.preset or "h100-qwen3-8b",
        concurrency=SLOTS,
        n_train=N_TRAIN,
        n_val=n_val,
        n_test=n_test,
        metric_calls=n_calls,
        settings={"endpoint": {"means_s": means_s, "sigma": sigma}},
    )
    calls_s = n_calls * mean_s * PER_CALL / SLOTS
    ours = one.name in (OURS, OWN_CLIENT)
    share = OUR_SHARE if ours else SHARES.get(one.name, DSPY_SHARE)
    return Job(
        suite=NAME,
        arm=one,
        cell=cell,
        seed=seed,
        measures=(),
        group=group_of(family, sigma, times),
        execute=execute,
        real_s=START_S[family] + calls_s / share,
    )


SUITE = Suite(
    name=NAME,
    about=ABOUT,
    seeds=5,
    jobs=jobs,
    report=report,
    can_measure=False,
    real_time=True,
    at_once=AT_ONCE,
    needs={"gepa": "gepa", "dspy": "dspy"},
    quick_needs={"gepa": "gepa"},
)
