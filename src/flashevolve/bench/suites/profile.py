"""Profile: where time and tokens go (the paper's Figure 2), for every algorithm present.

Stage shares are those of the sync schedule, where a step's stages follow each other and nothing
else runs. The paper's figures were measured on its own machine; ours are predictions of the
simulation, and stand beside them for comparison of the pattern alone.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from flashevolve.bench import profile
from flashevolve.bench.cell import Arm, Job, Row
from flashevolve.bench.compare import Column, arms_of, own, shown, values
from flashevolve.bench.measure import work
from flashevolve.bench.report import Figure, Line, Report, Table, head_of
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.common import arm, cell_of, jobs_of
from flashevolve.bench.tasks import TASKS

NAME = "profile"
ABOUT = "stage shares, lengths of answers and requests in flight, sync and async, by algorithm"
SHAPE, OTHERWISE = "shape-ifbench", "instructions"
"""The task: the paper's own load where this version has it."""
ALGORITHMS: dict[str, Any] = {
    "GEPA": {"algorithm": "gepa"},
    "PxN 2x4": {"algorithm": "gepa", "gepa": {"parents": 2, "proposals": 4}},
    "Combee 10": {"algorithm": "combee", "combee": {"batch": 10}},
    "Combee 40": {"algorithm": "combee", "combee": {"batch": 40}},
}
C = 128
"""More than the paper's schedules had in flight, so that none of them is cut off here."""
OWN_LENGTHS = "GEPA with the world's lengths"
MEASURES = (work, profile.stages, profile.lengths, profile.in_flight)
PAPER_STAGES = {
    "paper: GEPA, sync": "8 / 10 / 82",
    "paper: Combee, sync": "15 / 22 / 63",
}
"""Of a step's time, in %: rollout / propose / evaluate (Figure 2)."""
PAPER_NOTE = (
    "paper = published (Figure 2), measured on real hardware (Qwen3-8B, vLLM, one H100); the paper "
    "has three stages, and screening is not told apart. All other rows are predictions of the "
    "simulation."
)
IN_FLIGHT_NOTE = (
    f"Our sync sends the requests of a stage at once, up to C = {C}; its mean tells how much of "
    "that it keeps."
)
ROLES = (profile.ALL, "task", "reflect", "aggregate", "repair")


def jobs(options: Options) -> list[Job]:
    """Returns sync and async jobs of every algorithm that this version has."""
    task = SHAPE if SHAPE in TASKS and not options.quick else OTHERWISE
    size: dict[str, Any] = {"concurrency": C, "n_val": 300, "n_test": 0, "minutes": 30.0}
    arms = [a for name, algorithm in ALGORITHMS.items() for a in _pair(name, algorithm)]
    made = jobs_of(NAME, cell_of(options, task=task, **size), arms, options.seeds, MEASURES)
    if task != OTHERWISE:
        # A shape's lengths are solved from rates; the world's own have the published mean and tail.
        cell = cell_of(options, task=OTHERWISE, **size)
        made += jobs_of(NAME, cell, _pair(OWN_LENGTHS, {}), options.seeds, MEASURES)
    return made


def _pair(name: str, algorithm: Mapping[str, Any]) -> tuple[Arm, Arm]:
    sync = {"schedule": "sync", "policy": "full", **algorithm}
    return Arm(name=f"{name}, sync", settings=sync), arm(f"{name}, async", **algorithm)


def report(rows: Sequence[Row], command: str) -> Report:
    """Tells shares, lengths and loads, with the published figures beside."""
    loads = (
        Column(key="in_flight", title="in flight, mean", digits=1),
        Column(key="peak_in_flight", title="at most", digits=0),
        Column(key="proposed_per_min", title="proposals/min", digits=2),
        Column(key="swept_per_min", title="sweeps/min", digits=2),
    )
    in_flight = values("Requests in flight", rows, loads)
    published = (
        ("paper: async", "-", "about 88", "-", "-"),
        ("paper: sync", "-", "below 30", "-", "-"),
    )
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command),
        tables=(
            stage_table(rows, "whole_share", "Stage shares of steps that were swept"),
            stage_table(rows, "share", "Stage shares of all steps"),
            length_table(rows),
            Table(
                title=in_flight.title,
                columns=in_flight.columns,
                rows=(*in_flight.rows, *published),
                notes=(PAPER_NOTE, IN_FLIGHT_NOTE),
            ),
        ),
        figures=(load_figure(rows),),
    )


def _stages_of(rows: Sequence[Row], what: str) -> list[str]:
    keys = dict.fromkeys(key for row in rows for key in row.figures)
    return [key.removeprefix(f"{what}_") for key in keys if key.startswith(f"{what}_")]


def stage_table(rows: Sequence[Row], what: str, title: str) -> Table:
    """Returns each arm's shares by stage, in percent of the steps' time."""
    names = _stages_of(rows, what)
    columns = [Column(key=f"{what}_{n}", title=f"{n}, %", digits=0, scale=100) for n in names]
    table = values(title, rows, columns)
    paper = tuple(
        (name, shares, *("-" for _ in names[1:])) for name, shares in PAPER_STAGES.items()
    )
    notes = (
        f"{PAPER_NOTE} Its shares: rollout / propose / evaluate.",
        "Async stages also wait for a slot of the request limit, the early ones longest.",
    )
    return Table(title=title, columns=table.columns, rows=(*table.rows, *paper), notes=notes)


def length_table(rows: Sequence[Row]) -> Table:
    """Returns the lengths of answers by role and arm."""
    titles = ("arm and role", "answers", "mean", "p50", "p90", "p99", "above 5k, %")
    lines = []
    for arm_name in arms_of(rows):
        for role in ROLES:
            if not any(f"mean_{role}" in row.figures for row in rows if row.arm == arm_name):
                continue
            cells = [f"{arm_name}: {role}"]
            for name in ("n", "mean", "p50", "p90", "p99", "long"):
                scale, digits = (100.0, 2) if name == "long" else (1.0, 0)
                column = Column(key=f"{name}_{role}", title=name, digits=digits, scale=scale)
                cells.append(shown(own(rows, arm_name, column), digits))
            lines.append(tuple(cells))
    lines.append(("paper: all", "-", "699", "-", "-", "-", "a tail above 5k"))
    return Table(
        title="Output tokens of an answer", columns=titles, rows=tuple(lines), notes=(PAPER_NOTE,)
    )


def load_figure(rows: Sequence[Row]) -> Figure:
    """Returns requests in flight over time for the first algorithm, sync and async."""
    first = next(iter(ALGORITHMS))
    lines = []
    for arm_name in arms_of(rows):
        mine = [row for row in rows if row.arm == arm_name and row.curves.get("loads")]
        if arm_name.startswith(f"{first},") and mine:
            n = min(len(row.curves["loads"]) for row in mine)
            minutes = fmean(row.figures["minutes"] or 0.0 for row in mine)
            x = tuple(round(minutes * (i + 0.5) / n, 3) for i in range(n))
            y = tuple(round(fmean(row.curves["loads"][i] for row in mine), 2) for i in range(n))
            lines.append(Line(label=arm_name, x=x, y=y))
    return Figure(
        name="bench-profile-in-flight",
        title="Requests in flight",
        x="minutes, simulated",
        y="requests",
        lines=tuple(lines),
    )


SUITE = Suite(name=NAME, about=ABOUT, seeds=2, jobs=jobs, report=report)
