"""Staleness: what it costs and what repairing it is worth (the paper's Figure 5), with controls.

Reflective is credited only with what exceeds its controls: the same call with the stale text
withheld (regenerate), without history, with the history of other times, and sync given the same
extra calls.
"""

from collections.abc import Sequence
from typing import Any

from flashevolve.bench.cell import Arm, Job, Row
from flashevolve.bench.compare import (
    Column,
    against,
    anytime,
    arms_of,
    finding,
    values,
    with_equal,
)
from flashevolve.bench.report import Report, Table, head_of
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.common import (
    AREAS,
    FRONT_PER_HOUR,
    GAP_TO_VAL,
    LEARNING,
    SYNC,
    TEST,
    TOKENS_PER_FRONT,
    arm,
    cell_of,
    jobs_of,
)

NAME = "staleness"
ABOUT = "what staleness costs, and what each way of treating it is worth beside its controls"
TIME, WORK, KNOB = "equal time", "equal work", "W"
REFLECTIVE = "reflective"
CONTROLS = ("regenerate", "no history", "shuffled history", "sync, extra calls")
ARMS = (
    SYNC,
    arm("full"),
    arm("guarded", policy="guarded"),
    arm(REFLECTIVE, policy="reflective"),
    arm("batched repair", policy="reflective", staleness={"repair_batch": 4}),
    arm("regenerate", policy="regenerate"),
    arm("no history", policy="reflective", staleness={"history": "none"}),
    arm("shuffled history", policy="reflective", staleness={"history": "shuffled"}),
    arm("sync, extra calls", schedule="sync", policy="reflective", staleness={"when": "always"}),
)
WINDOWS = (2, 4, 8, 16, 32)
GUARDS = tuple(
    arm(f"guarded, delta_max={n}", policy="guarded", staleness={"delta_max": n}) for n in (2, 8)
)
DUPLICATES = Column(key="duplicate_share", title="duplicates, %", digits=1, scale=100)
DEPTH = Column(key="depth_of_best", title="depth of best", digits=2)
MEAN_DEPTH = Column(key="depth", title="mean depth", digits=2)
GAP = Column(key="gap", title="gap", digits=2)
REPAIR_CALLS = Column(key="repair_calls", title="repair calls a run", digits=1)
FATES = (
    GAP,
    Column(key="stale_share", title="stale, %", digits=0, scale=100),
    Column(key="discarded_share", title="discarded, %", digits=0, scale=100),
    Column(key="repaired_share", title="repaired, %", digits=0, scale=100),
    DUPLICATES,
    DEPTH,
    MEAN_DEPTH,
    REPAIR_CALLS,
)
BUILT_IN = (
    "WARNING: part of this is built into the simulated reader (docs/simulation.md). What repair "
    "brings it, the stale text brings, and nothing else: that reflective beats regenerate here is "
    "no evidence about a real model; and it learns nothing from updates, so that `history` changes "
    "no verdict on the same texts, only the time that it takes."
)


def _windowed(policy: str, w: int) -> Arm:
    """Always W steps in flight: adaptive control would keep fewer, and W would say little."""
    return arm(
        f"{policy}, W={w}", policy=policy, limits={"in_flight": w}, control={"mode": "fixed"}
    )


def jobs(options: Options) -> list[Job]:
    """Returns all arms at equal time and at equal work; W and delta_max swept on some seeds."""
    common: dict[str, Any] = {"concurrency": 32, "n_val": 50, "n_test": 100}
    by_time = cell_of(options, **common, minutes=8.0)
    by_work = cell_of(options, **common, metric_calls=1000)
    n_knob = max(1, options.seeds // 4)
    windows = WINDOWS[:1] if options.quick else WINDOWS
    swept = [_windowed(policy, w) for w in windows for policy in ("full", REFLECTIVE)]
    return [
        *jobs_of(NAME, by_time, ARMS, options.seeds, LEARNING, TIME),
        *jobs_of(NAME, by_work, ARMS, options.seeds, LEARNING, WORK),
        *jobs_of(NAME, by_work, [SYNC, *swept, *GUARDS], n_knob, LEARNING, KNOB),
    ]


def report(rows: Sequence[Row], command: str) -> Report:
    """Compares the arms with sync, and reflective with its controls."""
    tables: list[Table] = []
    findings: list[str | None] = []
    figures = []
    for group in (TIME, WORK):
        mine = with_equal([row for row in rows if row.group == group], SYNC.name)
        if not mine:
            continue
        own = (TEST, GAP_TO_VAL, FRONT_PER_HOUR, TOKENS_PER_FRONT, REPAIR_CALLS)
        tables.append(values(f"At {group}", mine, own))
        relative = (TEST, *AREAS, GAP_TO_VAL, FRONT_PER_HOUR, TOKENS_PER_FRONT)
        tables.append(against(f"At {group}, paired with sync", mine, SYNC.name, relative))
        tables.append(values(f"At {group}: what became of the steps", mine, FATES))
        if REFLECTIVE in arms_of(mine):
            paired = (TEST, *AREAS, FRONT_PER_HOUR)
            kept = [row for row in mine if row.arm in (REFLECTIVE, "full", *CONTROLS)]
            title = f"At {group}, paired with reflective"
            tables.append(against(title, kept, REFLECTIVE, paired))
        for other in arms_of(mine):
            if other != SYNC.name:
                findings.append(finding(mine, other, SYNC.name, TEST, f"test points, {group}"))
        for control in ("full", *CONTROLS):
            words = f"test points, {group}: what reflective adds"
            findings.append(finding(mine, REFLECTIVE, control, TEST, words))
        slug = group.replace(" ", "-")
        axis = "time" if group == TIME else "metric calls"
        title = f"Staleness at {group}: test score"
        figures.append(anytime(f"bench-staleness-{slug}", title, mine, axis))
    knob = with_equal([row for row in rows if row.group == KNOB], SYNC.name)
    if knob:
        columns = (*FATES, GAP_TO_VAL)
        tables.append(values("W swept at equal work: what became of the steps", knob, columns))
        tables.append(against("W swept at equal work", knob, SYNC.name, (TEST, *AREAS)))
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command),
        tables=tuple(tables),
        findings=tuple(line for line in findings if line is not None),
        figures=tuple(figures),
        warnings=(BUILT_IN,) if any(row.simulated for row in rows) else (),
    )


SUITE = Suite(name=NAME, about=ABOUT, seeds=100, jobs=jobs, report=report)
