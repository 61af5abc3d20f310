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
    NAME,
    OURS,
    OWN_CLIENT,
    group_of,
    report,
)

SIGMAS = (0.0, 0.5, 1.0)
SLOTS = 16
MEAN_S = {GEPA_FAMILY: 0.12, DSPY_FAMILY: 0.24}
"""Of a rollout."""
REFLECTION = 4.0
"""Times as long."""
METRIC_CALLS = {GEPA_FAMILY: 800, DSPY_FAMILY: 400}
N_TRAIN, N_VAL, N_TEST = 40, 20, 100
PER_CALL = 1.25
"""Slot time for each metric call, in rollouts: reflections included."""
START_S = 2.5
"""Real seconds of a job besides the client's own call: processes, imports, scoring on test."""
FEWER = 3
"""Arms that are known to be slow run on one seed in so many."""


def _peer(client: str, name: str, parents: int, proposals: int) -> Arm:
    settings = {"client": client, "parents": parents, "proposals": proposals}
    return Arm(name=f"{name} {parents} x {proposals}", settings=settings)


GEPA_GRID = tuple(_peer(GEPA, "gepa", p, n) for p, n in ((1, 1), (2, 2), (4, 4), (8, 4)))
DSPY_GRID = tuple(_peer(DSPY, "dspy.GEPA", p, n) for p, n in ((2, 2), (4, 4)))
DROP_IN_GEPA = Arm(name=OURS, settings={"client": DROP_IN})
DROP_IN_OF_DSPY = Arm(name=OURS, settings={"client": DROP_IN_DSPY})
OWN_ARM = Arm(name=OWN_CLIENT, settings={"client": OWN})
ARMS = {
    GEPA_FAMILY: (*GEPA_GRID, DROP_IN_GEPA, OWN_ARM),
    DSPY_FAMILY: (*DSPY_GRID, DROP_IN_OF_DSPY),
}
SELDOM = (*GEPA_GRID[:2], DSPY_GRID[0], OWN_ARM)
SHARES = {GEPA_GRID[0].name: 0.12, GEPA_GRID[1].name: 0.35, OURS: 0.85, OWN_CLIENT: 0.85}
"""Of the floor, roughly, where it is not a half: for the estimate of a suite's time alone."""


def jobs(options: Options) -> list[Job]:
    """Returns every client at every spread; those known to be slow on fewer seeds."""
    if options.quick:
        return [
            _job(options, GEPA_FAMILY, 0.5, one, seed)
            for seed in range(options.seeds)
            for one in (GEPA_GRID[2], OWN_ARM)
        ]
    return [
        _job(options, family, sigma, one, seed)
        for seed in range(options.seeds)
        for family, arms in ARMS.items()
        for sigma in SIGMAS
        for one in arms
        if one not in SELDOM or seed % FEWER == 0
    ]


def _job(options: Options, family: str, sigma: float, one: Arm, seed: int) -> Job:
    mean_s = 0.02 if options.quick else MEAN_S[family]
    n_calls = 96 if options.quick else METRIC_CALLS[family]
    means_s = {"task": mean_s, "reflect": REFLECTION * mean_s}
    n_val, n_test = (8, 8) if options.quick else (N_VAL, N_TEST)
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
    share = SHARES.get(one.name, 0.5)
    return Job(
        suite=NAME,
        arm=one,
        cell=cell,
        seed=seed,
        measures=(),
        group=group_of(family, sigma),
        execute=execute,
        real_s=START_S + calls_s / share,
    )


SUITE = Suite(
    name=NAME,
    about=ABOUT,
    seeds=3,
    jobs=jobs,
    report=report,
    can_measure=False,
    real_time=True,
    needs={"gepa": "gepa", "dspy": "dspy"},
)
