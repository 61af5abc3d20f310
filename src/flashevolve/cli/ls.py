"""`flashevolve ls`: the runs below a directory, without disturbing any."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from flashevolve.errors import StoreError

State = Literal["running", "resumable", "finished", "unreadable"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run in the list."""

    dir: str
    state: State
    age_s: float
    """Since its store was last written."""
    run_id: str = ""
    algorithm: str = ""
    policy: str = ""
    schedule: str = ""
    simulated: bool = False
    answered_by: tuple[str, ...] = ()
    """Hashes of simulated worlds, and `real`."""
    seed_score: float | None = None
    best_score: float | None = None
    cost_usd: float = 0.0
    problem: str = ""
    """Why it cannot be read; empty if it can."""


@click.command("ls")
@click.argument("root", metavar="[DIR]", default="runs", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(root: Path, as_json: bool) -> None:
    """List the runs in DIR (default: runs), the latest last."""
    from flashevolve.cli.console import print_json, safe, say
    from flashevolve.cli.report import duration, money, score, table
    from flashevolve.rundir import runs_below

    rows = [describe(path) for path in runs_below(root)]
    if as_json:
        print_json({"runs": [asdict(row) for row in rows]})
        return
    if not rows:
        say(f"no runs in {root}; start one: flashevolve run CONFIG.toml")
        return
    lines = [("dir", "algorithm", "policy", "state", "seed", "best", "cost", "written")]
    for row in rows:
        policy = "sync" if row.schedule == "sync" else row.policy
        scores = (score(row.seed_score), score(row.best_score))
        mixed = len(row.answered_by) > 1
        cost = "simulated" if row.simulated and not mixed else money(row.cost_usd)
        cost += " (partly simulated)" if mixed else ""
        ago = f"{duration(row.age_s)} ago"
        lines.append((row.dir, row.algorithm, policy, row.state, *scores, cost, ago))
    for line in table(lines):
        click.echo(safe(line))
    for row in rows:
        if row.problem:
            say(f"{row.dir}: {row.problem}")


def describe(run_dir: Path) -> Row:
    """Returns what the list says about a run."""
    from flashevolve.result import result_of
    from flashevolve.rundir import RUN_FILE, open_run
    from flashevolve.store.lock import is_locked

    age_s = max(0.0, time.time() - (run_dir / RUN_FILE).stat().st_mtime)
    running = is_locked(run_dir)
    try:
        opened = open_run(run_dir)
    except StoreError as error:
        state: State = "running" if running else "unreadable"
        return Row(dir=str(run_dir), state=state, age_s=age_s, problem=str(error))
    result = result_of(opened.state, run_dir, "", None)
    return Row(
        dir=str(run_dir),
        state="running" if running else "resumable" if result.resumable else "finished",
        age_s=age_s,
        run_id=result.run_id,
        algorithm=result.algorithm,
        policy=result.policy,
        schedule=result.schedule,
        simulated=result.simulated,
        answered_by=result.answered_by,
        seed_score=result.seed_score,
        best_score=result.best_score,
        cost_usd=round(result.usage.usd, 6),
    )
