"""Executing a job in real time: an endpoint and a client, each in a process of its own."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from flashevolve.bench.cell import Job, Row, rounded
from flashevolve.bench.code import PACKAGE
from flashevolve.bench.execute import row_of
from flashevolve.bench.realtime.brief import Brief, Found
from flashevolve.bench.realtime.endpoint import Seen, Serving, endpoint
from flashevolve.bench.realtime.figures import curves_of, figures_of
from flashevolve.bench.realtime.slots import Pace
from flashevolve.errors import ConfigError
from flashevolve.simulate.world import load_world

WORKER = "flashevolve.bench.realtime.worker"
LIMIT_S = 900.0
"""Of one client: far above any, so that one that hangs does not hang the suite."""


def execute(job: Job) -> Row:
    """Runs one client against an endpoint of its own, and measures both.

    Raises `ConfigError` with the client's last line if it fails.
    """
    cpu_s, pace = time.process_time(), pace_of(job)
    serving = Serving(preset=job.cell.preset, pace=pace, seed=job.seed)
    with TemporaryDirectory(prefix="flashevolve-bench-") as name, endpoint(serving) as seen:
        brief = brief_of(job, seen, Path(name))
        found = run_client(job, brief)
    figures = figures_of(brief, found, seen.log)
    row = row_of(
        job,
        {name: rounded(value) for name, value in figures.items()},
        {name: rounded(curve) for name, curve in curves_of(found, seen.log).items()},
        cpu_s,
        world=load_world().hash,
        model=f"sim/{job.cell.preset}, {told_means(pace)}",
    )
    return replace(row, cpu_s=round(row.cpu_s + found.cpu_s + seen.cpu_s, 3))


def told_means(pace: Pace) -> str:
    """Returns the mean latencies in words."""
    return ", ".join(f"{role} {mean_s:g} s" for role, mean_s in pace.means_s.items())


def pace_of(job: Job) -> Pace:
    """Returns how long answers take in the job's cell."""
    asked = job.cell.settings["endpoint"]
    return Pace(means_s=asked["means_s"], sigma=asked["sigma"], slots=job.cell.concurrency)


def brief_of(job: Job, seen: Seen, folder: Path) -> Brief:
    """Returns what the job's client is told."""
    cell, arm = job.cell, job.arm.settings
    assert cell.metric_calls is not None, "a client is given a budget of metric calls"
    return Brief(
        client=arm["client"],
        parents=arm.get("parents", 1),
        proposals=arm.get("proposals", 1),
        seed=job.seed,
        n_train=cell.n_train,
        n_val=cell.n_val,
        n_test=cell.n_test,
        metric_calls=cell.metric_calls,
        slots=cell.concurrency,
        urls=seen.urls,
        folder=str(folder),
    )


def run_client(job: Job, brief: Brief, limit_s: float = LIMIT_S) -> Found:
    """Runs the client in a process of its own; returns what it found.

    Raises `ConfigError` if it fails, or takes longer than the limit.
    """
    result = brief.path / "found.json"
    command = [sys.executable, "-m", WORKER, str(result)]
    # In its own folder, since peers write beside themselves.
    try:
        done = subprocess.run(
            command,
            input=brief.to_json(),
            capture_output=True,
            text=True,
            cwd=brief.path,
            env=environment(),
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"bench {job.suite}, arm {job.arm.name}, seed {job.seed}: expected the client to end "
            f"within {limit_s:g} s, found it still at work. Run it again on an idle machine"
        ) from None
    if done.returncode or not result.exists():
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise ConfigError(
            f"bench {job.suite}, arm {job.arm.name}, seed {job.seed}: expected the client to end "
            f"with a result, found status {done.returncode}: {last}"
        )
    return Found.from_json(result.read_text(encoding="utf-8"))


def environment() -> dict[str, str]:
    """Returns the environment in which the client imports this very package, from any folder.

    No proxy stands between a client and its endpoint, whatever the user's environment names.
    """
    places = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
    return {**os.environ, **direct, "PYTHONPATH": os.pathsep.join(places)}
