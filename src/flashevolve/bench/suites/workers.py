"""Workers: how many steps each stage works on at once (the paper's Figure 6 a and b)."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashevolve.bench.cell import Arm, Job, Row
from flashevolve.bench.compare import (
    Column,
    against,
    arms_of,
    finding,
    own,
    points,
    values,
    with_equal,
)
from flashevolve.bench.measure import ceiling
from flashevolve.bench.report import Report, head_of
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.common import (
    ADMITTED,
    CEILING,
    FRONT_PER_HOUR,
    IN_FLIGHT,
    LEARNING,
    PROPOSALS,
    SWEEPS,
    SYNC,
    TEST,
    TOKENS_PER_FRONT,
    arm,
    cell_of,
    jobs_of,
)
from flashevolve.bench.targets import Target, best_of, verdicts

NAME = "workers"
ABOUT = "fixed numbers of workers, the paper's rule and the adaptive one, at equal time"
DEFAULT = "default"
FULL = ("full, adaptive", "full, fixed")
STAGES = ("rollout", "propose", "screen", "evaluate")
GAP = Column(key="gap", title="gap", digits=1)


def _controlled(name: str, **control: Any) -> Arm:
    """The default configuration, but for who decides."""
    return Arm(name=name, settings={"control": control})


def _fixed(name: str, workers: Mapping[str, int]) -> Arm:
    return _controlled(name, mode="fixed", workers=dict(workers))


def _paper_setting(k1: int, k3: int) -> Arm:
    """K1 workers until the gate, K3 in evaluation, as Figure 6 has them."""
    before = dict.fromkeys(STAGES[:3], k1)
    return _fixed(f"K1={k1}, K3={k3}", {**before, "evaluate": k3})


FIXED = (
    _paper_setting(1, 1),
    _paper_setting(16, 8),
    _paper_setting(4, 4),
    _paper_setting(8, 2),
    _paper_setting(8, 8),
    _paper_setting(16, 2),
    _paper_setting(64, 64),
)
"""Figure 6's two settings first, then a grid."""
ARMS = (
    SYNC,
    *FIXED,
    _controlled("paper's rule", mode="paper"),
    _controlled("paper's rule from 4", mode="paper", workers=dict.fromkeys(STAGES, 4)),
    Arm(name=DEFAULT),
    arm(FULL[0], control={"mode": "adaptive"}),
    arm(FULL[1], control={"mode": "fixed"}),
)
"""All but sync and the last two differ in control alone; these switch it under policy full."""


def _target(rows: Sequence[Row], best: str) -> Target:
    """The best fixed setting is chosen with hindsight, which flatters it."""
    share = own(rows, best, CEILING)
    return Target(
        words="front per hour, the best fixed setting of the grid",
        arm=DEFAULT,
        baseline=best,
        column=FRONT_PER_HOUR,
        floor=0.9,
        aim=1.1,
        ceiling=100 / share.value if share is not None and share.value else None,
    )


def jobs(options: Options) -> list[Job]:
    """Returns all arms for ten minutes."""
    cell = cell_of(options, n_val=60, n_test=100, minutes=10.0)
    return jobs_of(NAME, cell, ARMS, options.seeds, (*LEARNING, ceiling))


def report(rows: Sequence[Row], command: str) -> Report:
    """Compares rates, and adaptive with the best fixed setting."""
    rows = with_equal(rows, SYNC.name)
    shown = (PROPOSALS, SWEEPS, ADMITTED, FRONT_PER_HOUR, TOKENS_PER_FRONT, GAP, IN_FLIGHT, CEILING)
    relative = (PROPOSALS, SWEEPS, ADMITTED, FRONT_PER_HOUR, TOKENS_PER_FRONT, TEST)
    findings = [
        finding(rows, a, SYNC.name, FRONT_PER_HOUR, "front per hour")
        for a in arms_of(rows)
        if a != SYNC.name
    ]
    best = best_of(rows, [a.name for a in FIXED], FRONT_PER_HOUR)
    pairs = [FULL, *([(DEFAULT, best)] if best is not None else [])]
    findings += [
        finding(rows, one, other, column, f"{words}, adaptive control against fixed")
        for one, other in pairs
        for column, words in ((FRONT_PER_HOUR, "front per hour"), (TEST, "test points"))
    ]
    asked = [_target(rows, best)] if best is not None else []
    figure = points("bench-workers", "Workers: front per hour", rows, FRONT_PER_HOUR)
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command),
        tables=(
            values("Rates", rows, shown),
            against("Paired by seed", rows, SYNC.name, relative),
        ),
        verdicts=verdicts(rows, asked),
        findings=tuple(filter(None, findings)),
        figures=(figure,),
    )


SUITE = Suite(name=NAME, about=ABOUT, seeds=30, jobs=jobs, report=report)
