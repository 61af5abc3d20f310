"""Speed in virtual time, at the reference cell: full, guarded and reflective beside sync.

    .venv/bin/python benchmarks/reference_cell.py [--preset h100-qwen3-8b|hosted-api] [--seeds 5]
        [--minutes 60] [--val 300] [--concurrency 64] [--json FILE]
    .venv/bin/python benchmarks/reference_cell.py --report FILE

Minibatch 3, N_val 300, C = 64, output lengths of IFBench's published mean. Each policy and sync run
for the same virtual time on the same seeds; a row is the median over seeds with the smallest and
largest. Three figures stand beside each rate:

- speed: the arm's rate over sync's, paired by seed;
- ceiling: how much faster than sync its own calls could have been served, were nothing dependent on
  anything (the recorded calls replayed through the same server at the same C, and at a hosted API
  within the same limits);
- share: of that work-conserving ceiling, what the arm reached: the time its own calls need at least
  over the time it took.

Speed is per proposal or sweep, the ceiling per unit of work. A policy whose steps ask for less
(those that are discarded before the sweep, or shorter prompts) can therefore be faster than the
ceiling. Below the table stands whether the two criteria hold for the medians: every asynchronous
arm reaches 85 % of its ceiling, and so many times sync's proposals wherever the ceiling has room
for that. Last comes how often a child that is its own parent would pass GEPA's gate: the same text
rolled out twice on the same minibatch, where chance alone decides.

These are predictions of a simulation, about time only; scores are not compared here.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from gate import pass_rate

import flashevolve as fe
from flashevolve.artifact import Artifact
from flashevolve.bench.served import served_calls
from flashevolve.engine.evaluation import default_messages
from flashevolve.events import CallSettled, DrainStarted
from flashevolve.llm.errors import Truncated
from flashevolve.llm.messages import Request
from flashevolve.rundir import read_records
from flashevolve.simulate.ceiling import ceiling_s
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.world import check_same_world, load_world
from flashevolve.task import Example
from flashevolve.workloads.instructions import generate, score

SEED_TEXT = "Answer the request."
INPUT = "prompt"
MINIBATCH = 3
N_TRAIN = 60
ARMS = ("sync", "full", "guarded", "reflective")
LEAST_SHARE = 0.85
LEAST_SPEED = {"h100-qwen3-8b": (3.5, 4.2), "hosted-api": (4.9, 4.9 / LEAST_SHARE)}
"""By preset: times sync's proposals that are asked for, and the ceiling above which they are. One
that is hardly above that speed would leave no room for anything else."""
N_UNCHANGED = 200
"""Minibatches on which each text is its own child."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run."""

    world: str
    """The hash of the world that it was made in."""
    preset: str
    concurrency: int
    arm: str
    seed: int
    minutes: float
    calls: int
    refused: int
    """Requests that were answered by a 429."""
    proposals_per_min: float
    sweeps_per_min: float
    ceiling_s: float
    """What the run's own calls need at least, at the same C."""
    best_text: str
    unchanged: float
    """Of minibatches on which `best_text` isn't perfect, the share that it passes as its child."""

    @property
    def share(self) -> float:
        """Of the work-conserving ceiling, what was reached."""
        return self.ceiling_s / (60 * self.minutes)


def measure(arm: str, seed: int, options: argparse.Namespace) -> Row:
    """Runs one arm for so many minutes of virtual time."""
    minutes, preset = options.minutes, options.preset
    data = generate(seed, n_train=N_TRAIN, n_val=options.val, n_test=1)
    with tempfile.TemporaryDirectory() as directory:
        run_dir = Path(directory) / "run"
        result = fe.optimize(
            seed={"system": SEED_TEXT},
            train=data["train"],
            val=data["val"],
            score=score,
            input=INPUT,
            id_field="key",
            algorithm=fe.GEPA(minibatch=MINIBATCH),
            policy="full" if arm == "sync" else arm,
            schedule="sync" if arm == "sync" else "async",
            models=f"sim/{preset}",
            budget=fe.Budget(seconds=60 * minutes, grace_s=0),
            concurrency=options.concurrency,
            rng_seed=seed,
            run_dir=run_dir,
        )
        records = list(read_records(run_dir))
    counts = [r.event.counts for r in records if hasattr(r.event, "counts")]
    settled = [r.event for r in records if isinstance(r.event, CallSettled)]
    deadline_s = next(r.t_s for r in records if isinstance(r.event, DrainStarted))
    calls = served_calls(records, deadline_s)
    world = load_world()
    least_s = ceiling_s(calls, world.preset(preset), max_in_flight=options.concurrency)
    best = result.best["system"]
    return Row(
        world=world.hash,
        preset=preset,
        concurrency=options.concurrency,
        arm=arm,
        seed=seed,
        minutes=minutes,
        calls=len(calls),
        refused=sum(call.status == "rate_limited" for call in settled),
        proposals_per_min=counts.count("proposed") / minutes,
        sweeps_per_min=counts.count("swept") / minutes,
        ceiling_s=least_s,
        best_text=best,
        unchanged=unchanged_passes(best, data["train"], preset, seed),
    )


# -- the gate ----------------------------------------------------------------------------------


def unchanged_passes(
    text: str, train: Sequence[Mapping[str, Any]], preset: str, seed: int
) -> float:
    """Returns how often a text beats itself on a minibatch: a strictly larger sum of scores.

    Minibatches on which the parent is perfect are left out, as GEPA leaves them out.
    """
    rng = Random(f"{seed}/unchanged")
    minibatches = [rng.sample(list(train), MINIBATCH) for _ in range(N_UNCHANGED)]
    return run_virtual(_unchanged_passes(Artifact({"system": text}), minibatches, preset))


async def _unchanged_passes(
    artifact: Artifact, minibatches: Sequence[Sequence[Mapping[str, Any]]], preset: str
) -> float:
    model = SimulatedModel.from_preset(preset, {})

    async def rollout(data: Mapping[str, Any]) -> float:
        example = Example(id=str(data["key"]), data=data)
        request = Request(messages=tuple(default_messages(artifact, example, INPUT)))
        try:
            return score(example, (await model.complete(request)).text)[0]
        except Truncated:
            return 0.0

    scores: list[tuple[list[float], list[float]]] = []
    for minibatch in minibatches:
        # Without a seed each request is a sample of its own.
        parent, child = [
            await asyncio.gather(*(rollout(example) for example in minibatch)) for _ in range(2)
        ]
        scores.append((parent, child))
    return pass_rate(scores)


# -- the report --------------------------------------------------------------------------------


def spread(values: list[float], digits: int = 2) -> str:
    """Returns median and range in words."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def report(rows: list[Row]) -> None:
    """Prints one line per arm."""
    sync, first = {row.seed: row for row in rows if row.arm == "sync"}, rows[0]
    print(
        f"reference cell: minibatch {MINIBATCH}, C={first.concurrency}, {first.preset}, "
        f"world {first.world}"
    )
    print(f"{len(sync)} seeds, {first.minutes:g} virtual minutes each; median [min, max]\n")
    header = ("arm", "proposals/min", "sweeps/min", "speed prop.", "speed sweeps", "ceiling")
    layout = "{:<11}{:<20}{:<20}{:<20}{:<20}{:<20}{:<20}{}"
    print(layout.format(*header, "share of ceiling", "429s"))
    for arm in ARMS:
        mine = [row for row in rows if row.arm == arm]
        pairs = [(row, sync[row.seed]) for row in mine]
        cells = (
            arm,
            spread([row.proposals_per_min for row in mine]),
            spread([row.sweeps_per_min for row in mine]),
            spread([a.proposals_per_min / b.proposals_per_min for a, b in pairs]),
            spread([a.sweeps_per_min / b.sweeps_per_min for a, b in pairs]),
            spread([1 / b.share for _, b in pairs]),
            spread([row.share for row in mine]),
            spread([float(row.refused) for row in mine], 0),
        )
        print(layout.format(*cells))


def criteria(rows: list[Row]) -> list[str]:
    """Returns for each asynchronous arm whether its medians reach what we ask of them."""
    sync = {row.seed: row for row in rows if row.arm == "sync"}
    ceiling = statistics.median(1 / row.share for row in sync.values())
    least_speed, roomy = LEAST_SPEED.get(rows[0].preset, LEAST_SPEED["hosted-api"])
    lines = [f"criteria: share >= {LEAST_SHARE:.0%}; speed prop. >= {least_speed} "]
    lines[0] += f"where the ceiling (here {ceiling:.2f}) > {roomy:.2f}"
    for arm in ARMS[1:]:
        mine = [row for row in rows if row.arm == arm]
        share = statistics.median(row.share for row in mine)
        speeds = [row.proposals_per_min / sync[row.seed].proposals_per_min for row in mine]
        speed = statistics.median(speeds)
        fast = "holds" if speed >= least_speed else "FAILS"
        lines.append(
            f"{arm:<11}share {share:.1%}: {'holds' if share >= LEAST_SHARE else 'FAILS'}; "
            f"speed {speed:.2f}: {fast if ceiling > roomy else 'not asked'}"
        )
    return lines


def gate(rows: list[Row]) -> list[str]:
    """Returns how often an unchanged child passes, for the seed text and for what was found."""
    firsts = {row.seed: row for row in rows}
    of_seed = [
        unchanged_passes(SEED_TEXT, generate(seed, n_train=N_TRAIN)["train"], row.preset, seed)
        for seed, row in firsts.items()
    ]
    return [
        f"an unchanged child passes GEPA's gate ({N_UNCHANGED} minibatches of {MINIBATCH} a seed):",
        f"the seed text {spread(of_seed, 3)}; "
        f"the best texts of all arms {spread([row.unchanged for row in rows], 3)}",
    ]


def main() -> None:
    """Runs all arms on all seeds, or reports rows that were kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--preset", choices=sorted(load_world().presets), default="h100-qwen3-8b")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--val", type=int, default=300)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--report", type=Path, help="rows that --json wrote; nothing is run")
    options = parser.parse_args()
    if options.report:
        rows = [Row(**row) for row in json.loads(options.report.read_text(encoding="utf-8"))]
        for row in rows:
            check_same_world(str(options.report), row.world, load_world())
    else:
        rows = [measure(arm, seed, options) for seed in range(options.seeds) for arm in ARMS]
    report(rows)
    print("", *criteria(rows), "", *gate(rows), sep="\n")
    if options.json:
        options.json.write_text(json.dumps([vars(row) for row in rows], indent=2))


if __name__ == "__main__":
    main()
