"""Speculation: stages that release a prefix of their requests (the paper's Figure 6 c).

All arms have the same requests in flight, at most. Demotion stands beside the paper's literal
removal, and each order of the prefix beside a random one.
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
from flashevolve.bench.measure import lost_tokens
from flashevolve.bench.report import Report, head_of
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.common import (
    AREAS,
    FRONT_PER_HOUR,
    IN_FLIGHT,
    LEARNING,
    SWEEPS,
    SYNC,
    TEST,
    TOKENS_PER_FRONT,
    arm,
    cell_of,
    jobs_of,
)

NAME = "speculation"
ABOUT = "early release of a prefix of each sweep and of each rollout, at equal requests in flight"
OFF = "off"


def _spec(name: str, **table: Any) -> Arm:
    return arm(name, speculation=table)


ARMS = (
    SYNC,
    arm(OFF),
    _spec("a=.5, demote", evaluate=0.5, reorder="none"),
    _spec("a=.25, demote", evaluate=0.25, reorder="none"),
    _spec("a=.5, removal", evaluate=0.5, reorder="none", confirm="mean"),
    _spec("a=.25, removal", evaluate=0.25, reorder="none", confirm="mean"),
    _spec("a=.25, literal order", evaluate=0.25, reorder="literal"),
    _spec("a=.25, discriminative", evaluate=0.25, reorder="discriminative"),
    _spec("a=.25, random order", evaluate=0.25, reorder="random"),
    _spec("rollout a=.5", rollout=0.5, reorder="none"),
)
LOST = Column(key="lost_token_share", title="lost tokens, %", digits=1, scale=100)
RETRACTED = Column(key="retracted", title="retracted", digits=1)


def jobs(options: Options) -> list[Job]:
    """Returns all arms for ten minutes."""
    cell = cell_of(options, concurrency=32, n_val=60, n_test=120, minutes=10.0)
    return jobs_of(NAME, cell, ARMS, options.seeds, (*LEARNING, lost_tokens))


def report(rows: Sequence[Row], command: str) -> Report:
    """Compares the arms with no speculation."""
    rows = with_equal(rows, SYNC.name)
    own = (SWEEPS, FRONT_PER_HOUR, TOKENS_PER_FRONT, IN_FLIGHT, RETRACTED, LOST, TEST)
    relative = (TEST, *AREAS, SWEEPS, FRONT_PER_HOUR, TOKENS_PER_FRONT)
    arms = [a for a in arms_of(rows) if a not in (OFF, SYNC.name)]
    findings = [finding(rows, a, OFF, TEST, "test points after ten minutes") for a in arms]
    pairs = (
        ("a=.5, demote", "a=.5, removal", "demotion against removal"),
        ("a=.25, demote", "a=.25, removal", "demotion against removal"),
        ("a=.25, literal order", "a=.25, random order", "literal reordering against random"),
        ("a=.25, discriminative", "a=.25, random order", "discriminative against random"),
        ("a=.25, discriminative", "a=.25, literal order", "discriminative against literal"),
    )
    findings += [finding(rows, a, b, TEST, f"test points, {words}") for a, b, words in pairs]
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command),
        tables=(
            values("Each arm", rows, own),
            against("Against no speculation, paired by seed", rows, OFF, relative),
        ),
        findings=tuple(filter(None, findings)),
        figures=(anytime("bench-speculation", "Speculation: test score against time", rows),),
    )


SUITE = Suite(name=NAME, about=ABOUT, seeds=40, jobs=jobs, report=report)
