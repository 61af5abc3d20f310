"""Control in virtual time: who decides how much runs, and what that does to fronts and gaps.

    .venv/bin/python benchmarks/control.py [--preset h100-qwen3-8b] [--seeds 4] [--minutes 60]
        [--val 100] [--concurrency 64] [--arms ...] [--policy full] [--json FILE]
    .venv/bin/python benchmarks/control.py --report FILE

GEPA on the simulated instructions, minibatch 3, the same seeds for all arms. `fixed` is W = K = C
with nothing that changes; `paper` starts from the worker counts of the paper's Figure 6 and lets
its rule move them; two arms hold these counts. Fronts are candidates that at their commit improved
a best score of an example (the seed left out); the gap is that of steps which left the gate; share
is what was reached of the ceiling: the time that the run's own calls need at least, over the time
that it took. Times and counts are simulated; scores are not compared here.
"""

import argparse
import json
import statistics
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flashevolve as fe
from flashevolve.bench.served import served_calls
from flashevolve.events import (
    DrainStarted,
    GapChecked,
    ItemEnded,
    ItemSelected,
    PoolChanged,
    Record,
    StageEnded,
    WorkersChanged,
)
from flashevolve.rundir import read_records
from flashevolve.simulate.ceiling import ceiling_s
from flashevolve.simulate.world import load_world
from flashevolve.workloads.instructions import generate, score

SEED_TEXT = "Answer the request."
MINIBATCH = 3
N_TRAIN = 60
FIGURE_6 = {"rollout": 16, "propose": 16, "screen": 8, "evaluate": 8}
"""K1 = 16 for what makes proposals, K3 = 8 for what validates them."""
ARMS: dict[str, dict[str, Any]] = {
    "fixed": {"mode": "fixed"},
    "adaptive": {"mode": "adaptive"},
    "paper": {"mode": "paper", "k_max": 64, "workers": FIGURE_6},
    "K1=16,K3=8": {"mode": "fixed", "workers": FIGURE_6},
    "K1=K3=1": {"mode": "fixed", "workers": dict.fromkeys(FIGURE_6, 1)},
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run."""

    world: str
    preset: str
    arm: str
    seed: int
    minutes: float
    share: float
    front: int
    proposals: int
    sweeps: int
    mean_gap: float
    in_flight: float
    """Steps, on average over time."""
    changes: int
    """Of workers."""


def measure(arm: str, seed: int, options: argparse.Namespace) -> Row:
    """Runs one arm."""
    data = generate(seed, n_train=N_TRAIN, n_val=options.val, n_test=1)
    with tempfile.TemporaryDirectory() as directory:
        run_dir = Path(directory) / "run"
        fe.optimize(
            seed={"system": SEED_TEXT},
            train=data["train"],
            val=data["val"],
            score=score,
            input="prompt",
            id_field="key",
            algorithm=fe.GEPA(minibatch=MINIBATCH),
            policy=options.policy,
            models=f"sim/{options.preset}",
            budget=fe.Budget(seconds=60 * options.minutes, grace_s=0),
            concurrency=options.concurrency,
            control=ARMS[arm],
            rng_seed=seed,
            run_dir=run_dir,
        )
        records = list(read_records(run_dir))
    return row_of(records, arm=arm, seed=seed, options=options)


def row_of(records: list[Record], *, arm: str, seed: int, options: argparse.Namespace) -> Row:
    """Reads off a run's records what the table needs."""
    world, seconds = load_world(), 60 * options.minutes
    events = [record.event for record in records]
    deadline_s = next(r.t_s for r in records if isinstance(r.event, DrainStarted))
    calls = served_calls(records, deadline_s)
    least_s = ceiling_s(calls, world.preset(options.preset), max_in_flight=options.concurrency)
    counts = Counter(e.counts for e in events if isinstance(e, StageEnded))
    gaps = [e.gap for e in events if isinstance(e, GapChecked)]
    marks = [mark for e in events if isinstance(e, PoolChanged) for mark in e.marks]
    return Row(
        world=world.hash,
        preset=options.preset,
        arm=arm,
        seed=seed,
        minutes=options.minutes,
        share=least_s / seconds,
        front=marks.count("front") - 1,
        proposals=counts["proposed"],
        sweeps=counts["swept"] - 1,
        mean_gap=statistics.fmean(gaps) if gaps else 0.0,
        in_flight=mean_in_flight(records, seconds),
        changes=sum(isinstance(e, WorkersChanged) for e in events),
    )


def mean_in_flight(records: list[Record], seconds: float) -> float:
    """Returns the steps in flight, averaged over the time."""
    ends_at = {r.event.ticket: r.t_s for r in records if isinstance(r.event, ItemEnded)}
    began = {r.event.ticket: r.t_s for r in records if isinstance(r.event, ItemSelected)}
    lived = (min(seconds, ends_at.get(ticket, seconds)) - at_s for ticket, at_s in began.items())
    return sum(lived) / seconds


def report(rows: list[Row]) -> None:
    """Prints one line for each arm: sums over seeds as rates, means of the rest."""
    first = rows[0]
    n_seeds = len({row.seed for row in rows})
    print(f"control: {first.preset}, {n_seeds} seeds, {first.minutes:g} virtual minutes each")
    print(f"world {first.world}\n")
    layout = "{:<12}{:<10}{:<24}{:<13}{:<10}{:<8}{:<11}{:<8}{}"
    head = ("arm", "front/h", "fronts by seed", "proposals/h", "sweeps/h", "gap", "in flight")
    print(layout.format(*head, "share", "changes"))
    for arm in dict.fromkeys(row.arm for row in rows):
        mine = [row for row in rows if row.arm == arm]
        hours = sum(row.minutes for row in mine) / 60
        cells = (
            arm,
            f"{sum(row.front for row in mine) / hours:.1f}",
            " ".join(str(row.front) for row in mine),
            f"{sum(row.proposals for row in mine) / hours:.0f}",
            f"{sum(row.sweeps for row in mine) / hours:.0f}",
            f"{statistics.fmean(row.mean_gap for row in mine):.1f}",
            f"{statistics.fmean(row.in_flight for row in mine):.1f}",
            f"{statistics.fmean(row.share for row in mine):.1%}",
            f"{statistics.fmean(row.changes for row in mine):.0f}",
        )
        print(layout.format(*cells))


def main() -> None:
    """Runs all arms, or reports rows that were kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--preset", choices=sorted(load_world().presets), default="h100-qwen3-8b")
    parser.add_argument("--arms", nargs="+", choices=sorted(ARMS), default=list(ARMS))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--val", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--policy", choices=("reflective", "guarded", "full"), default="full")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--report", type=Path, help="rows that --json wrote; nothing is run")
    options = parser.parse_args()
    rows: list[Row] = []
    if options.report:
        rows = [Row(**row) for row in json.loads(options.report.read_text(encoding="utf-8"))]
    for seed in range(0 if options.report else options.seeds):
        for arm in options.arms:
            rows.append(measure(arm, seed, options))
            if options.json:
                kept = json.dumps([vars(row) for row in rows], indent=2)
                options.json.write_text(kept, encoding="utf-8")
    report(rows)


if __name__ == "__main__":
    main()
