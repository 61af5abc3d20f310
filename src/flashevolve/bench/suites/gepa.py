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
FEWER, MIDDLE = 3, 0.5
"""Arms that are known to be slow run on one seed in so many, the slowest at one spread."""


AT_ONCE = 2
"""Runs at a time: each takes a third of a processor, its endpoint included, and waits otherwise."""


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
SLOW = (*GEPA_GRID[:2], DSPY_GRID[0])
SELDOM = (*SLOW, OWN_ARM)
SHARES = {"gepa 1 x 1": 0.1, "gepa 2 x 2": 0.3, "gepa 4 x 4": 0.6, "gepa 8 x 4": 0.65}
OUR_SHARE, DSPY_SHARE = 0.8, 0.2
"""Of the floor, as a first trial had them: for the estimate of a suite's time alone."""


def jobs(options: Options) -> list[Job]:
    """Returns every client at every spread; those known to be slow on fewer seeds."""
    if options.quick:
        return [
            _job(options, GEPA_FAMILY, 0.5, one, seed)
            for seed in range(options.seeds)
            for one in (GEPA_GRID[2], DROP_IN_GEPA)
        ]
    return [
        _job(options, family, sigma, one, seed)
        for seed in range(options.seeds)
        for family, arms in ARMS.items()
        for sigma in SIGMAS
        for one in arms
        if _runs(one, sigma, seed)
    ]


def _runs(one: Arm, sigma: float, seed: int) -> bool:
    if one in SLOW and sigma != MIDDLE:
        return False
    return one not in SELDOM or seed % FEWER == 0


def _job(options: Options, family: str, sigma: float, one: Arm, seed: int) -> Job:
    mean_s = 0.01 if options.quick else MEAN_S[family]
    n_calls = 72 if options.quick else METRIC_CALLS[family]
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
        group=group_of(family, sigma),
        execute=execute,
        real_s=START_S[family] + calls_s / share,
    )


SUITE = Suite(
    name=NAME,
    about=ABOUT,
    seeds=3,
    jobs=jobs,
    report=report,
    can_measure=False,
    real_time=True,
    at_once=AT_ONCE,
    needs={"gepa": "gepa", "dspy": "dspy"},
)
