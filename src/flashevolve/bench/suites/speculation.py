"""Speculation: stages that release a prefix of their requests (the paper's Figure 6 c).

All arms have the same requests in flight, at most. Demotion stands beside the paper's literal
removal, and each order of the prefix beside a random one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flashevolve.bench.ahead import ahead, lost_tokens
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
    _spec("a=.25, literal", evaluate=0.25, reorder="literal"),
    _spec("a=.25, discriminative", evaluate=0.25, reorder="discriminative"),
    _spec("rollout a=.5", rollout=0.5, reorder="none"),
)
PREFIX = (
    "Without reordering the prefix is the first examples of the file: one fixed random order per "
    "seed, which the two orders are compared with; not a new random prefix for each sweep."
)
LOST = Column(key="lost_token_share", title="tokens below a retraction, %", digits=1, scale=100)
MISSED = Column(key="missed_token_share", title="tokens below a miss, %", digits=1, scale=100)
RETRACTED = Column(key="retracted", title="retracted", digits=1)
AVAILABLE = Column(key="available_s", title="s until a parent", digits=1, against="ratio")
FORETOLD = Column(key="foretold", title="speculative", digits=1)
PRECISION = Column(key="precision", title="precision, %", digits=0, scale=100)
RECALL = Column(key="recall", title="recall, %", digits=0, scale=100)
FORESIGHT = (AVAILABLE, FORETOLD, PRECISION, RECALL, RETRACTED, LOST, MISSED)


def jobs(options: Options) -> list[Job]:
    """Returns all arms for ten minutes."""
    cell = cell_of(options, concurrency=32, n_val=60, n_test=100, minutes=10.0)
    return jobs_of(NAME, cell, ARMS, options.seeds, (*LEARNING, ahead, lost_tokens))


def report(rows: Sequence[Row], command: str) -> Report:
    """Compares the arms with no speculation."""
    horizon = " or ".join(dict.fromkeys(row.cell.rpartition(", ")[2] for row in rows))
    rows = with_equal(rows, SYNC.name)
    own = (SWEEPS, FRONT_PER_HOUR, TOKENS_PER_FRONT, IN_FLIGHT, TEST)
    relative = (TEST, *AREAS, SWEEPS, FRONT_PER_HOUR, TOKENS_PER_FRONT, AVAILABLE)
    arms = [a for a in arms_of(rows) if a not in (OFF, SYNC.name)]
    findings = [finding(rows, a, OFF, TEST, f"test points after {horizon}") for a in arms]
    pairs = (
        ("a=.5, demote", "a=.5, removal", "demotion against removal"),
        ("a=.25, demote", "a=.25, removal", "demotion against removal"),
        ("a=.25, literal", "a=.25, demote", "literal order against random"),
        ("a=.25, discriminative", "a=.25, demote", "discriminative order against random"),
        ("a=.25, discriminative", "a=.25, literal", "discriminative order against literal"),
    )
    for a, b, words in pairs:
        findings += [
            finding(rows, a, b, column, f"{named}, {words}")
            for column, named in ((TEST, "test points"), (PRECISION, "precision of the prefix"))
        ]
    findings += [finding(rows, a, OFF, FRONT_PER_HOUR, "front per hour") for a in arms]
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command),
        tables=(
            values("Each arm", rows, own),
            replace(
                values("When parents are there, and what the prefix foretells", rows, FORESIGHT),
                notes=(PREFIX,),
            ),
            against("Against no speculation, paired by seed", rows, OFF, relative),
        ),
        findings=tuple(filter(None, findings)),
        figures=(anytime("bench-speculation", "Speculation: test score against time", rows),),
    )


SUITE = Suite(name=NAME, about=ABOUT, seeds=100, jobs=jobs, report=report)
