"""Scaling: one process that keeps 1 to 128 replicas busy, with its own CPU charged as time.

C grows with the replicas, 64 for each. What the engine, the clock, the store and the bookkeeping of
calls compute passes as virtual time, as measured in this run on this machine; the HTTP client,
which no simulated call has, is a constant per request. One process computes on one core, so its
limit lies where CPU per request x requests per second = 1.

Throughput is told of the last quarter of a run, since a cold start fills no large C: a Pareto pool
of few candidates lets few steps begin. The share of the ceiling is of the whole run, cold start
included. Figures of CPU are those of the machine at that moment: use `--jobs 1` on an idle one.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from flashevolve.bench import measure
from flashevolve.bench.cell import Arm, Cell, Job, Row
from flashevolve.bench.charged import Charged, run_charged
from flashevolve.bench.compare import Column, arms_of, own, shown, values
from flashevolve.bench.execute import row_of, settings_of
from flashevolve.bench.measure import Y_TEST, depths_of, time_to
from flashevolve.bench.report import Figure, Line, Report, Verdict, head_of
from flashevolve.bench.served import marginal_s
from flashevolve.bench.suite import Options, Suite
from flashevolve.bench.suites.common import cell_of
from flashevolve.bench.tasks import task_parts
from flashevolve.prepare import prepare

NAME = "scaling"
ABOUT = "one process with 1 to 128 replicas of the backend, its own CPU charged to virtual time"
REPLICAS = (1, 2, 4, 8, 16, 32, 64, 128)
QUICK_REPLICAS = (1, 2)
SMALL, LARGE_SHARE = 16, 3
"""Above so many replicas, one seed in so many: such a run takes minutes of CPU."""
PER_REPLICA = 64
"""C for each replica."""
CLIENT_S = 0.00058
"""CPU seconds charged for each request's HTTP client: docs/overhead.md has 0.859 ms of CPU per call
of a whole run over real HTTP (benchmarks/real_http.py) and 0.276 ms for engine, clock and store
(benchmarks/engine_overhead.py), both of one idle machine; the difference is the client's."""
STEADY = 0.75
"""From this share of a run on, throughput is measured."""
LEAST_KEPT = 0.85
"""Of the throughput per replica of one, what is asked for up to the process's limit."""

CALLS = Column(key="calls_per_s", title="calls/s", digits=1)
KEPT = Column(key="kept", title="per replica, % of one's", digits=0, scale=100)
CPU = Column(key="engine_ms", title="engine, ms/call", digits=3)
USE = Column(key="utilisation", title="CPU, % of a core", digits=1, scale=100)
FULL = Column(key="in_flight_share", title="in flight, % of C", digits=0, scale=100)
PROPOSALS = Column(key="steady_proposed_per_min", title="proposals/min", digits=1)
SWEEPS = Column(key="steady_swept_per_min", title="sweeps/min", digits=1)
CEILING = Column(key="share_of_ceiling", title="ceiling, whole run, %", digits=0, scale=100)
EVOLUTION = (
    Column(key="target_min", title="minutes to target", digits=1),
    Column(key="reached", title="reached it, %", digits=0, scale=100),
    Column(key="test", title="test, points", digits=1, scale=100),
    Column(key="gap", title="gap", digits=1),
    Column(key="depth", title="mean depth", digits=2),
    Column(key="depth_of_best", title="depth of best", digits=1),
    Column(key="candidates", title="candidates", digits=0),
)


def jobs(options: Options) -> list[Job]:
    """Returns a job for each number of replicas and seed, of many replicas for fewer seeds."""
    n_large = max(1, options.seeds // LARGE_SHARE)
    cell = cell_of(options, n_val=300, n_test=200, minutes=9.0)
    base = cell.preset.partition("*")[0]
    return [
        Job(
            suite=NAME,
            arm=Arm(name=f"{n}", settings={}),
            cell=replace(cell, preset=f"{base}*{n}", concurrency=PER_REPLICA * n),
            seed=seed,
            measures=(measure.work, measure.fates, measure.quality, measure.backend),
            group=f"client {1000 * CLIENT_S:g} ms",
            execute=execute,
        )
        for seed in range(options.seeds)
        for n in (QUICK_REPLICAS if options.quick else REPLICAS)
        if n <= SMALL or seed < n_large
    ]


def execute(job: Job) -> Row:
    """Runs a job with its CPU charged, and measures it."""
    from flashevolve.bench.testing import TestScorer

    began_s = time.process_time()
    parts = task_parts(job.cell, job.seed)
    splits = replace(parts.splits, test=())
    prepared = prepare(settings_of(job, parts), splits=splits, run=parts.run, score=parts.score)
    world = prepared.world
    assert world is not None, "a simulated job has a world"
    charged = run_charged(prepared, CLIENT_S)
    figures = figures_of(charged, job.cell)
    least_s = marginal_s(
        charged.watch.served(),
        world.preset(job.cell.preset),
        max_in_flight=job.cell.concurrency,
    )
    figures["share_of_ceiling"] = least_s / charged.end_s
    scorer = TestScorer(world, job.cell.preset, prepared.task, parts.splits.test)
    curve: list[Any] = []
    for best in charged.watch.bests:
        curve.append([best.t_s, None, None, best.val, fmean(scorer(best.artifact, 0) or [0.0])])
    figures |= {"val": curve[-1][3], "test": curve[-1][4]} if curve else {}
    curves = {"curve": [*curve, [charged.end_s, None, None, *curve[-1][3:]]] if curve else []}
    model = f"sim/{job.cell.preset}"
    return row_of(job, figures, curves, began_s, world=world.hash, model=model)


def figures_of(charged: Charged, cell: Cell) -> dict[str, float | None]:
    """Returns what a charged run did: in its steady part, and on the whole."""
    watch, state, end_s = charged.watch, charged.state, charged.end_s
    steady = watch.window(STEADY * end_s, end_s)
    gaps, depths = watch.gaps, depths_of(state.pool.candidates)
    best = state.pool.best()
    n_calls = max(1, steady.calls)
    return {
        "replicas": cell.concurrency / PER_REPLICA,
        "minutes": end_s / 60,
        "calls": float(state.usage.calls),
        "calls_per_s": steady.calls_per_s,
        "tokens_out_per_s": steady.tokens_out / steady.seconds,
        "steady_proposed_per_min": 60 * steady.proposals / steady.seconds,
        "steady_swept_per_min": 60 * steady.sweeps / steady.seconds,
        "utilisation": steady.utilisation,
        "engine_ms": 1000 * (steady.busy_s / n_calls - CLIENT_S),
        "in_flight_share": steady.in_flight / cell.concurrency,
        "gap": sum(gap * n for gap, n in gaps.items()) / gaps.total() if gaps else 0.0,
        "depth": fmean(depths.values()) if depths else None,
        "depth_of_best": float(depths[best.id]) if best is not None else None,
        "candidates": float(len(depths)),
        "front_per_hour": 3600 * state.counters["front"] / end_s,
    }


def report(rows: Sequence[Row], command: str) -> Report:
    """Sets every number of replicas beside one."""
    rows = sorted(with_kept(rows), key=lambda row: (int(row.arm), row.seed))
    speed = (CALLS, KEPT, FULL, PROPOSALS, SWEEPS, CEILING, CPU, USE)
    return Report(
        suite=NAME,
        about=ABOUT,
        head=head_of(rows, command, can_measure=False),
        tables=(
            values(f"Throughput by replicas, from {STEADY:.0%} of each run on", rows, speed),
            values("Evolution by replicas; target = what one replica's run ended with", rows,
                   EVOLUTION),
        ),
        verdicts=tuple(verdicts(rows)),
        findings=tuple(limits(rows)),
        figures=_figures(rows),
        warnings=(
            "Engine CPU was measured on this machine while it ran the benchmark; whatever else it "
            f"did raises it. {1000 * CLIENT_S:g} ms a call are charged for the HTTP client.",
        ),
    )  # fmt: skip


def with_kept(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows with `kept`, and with `target_min` and `reached` where scores are known.

    Both compare with the row of one replica of the same seed; without it they are left out.
    """
    ones = {row.seed: row for row in rows if row.arm == "1"}
    made = []
    for row in rows:
        figures, one = dict(row.figures), ones.get(row.seed)
        if one is not None:
            base, rate = one.figures["tokens_out_per_s"], row.figures["tokens_out_per_s"]
            figures["kept"] = rate / base / int(row.arm) if base and rate is not None else None
            target = one.figures.get("test")
            if target is not None and row.curves["curve"]:
                seconds, reached = time_to(row.curves["curve"], target, Y_TEST)
                figures |= {"target_min": seconds / 60, "reached": float(reached)}
        made.append(replace(row, figures=figures))
    return made


class Limit(NamedTuple):
    """Where one process's core is full, by what a call costs at most replicas."""

    arm: str
    engine_ms: float
    calls_per_s: float
    replicas: float
    """As many as answer that many calls."""

    @property
    def cause(self) -> str:
        """Why the limit lies there."""
        client_ms = 1000 * CLIENT_S
        return (
            f"at {self.arm} replicas a call costs {self.engine_ms + client_ms:.2f} ms of CPU "
            f"({self.engine_ms:.2f} measured, {client_ms:g} for the client): one process is full "
            f"at {self.calls_per_s:.0f} calls/s, which {self.replicas:.0f} replicas of this "
            "backend answer"
        )


def limit_of(rows: Sequence[Row]) -> Limit | None:
    """Returns the process's limit; None without one replica to compare with, or without CPU."""
    last = arms_of(rows)[-1]
    engine_ms, one_per_s = _mean(rows, last, "engine_ms"), _mean(rows, "1", "calls_per_s")
    if engine_ms is None or not one_per_s:
        return None
    per_s = 1000 / (engine_ms + 1000 * CLIENT_S)
    return Limit(last, engine_ms, per_s, per_s / one_per_s)


def limits(rows: Sequence[Row]) -> list[str]:
    """Returns in words how far throughput scales, and where the process's limit lies."""
    kept = {arm: _mean(rows, arm, "kept") for arm in arms_of(rows)}
    good = [arm for arm, share in kept.items() if share is not None and share >= LEAST_KEPT]
    found = []
    if good:
        found.append(
            f"at least {LEAST_KEPT:.0%} of one replica's throughput per replica: at "
            f"{', '.join(good)} replicas (of {', '.join(kept)})"
        )
    limit = limit_of(rows)
    return found if limit is None else [*found, limit.cause]


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Returns for each number of replicas whether throughput scales, up to the process's limit."""
    limit = limit_of(rows)
    if limit is None:
        return []
    made = []
    for arm in arms_of(rows):
        kept = own(rows, arm, KEPT)
        if arm == "1" or kept is None:
            continue
        judged = "floor met" if kept.value >= 100 * LEAST_KEPT else "MISSED"
        beyond = int(arm) > limit.replicas
        made.append(
            Verdict(
                what=f"{arm} replicas: throughput per replica, % of one replica's",
                floor=f"at least {100 * LEAST_KEPT:.0f} up to one process's limit",
                aim="-",
                found=shown(kept, KEPT.digits),
                ceiling=f"{limit.calls_per_s:.0f} calls/s, {limit.replicas:.0f} replicas",
                n=kept.n,
                verdict="beyond the limit" if beyond else judged,
            )
        )
    return made


def _mean(rows: Sequence[Row], arm: str, key: str) -> float | None:
    known = [row.figures.get(key) for row in rows if row.arm == arm]
    numbers = [value for value in known if value is not None]
    return fmean(numbers) if numbers else None


def _figures(rows: Sequence[Row]) -> tuple[Figure, ...]:
    """Returns the picture of throughput; none of a real endpoint, whose rows do not tell it."""
    arms = [arm for arm in arms_of(rows) if _mean(rows, arm, "calls_per_s") is not None]
    if not arms:
        return ()
    x = tuple(float(arm) for arm in arms)
    one = _mean(rows, arms[0], "calls_per_s") or 0.0
    measured = tuple(round(_mean(rows, arm, "calls_per_s") or 0.0, 2) for arm in arms)
    ideal = tuple(round(one * n / x[0], 2) for n in x)
    figure = Figure(
        name="bench-scaling",
        title="Requests answered per second by replicas of the backend",
        x="replicas",
        y="calls per second, simulated",
        lines=(
            Line(label="in proportion", x=x, y=ideal),
            Line(label="one process, CPU charged", x=x, y=measured),
        ),
    )
    return (figure,)


SUITE = Suite(name=NAME, about=ABOUT, seeds=3, jobs=jobs, report=report, can_measure=False)
