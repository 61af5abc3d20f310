"""Evolution: what each way of running finds in half an hour (the paper's Table 2 and Figure 4)."""

from collections.abc import Sequence
from dataclasses import replace

from flashevolve.bench.cell import Arm, Job, Row
from flashevolve.bench.compare import (
    Column,
    against,
    anytime,
    arms_of,
    compared,
    finding,
    own,
    told,
    values,
    with_equal,
    without_target,
)
from flashevolve.bench.measure import ceiling, null_gate
from flashevolve.bench.report import Report, Table, head_of
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.common import (
    AREAS,
    CEILING,
    FRONT_PER_HOUR,
    FRONT_REACHED,
    FRONT_TARGET,
    GAP_TO_VAL,
    LEARNING,
    PROPOSALS,
    REACHED,
    SWEEPS,
    SYNC,
    TARGET,
    TEST,
    TOKENS_PER_FRONT,
    arm,
    cell_of,
    jobs_of,
)
from flashevolve.bench.targets import Target, against_batched, best_of, verdicts

NAME = "evolution"
ABOUT = (
    "sync GEPA, its P x N batches, Combee and FlashEvolve at equal time on the same seeds and slots"
)
ALGORITHMS = "algorithms"
MERGE = "merge"
SYNC_MERGE = "sync, merge"
DEFAULT = "default"


def _batched(parents: int, proposals: int) -> Arm:
    return arm(
        f"P x N = {parents} x {proposals}",
        schedule="sync",
        gepa={"parents": parents, "proposals": proposals},
    )


def _combee(batch: int | str) -> Arm:
    settings = {"schedule": "sync", "algorithm": "combee", "combee": {"batch": batch}}
    return arm(f"Combee {batch}", **settings)


BATCHED = (_batched(4, 4), _batched(8, 8), _combee(10), _combee(40), _combee("dynamic"))
LARGE = arm("sync, minibatch 40", schedule="sync", gepa={"minibatch": 40})
"""The naive large batch: one reflection that reads everything."""
ARMS = (
    SYNC,
    LARGE,
    Arm(name=DEFAULT),
    arm("full"),
    *BATCHED,
)
MERGE_ARMS = (
    SYNC,
    arm(SYNC_MERGE, schedule="sync", gepa={"merge": True}),
    arm("full"),
    arm("full, merge", gepa={"merge": True}),
)
SEEDS, MERGE_SEEDS = 12, 100
"""By default; merge's runs are short and its effect small. Any other number holds for both."""
NORMAL = Column(key="gain", title="gain, points", digits=1, scale=100)
RATE = Column(key="gain", title="normalised rate", digits=2, scale=100, against="ratio")


def jobs(options: Options) -> list[Job]:
    """Returns all arms in half an hour, and merge on and off in eight minutes."""
    measures = (*LEARNING, null_gate, ceiling)
    # The reference cell of speed: with few examples a front is soon as good as it can be.
    cell = cell_of(options, n_val=300, n_test=100, minutes=30.0)
    two = cell_of(options, task="instructions-two-parts", n_val=60, n_test=100, minutes=8.0)
    n_merge = MERGE_SEEDS if options.seeds == SEEDS else options.seeds
    found = jobs_of(NAME, cell, ARMS, options.seeds, measures, ALGORITHMS)
    return found + jobs_of(NAME, two, MERGE_ARMS, n_merge, LEARNING, MERGE)


def _targets(rows: Sequence[Row]) -> list[Target]:
    """Speed's targets; of the batched settings the best, chosen with hindsight."""
    ceiling_of_sync = _ceiling(rows, SYNC.name)
    front = Target(
        words="front per hour",
        arm=DEFAULT,
        baseline=SYNC.name,
        column=FRONT_PER_HOUR,
        floor=4.0,
        aim=10.0,
        ceiling=ceiling_of_sync,
    )
    sooner = replace(front, floor=1 / 4, aim=1 / 10, larger=False, ceiling=None)
    found = [
        front,
        replace(sooner, words="minutes to target", column=TARGET, reached=REACHED.key),
        replace(
            sooner,
            words="minutes to as many fronts as sync's",
            column=FRONT_TARGET,
            reached=FRONT_REACHED.key,
        ),
        replace(
            sooner,
            words="tokens per front, all calls",
            column=TOKENS_PER_FRONT,
            floor=1.0,
            aim=0.7,
        ),
    ]
    best = best_of(rows, [a.name for a in BATCHED], FRONT_PER_HOUR)
    room = _ceiling(rows, best) if best is not None else None
    if best is not None and room is not None:
        floor, aim = against_batched(room)
        words = "front per hour, the best batched setting"
        batched = replace(front, words=words, baseline=best, floor=floor, aim=aim, ceiling=room)
        found.append(batched)
    return found


def _ceiling(rows: Sequence[Row], arm: str) -> float | None:
    """Returns how much faster an arm's own calls could have been served."""
    found = own(rows, arm, CEILING)
    return 100 / found.value if found is not None and found.value else None


def _notes(rows: Sequence[Row]) -> tuple[str, ...]:
    """Says how far a schedule can go at all, and which seeds have no target."""
    lines = []
    left_out, n = without_target(rows, SYNC.name)
    if left_out:
        lines.append(
            f"Minutes to target leave out {left_out} of {n} seeds, on which sync ended no better "
            "on test than its seed."
        )
    bare = sum(row.arm == SYNC.name and not row.curves.get("fronts") for row in rows)
    if bare:
        lines.append(
            f"Minutes to its fronts leave out {bare} of {n} seeds, on which sync improved none."
        )
    most = _ceiling(rows, SYNC.name)
    if most is None:
        return tuple(lines)
    return (
        *lines,
        f"Without any dependency sync's own calls would have taken 1/{most:.1f} of its time: with "
        f"the same calls per front, {most:.1f} times sync is the most that any schedule could do.",
    )


def _negatives(main: Sequence[Row], merge: Sequence[Row]) -> Table:
    """What others found to lose, beside what this world says of it; none of it was fitted."""
    asked = (
        ("Combee 40 after 30 minutes (FlashEvolve, Table 2)", main, "Combee 40", SYNC.name),
        ("one reflection on a large batch (Combee)", main, LARGE.name, SYNC.name),
        ("merge, under sync", merge, SYNC_MERGE, SYNC.name),
    )
    lines = []
    for words, rows, ours, theirs in asked:
        found = compared(rows, ours, theirs, TEST)
        verdict = {1: "no", 0: "undecided", -1: "yes"}[found.side(0.0)] if found else "no figure"
        lines.append((f"{words}: {ours} against {theirs}", "below", told(found, TEST), verdict))
    columns = ("what", "published", "here, test points", "foreseen")
    return Table(title="Published negatives", columns=columns, rows=tuple(lines))


def report(rows: Sequence[Row], command: str) -> Report:
    """Compares scores, time to target, front per hour and tokens per front."""
    main = with_equal([row for row in rows if row.group == ALGORITHMS], SYNC.name)
    merge = with_equal([row for row in rows if row.group == MERGE], SYNC.name)
    figures = (TEST, NORMAL, GAP_TO_VAL, PROPOSALS, SWEEPS, FRONT_PER_HOUR, TOKENS_PER_FRONT)
    relative = (TEST, RATE, *AREAS, FRONT_PER_HOUR, TOKENS_PER_FRONT, TARGET, FRONT_TARGET)
    at_end = (*figures, CEILING, TARGET, REACHED, FRONT_TARGET, FRONT_REACHED)
    noise = (
        Column(key="null_gate_seed", title="seed text, %", digits=1, scale=100),
        Column(key="null_gate_best", title="best text, %", digits=1, scale=100),
    )
    tables, findings = [], []
    if main:
        tables = [
            replace(values("At the end", main, at_end), notes=_notes(main)),
            against("Paired by seed", main, SYNC.name, relative),
            values("How often an unchanged child passes the gate", main, noise),
        ]
        words = "test points at the end"
        findings = [
            finding(main, a, SYNC.name, TEST, words) for a in arms_of(main) if a != SYNC.name
        ]
        findings += [
            finding(main, a, SYNC.name, FRONT_PER_HOUR, "front per hour")
            for a in arms_of(main)
            if a != SYNC.name
        ]
    if merge:
        columns = (TEST, *AREAS, FRONT_PER_HOUR, TOKENS_PER_FRONT)
        tables.append(against("Merge, prompts of two components", merge, SYNC.name, columns))
        for on, off in ((SYNC_MERGE, SYNC.name), ("full, merge", "full")):
            findings.append(finding(merge, on, off, TEST, "merge on against off, test points"))
    if main and merge:
        tables.append(_negatives(main, merge))
    figure = anytime("bench-evolution", "Evolution: test score against time", main) if main else ()
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command),
        tables=tuple(tables),
        verdicts=verdicts(main, _targets(main)) if main else (),
        findings=tuple(filter(None, findings)),
        figures=(figure,) if figure else (),
    )


SUITE = Suite(name=NAME, about=ABOUT, seeds=SEEDS, jobs=jobs, report=report)
