"""Executing jobs: in virtual time with a log in memory, or in real time with a run directory.

Simulated jobs run in worker processes, one each, and touch no disk. A job for a real endpoint is an
ordinary run with a directory of its own, one after the other, and is continued if it was cut off.
Rows come in the order of the jobs, whatever order they end in.
"""

import gc
import math
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from typing import Any

from pydantic import TypeAdapter

from flashevolve._version import __version__
from flashevolve.artifact import Artifact
from flashevolve.bench.cell import Cell, Job, Row, one_world, rounded
from flashevolve.bench.code import code_digest
from flashevolve.bench.memory import MemoryLog
from flashevolve.bench.tasks import TaskParts, task_parts
from flashevolve.bench.trace import ScoreOnTest, Trace, trace_of
from flashevolve.config import Settings, resolve
from flashevolve.engine.session import Session
from flashevolve.engine.state import RunState
from flashevolve.errors import ConfigError
from flashevolve.events import OutcomeRecorded, Record
from flashevolve.prepare import Prepared, prepare

COLLECT_EVERY = 100
"""As the command line does: full garbage collections find next to nothing and cost a fifth."""


@dataclass(frozen=True, kw_only=True)
class RealModel:
    """An endpoint that answers instead of the simulated world."""

    name: str
    base_url: str | None
    run_root: Path
    """Run directories are made in here, one a job."""

    @property
    def table(self) -> dict[str, Any]:
        """The table `[model]` of a configuration."""
        return {"name": self.name} | ({"base_url": self.base_url} if self.base_url else {})


def merged(*trees: Mapping[str, Any]) -> dict[str, Any]:
    """Returns trees laid over each other; a later one wins, table by table."""
    result: dict[str, Any] = {}
    for tree in trees:
        for key, value in tree.items():
            below = result.get(key)
            both = isinstance(value, Mapping) and isinstance(below, Mapping)
            result[key] = merged(below, value) if both and below is not None else value
    return result


def settings_of(job: Job, parts: TaskParts, real: RealModel | None = None) -> Settings:
    """Returns the settings of a job's run. Raises `ConfigError`, which names the arm."""
    cell, budget = job.cell, {}
    if cell.minutes is not None:
        budget = {"seconds": 60.0 * cell.minutes, "grace_s": 0.0}
    if cell.metric_calls is not None:
        budget["metric_calls"] = cell.metric_calls
    base = {
        "seed": job.seed,
        "budget": budget,
        "limits": {"concurrency": cell.concurrency},
        "model": real.table if real else {"name": parts.simulated(cell.preset)},
    }
    tree = merged(base, parts.settings, cell.settings, job.arm.settings)
    return resolve(tree, source=f"bench {job.suite}, arm {job.arm.name}")


def execute(job: Job) -> Row:
    """Runs a job in virtual time and measures it."""
    if job.execute is not None:
        return job.execute(job)
    began_s = time.process_time()
    parts = task_parts(job.cell, job.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told once, when the jobs were checked
        prepared = _prepared(job, parts)
        log = MemoryLog()
        _run_virtual(prepared, log)
    trace = trace_of(
        job,
        log.records,
        prepared.workflow.new_pool(),
        _test_scorer(prepared, parts, job),
        simulated=True,
    )
    assert prepared.world is not None, "a simulated job has a world"
    return _row(trace, began_s, world=prepared.world.hash, model=parts.simulated(job.cell.preset))


def execute_real(job: Job, real: RealModel) -> Row:
    """Runs a job on an endpoint, in real time, or continues it; and measures it."""
    from flashevolve import rundir
    from flashevolve.run import Run

    began_s = time.process_time()
    parts = task_parts(job.cell, job.seed)
    settings = settings_of(job, parts, real)
    name = "-".join(filter(None, (job.suite, job.group, job.arm.name, str(job.seed))))
    run_dir = real.run_root / "".join(c if c.isalnum() or c in "-." else "_" for c in name)
    settings = settings.model_copy(
        update={"run": settings.run.model_copy(update={"dir": run_dir.absolute()})}
    )
    prepared = prepare(settings, splits=parts.splits, run=parts.run, score=parts.score)
    if prepared.simulated:
        raise ConfigError(f"--model: expected a real model, found {real.name!r}; leave it out")
    result = Run(prepared).result()
    records = list(rundir.read_records(run_dir))
    trace = trace_of(
        job, records, prepared.workflow.new_pool(), _recorded_scores(records), simulated=False
    )
    return _row(
        trace, began_s, world=result.world or "", model=real.name, simulated=result.simulated
    )


def _prepared(job: Job, parts: TaskParts) -> Prepared:
    # Without its test split: scoring on test would be part of the run's time.
    splits = replace(parts.splits, test=())
    return prepare(settings_of(job, parts), splits=splits, run=parts.run, score=parts.score)


def _run_virtual(prepared: Prepared, log: MemoryLog) -> None:
    from flashevolve.simulate.loop import run_virtual

    payload = TypeAdapter(prepared.workflow.payload)
    state = RunState(prepared.workflow.new_pool(), prepared.limits, payload.validate_python)
    encode = partial(payload.dump_python, mode="json")
    session = Session(prepared.plan(prepared.start, {}), log, state, encode)
    run_virtual(session.run())


def _test_scorer(prepared: Prepared, parts: TaskParts, job: Job) -> ScoreOnTest:
    if not job.cell.n_test or parts.run is not None or prepared.world is None:
        return _no_scores
    from flashevolve.bench.testing import TestScorer

    return TestScorer(prepared.world, job.cell.preset, prepared.task, parts.splits.test)


def _no_scores(artifact: Artifact, replica: int) -> None:
    """Scores nothing: what a task without a test split gets."""


def _recorded_scores(records: Sequence[Record]) -> ScoreOnTest:
    """Returns what the run itself scored on test: its seed and its last best."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for record in records:
        event = record.event
        if isinstance(event, OutcomeRecorded) and event.split == "test":
            found.setdefault((event.artifact, event.replica), {})[event.example] = event.score

    def scores(artifact: Artifact, replica: int) -> list[float] | None:
        by_example = found.get((artifact.hash, replica))
        return [by_example[e] for e in sorted(by_example)] if by_example else None

    return scores


def _row(trace: Trace, began_s: float, *, world: str, model: str, simulated: bool = True) -> Row:
    job, figures, curves = trace.job, {}, {}
    for measure in job.measures:
        for name, value in measure(trace).items():
            if isinstance(value, list):
                curves[name] = rounded(value)
            else:
                figures[name] = None if value is None else rounded(float(value))
    return row_of(job, figures, curves, began_s, world=world, model=model, simulated=simulated)


def row_of(
    job: Job,
    figures: Mapping[str, float | None],
    curves: Mapping[str, list[Any]],
    began_s: float,
    *,
    world: str,
    model: str,
    simulated: bool = True,
) -> Row:
    """Returns the row of a job that this process began at `began_s` of its processor time."""
    return Row(
        suite=job.suite,
        group=job.group,
        arm=job.arm.name,
        cell=job.cell.name,
        seed=job.seed,
        key=job.key,
        simulated=simulated,
        world=world,
        model=model,
        package=__version__,
        cpu_s=round(time.process_time() - began_s, 3),
        figures=figures,
        curves=curves,
        code=code_digest(),
    )


# -- many jobs -----------------------------------------------------------------------------------


def check(jobs: Iterable[Job], real: RealModel | None = None) -> None:
    """Refuses arms and cells that cannot run, before anything runs. Raises `ConfigError`."""
    seen: set[str] = set()
    for job in jobs:
        kind = replace(job, seed=0).key
        if kind not in seen and job.real_s is None:
            seen.add(kind)
            parts = task_parts(job.cell, job.seed)
            settings = settings_of(job, parts, real)
            prepare(settings, splits=parts.splits, run=parts.run, score=parts.score)


def estimate_s(job: Job) -> float:
    """Returns roughly what a simulated job takes of one processor, or a real one of real time.

    Measured on one: .7 ms a call, and as many calls as the backend serves in that time.
    """
    if job.real_s is not None:
        return job.real_s
    sync = job.arm.settings.get("schedule") == "sync"
    per_minute_s = (
        0.09 if sync else 0.05 + 0.005 * min(job.cell.concurrency, 256 * _n_replicas(job.cell))
    )
    by_time_s = (job.cell.minutes or math.inf) * per_minute_s
    by_work_s = 0.0009 * (job.cell.metric_calls or math.inf)
    return 0.25 + min(by_time_s, by_work_s)


def _n_replicas(cell: Cell) -> int:
    """Returns on how many machines a cell's backend runs; a name that says none has one."""
    count = cell.preset.partition("*")[2]
    return int(count) if count.isdecimal() else 1


def run_jobs(
    jobs: Sequence[Job],
    *,
    n_processes: int | None = None,
    real: RealModel | None = None,
    done: Iterable[Row] = (),
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Runs the jobs that `done` does not hold, and returns all their rows, in order.

    `on_row` is told of each new row as it comes. Raises `ConfigError` if rows of `done` belong to
    another world than the new ones.
    """
    known = {row.key: row for row in done}
    missing = [job for job in jobs if job.key not in known]
    run: Iterator[Row]
    if real is not None:
        run = (execute_real(job, real) for job in missing)
        _take(run, known, on_row)
    elif n_processes == 1 or len(missing) < 2:
        _take(map(execute, missing), known, on_row)
    else:
        n = min(n_processes or os.cpu_count() or 1, len(missing))
        with ProcessPoolExecutor(n, mp_context=get_context("spawn"), initializer=_begin) as pool:
            _take(pool.map(_execute_unless_stopped, missing), known, on_row)
    return [known[job.key] for job in jobs]


def _take(rows: Iterator[Row], known: dict[str, Row], on_row: Callable[[Row], None]) -> None:
    for row in rows:
        one_world([*list(known.values())[:1], row])
        known[row.key] = row
        on_row(row)


def _begin() -> None:
    gc.set_threshold(*gc.get_threshold()[:2], COLLECT_EVERY)
    signal.signal(signal.SIGINT, _stop)


_stopped = Event()
"""Set in a worker process at Ctrl-C, which else would go on with the jobs handed to it before."""


def _stop(signum: int, frame: object) -> None:
    _stopped.set()
    raise KeyboardInterrupt


def _execute_unless_stopped(job: Job) -> Row:
    if _stopped.is_set():
        raise KeyboardInterrupt
    return execute(job)
