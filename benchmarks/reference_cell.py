"""Speed in virtual time, at the reference cell: full, guarded and reflective beside sync.

    .venv/bin/python benchmarks/reference_cell.py [--seeds 5] [--minutes 60] [--val 300] [--json F]

Minibatch 3, N_val 300, C = 64, output lengths of IFBench's published mean, vLLM preset. Each policy
and sync run for the same virtual time on the same seeds; a row is the median over seeds with the
smallest and largest. Three figures stand beside each rate:

- speed: the arm's rate over sync's, paired by seed;
- ceiling: how much faster than sync its own calls could have been served, were nothing dependent on
  anything (the recorded calls replayed through the same serving model at the same C);
- share: of that work-conserving ceiling, what the arm reached: the time its own calls need at least
  over the time it took.

Speed is per proposal or sweep, the ceiling per unit of work. A policy whose steps ask for less
(those that are discarded before the sweep, or shorter prompts) can therefore be faster than the
ceiling. Below the table stands whether the two criteria hold for the medians: every asynchronous
arm reaches 85 % of its ceiling, and 3.5 times sync's proposals wherever the ceiling is above 4.2.

These are predictions of a simulation, about time only; scores are not compared here.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import flashevolve as fe
from flashevolve.events import CallReserved, CallSettled, DrainStarted, Record
from flashevolve.llm.messages import Message
from flashevolve.rundir import read_records
from flashevolve.simulate.ceiling import RecordedCall, ceiling_s
from flashevolve.simulate.prefix import prefix_blocks, text_of
from flashevolve.simulate.world import load_world
from flashevolve.workloads.instructions import generate, score

PRESET = "h100-qwen3-8b"
CONCURRENCY = 64
ARMS = ("sync", "full", "guarded", "reflective")
LEAST_SHARE, LEAST_SPEED, ROOMY_CEILING = 0.85, 3.5, 4.2
"""A ceiling that is hardly above the speed asked for would leave no room for anything else."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run."""

    arm: str
    seed: int
    minutes: float
    calls: int
    proposals_per_min: float
    sweeps_per_min: float
    ceiling_s: float
    """What the run's own calls need at least, at the same C."""

    @property
    def share(self) -> float:
        """Of the work-conserving ceiling, what was reached."""
        return self.ceiling_s / (60 * self.minutes)


def measure(arm: str, seed: int, minutes: float, n_val: int) -> Row:
    """Runs one arm for `minutes` of virtual time."""
    data = generate(seed, n_train=60, n_val=n_val, n_test=1)
    with tempfile.TemporaryDirectory() as directory:
        run_dir = Path(directory) / "run"
        fe.optimize(
            seed={"system": "Answer the request."},
            train=data["train"],
            val=data["val"],
            score=score,
            id_field="key",
            input="prompt",
            algorithm=fe.GEPA(minibatch=3),
            policy="full" if arm == "sync" else arm,
            schedule="sync" if arm == "sync" else "async",
            models=f"sim/{PRESET}",
            budget=fe.Budget(seconds=60 * minutes, grace_s=0),
            concurrency=CONCURRENCY,
            rng_seed=seed,
            run_dir=run_dir,
        )
        records = list(read_records(run_dir))
    counts = [r.event.counts for r in records if hasattr(r.event, "counts")]
    calls = list(finished_calls(records))
    return Row(
        arm=arm,
        seed=seed,
        minutes=minutes,
        calls=len(calls),
        proposals_per_min=counts.count("proposed") / minutes,
        sweeps_per_min=counts.count("swept") / minutes,
        ceiling_s=ceiling_s(calls, load_world().preset(PRESET), max_in_flight=CONCURRENCY),
    )


def finished_calls(records: list[Record]) -> Iterator[RecordedCall]:
    """Yields the calls that were answered before the deadline, in order of reservation."""
    deadline = next(r.seq for r in records if isinstance(r.event, DrainStarted))
    settled = {
        r.event.call: r.event.usage
        for r in records
        if isinstance(r.event, CallSettled) and r.seq < deadline and r.event.status == "ok"
    }
    for record in records:
        call = record.event
        if isinstance(call, CallReserved) and call.call in settled:
            messages = [Message(**message) for message in call.request["messages"]]
            usage = settled[call.call]
            yield RecordedCall(
                input_tokens=usage.tokens_in,
                output_tokens=usage.tokens_out,
                prefix_blocks=prefix_blocks(text_of(messages)),
            )


def spread(values: list[float], digits: int = 2) -> str:
    """Returns median and range in words."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def report(rows: list[Row]) -> None:
    """Prints one line per arm."""
    sync = {row.seed: row for row in rows if row.arm == "sync"}
    print(f"reference cell: minibatch 3, C={CONCURRENCY}, {PRESET}, world {load_world().hash}")
    print(f"{len(sync)} seeds, {rows[0].minutes:g} virtual minutes each; median [min, max]\n")
    header = ("arm", "proposals/min", "sweeps/min", "speed prop.", "speed sweeps", "ceiling")
    print("{:<11}{:<20}{:<20}{:<20}{:<20}{:<20}{}".format(*header, "share of ceiling"))
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
        )
        print("{:<11}{:<20}{:<20}{:<20}{:<20}{:<20}{}".format(*cells))


def criteria(rows: list[Row]) -> list[str]:
    """Returns for each asynchronous arm whether its medians reach what we ask of them."""
    sync = {row.seed: row for row in rows if row.arm == "sync"}
    ceiling = statistics.median(1 / row.share for row in sync.values())
    lines = [f"criteria: share >= {LEAST_SHARE:.0%}; speed prop. >= {LEAST_SPEED} "]
    lines[0] += f"where the ceiling (here {ceiling:.2f}) > {ROOMY_CEILING}"
    for arm in ARMS[1:]:
        mine = [row for row in rows if row.arm == arm]
        share = statistics.median(row.share for row in mine)
        speeds = [row.proposals_per_min / sync[row.seed].proposals_per_min for row in mine]
        speed = statistics.median(speeds)
        fast = "holds" if speed >= LEAST_SPEED else "FAILS"
        lines.append(
            f"{arm:<11}share {share:.1%}: {'holds' if share >= LEAST_SHARE else 'FAILS'}; "
            f"speed {speed:.2f}: {fast if ceiling > ROOMY_CEILING else 'not asked'}"
        )
    return lines


def main() -> None:
    """Runs all arms on all seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--val", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [
        measure(arm, seed, options.minutes, options.val)
        for seed in range(options.seeds)
        for arm in ARMS
    ]
    report(rows)
    print("", *criteria(rows), sep="\n")
    if options.json:
        options.json.write_text(json.dumps([vars(row) for row in rows], indent=2))


if __name__ == "__main__":
    main()
