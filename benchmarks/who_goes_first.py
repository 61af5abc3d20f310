"""Who goes first when the backend is full: rules beside the default, in virtual time.

    .venv/bin/python benchmarks/who_goes_first.py [--seeds 4] [--minutes 40] [--val 100]
        [--concurrency 64] [--rules ...] [--steps 7 24 64] [--policy reflective] [--json FILE]
    .venv/bin/python benchmarks/who_goes_first.py --report FILE

GEPA on the simulated instructions, minibatch 3. Load is the share of the C slots that was in use on
average; it is set by the steps in flight, which `control.mode = "fixed"` holds constant. What
counts is `front`: candidates that at their commit improved a best score of an example, per virtual
hour (the seed is left out). Each rule runs on the same seeds as the default, and its gain is the
ratio of the sums over seeds, with a 95 % interval from a bootstrap over paired seeds. A rule is
worth shipping if that is above 5 %. The rules live here alone: `flashevolve` knows the default.

Simulated: a prediction about order, and nothing about any model's scores.
"""

import argparse
import asyncio
import heapq
import json
import statistics
import tempfile
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import flashevolve as fe
from flashevolve import prepare
from flashevolve.events import CallSettled, GapChecked, PoolChanged, StageEnded
from flashevolve.llm.limiter import Limiter
from flashevolve.rundir import read_records
from flashevolve.simulate.world import load_world
from flashevolve.workloads.instructions import generate, score

SEED_TEXT = "Answer the request."
MINIBATCH = 3
N_TRAIN = 60
DEFAULT = "later stage"
WORTH = 1.05
N_BOOTSTRAP = 2000
AGEING_S = 60.0
"""Under `ageing` a stage is worth as much as so many seconds of waiting."""

Key = tuple[float, ...]
Rule = Callable[["Asked", "Ruled"], Key]


@dataclass(frozen=True)
class Asked:
    """One request that waits for a slot."""

    stage: int
    ticket: int
    at_s: float
    number: int
    draw: float


class Ruled(Limiter):
    """A limiter whose waiters are served by a rule that may look at what was served before."""

    rule: Rule
    sizes: tuple[int, ...]
    """Requests that a step makes in each stage."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.granted: Counter[tuple[int, int]] = Counter()
        self._queues: dict[tuple[int, int], deque[tuple[Asked, asyncio.Future[None]]]] = (
            defaultdict(deque)
        )
        self._rng = Random(0)
        self._number = 0
        self._free = 0.0

    def left(self, asked: Asked) -> int:
        """Returns about how many requests the step still makes in this stage."""
        return self.sizes[asked.stage] - self.granted[(asked.stage, asked.ticket)]

    async def acquire(self, priority: tuple[int, ...] = ()) -> None:
        """Waits in a queue of the step's own, whose head stands in the limiter's."""
        self._number += 1
        at_s = asyncio.get_running_loop().time()
        asked = Asked(-priority[0], priority[1], at_s, self._number, self._rng.random())
        place = (asked.stage, asked.ticket)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues[place].append((asked, turn))
        self._n_asked += 1
        heapq.heappush(self._waiters, ((), self._n_asked, turn))
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    def _grant(self) -> None:
        """Gives free slots to whoever the rule puts first."""
        self._waiters = []
        while self.in_use < self.limit:
            best: tuple[Key, tuple[int, int]] | None = None
            for place, queue in list(self._queues.items()):
                while queue and queue[0][1].done():
                    queue.popleft()
                if not queue:
                    del self._queues[place]
                    continue
                key = self.rule(queue[0][0], self)
                if best is None or (key, place) < best:
                    best = (key, place)
            if best is None:
                return
            _, turn = self._queues[best[1]].popleft()
            self.granted[best[1]] += 1
            self.in_use += 1
            self._decider.used(self.in_use)
            turn.set_result(None)


RULES: dict[str, Rule] = {
    DEFAULT: lambda a, all_: (-a.stage, a.ticket),
    "oldest step": lambda a, all_: (a.ticket, -a.stage),
    "first come": lambda a, all_: (a.number,),
    "random": lambda a, all_: (a.draw,),
    "fewest left": lambda a, all_: (all_.left(a), a.ticket),
    "stage, fewest left": lambda a, all_: (-a.stage, all_.left(a), a.ticket),
    "newest step": lambda a, all_: (-a.stage, -a.ticket),
    "ageing": lambda a, all_: (a.at_s - AGEING_S * a.stage, a.ticket),
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One run."""

    world: str
    rule: str
    steps: int
    seed: int
    minutes: float
    load: float
    """Share of the slots in use, on average."""
    front: int
    proposals: int
    sweeps: int
    mean_gap: float
    """Of the steps that left the gate."""


def measure(rule: str, steps: int, seed: int, options: argparse.Namespace) -> Row:
    """Runs one rule with so many steps in flight."""
    data = generate(seed, n_train=N_TRAIN, n_val=options.val, n_test=1)
    own: Any = type("Own", (Ruled,), {})
    own.rule = staticmethod(RULES[rule])
    repair = [1] if options.policy == "reflective" else []
    own.sizes = (MINIBATCH, 1, 2 * MINIBATCH, *repair, options.val)
    with patch.object(prepare, "Limiter", own), tempfile.TemporaryDirectory() as directory:
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
            models="sim/h100-qwen3-8b",
            budget=fe.Budget(seconds=60 * options.minutes, grace_s=0),
            concurrency=options.concurrency,
            limits={"in_flight": steps},
            control={"mode": "fixed"},
            rng_seed=seed,
            run_dir=run_dir,
        )
        events = [record.event for record in read_records(run_dir)]
    return row_of(events, rule=rule, steps=steps, seed=seed, options=options)


def row_of(
    events: list[Any], *, rule: str, steps: int, seed: int, options: argparse.Namespace
) -> Row:
    """Reads off a run's events what the table needs."""
    counts = Counter(e.counts for e in events if isinstance(e, StageEnded))
    busy_s = sum(e.latency_s for e in events if isinstance(e, CallSettled))
    gaps = [e.gap for e in events if isinstance(e, GapChecked)]
    marks = [mark for e in events if isinstance(e, PoolChanged) for mark in e.marks]
    return Row(
        world=load_world().hash,
        rule=rule,
        steps=steps,
        seed=seed,
        minutes=options.minutes,
        load=busy_s / (60 * options.minutes * options.concurrency),
        front=marks.count("front") - 1,
        proposals=counts["proposed"],
        sweeps=counts["swept"] - 1,
        mean_gap=statistics.fmean(gaps) if gaps else 0.0,
    )


def gain(rows: list[Row], usual: list[Row]) -> tuple[float, float, float]:
    """Returns the ratio of fronts, and its 95 % interval over paired seeds."""
    by_seed = {row.seed: row.front for row in usual}
    pairs = [(row.front, by_seed[row.seed]) for row in rows if row.seed in by_seed]
    rng = Random(0)

    def ratio(sample: list[tuple[int, int]]) -> float:
        return sum(a for a, _ in sample) / max(1, sum(b for _, b in sample))

    drawn = sorted(ratio(rng.choices(pairs, k=len(pairs))) for _ in range(N_BOOTSTRAP))
    return ratio(pairs), drawn[int(0.025 * N_BOOTSTRAP)], drawn[int(0.975 * N_BOOTSTRAP)]


def worthy(rows: list[Row]) -> list[str]:
    """Returns the rules whose gain is surely worth it at all loads but the lightest."""
    loads = sorted({row.steps for row in rows})[1:]
    found = []
    for rule in dict.fromkeys(row.rule for row in rows if row.rule != DEFAULT):
        at_loads = [[row for row in rows if row.steps == steps] for steps in loads]
        gains = [
            gain([r for r in one if r.rule == rule], [r for r in one if r.rule == DEFAULT])
            for one in at_loads
        ]
        if all(low > WORTH for _, low, _ in gains):
            found.append(rule)
    return found


def report(rows: list[Row]) -> None:
    """Prints one line for each rule and load."""
    first = rows[0]
    n_seeds = len({row.seed for row in rows})
    print(f"who goes first: {n_seeds} seeds, {first.minutes:g} virtual minutes, {first.world}\n")
    layout = "{:<7}{:<7}{:<20}{:<12}{:<24}{:<13}{:<10}{}"
    head = ("steps", "load", "rule", "front/h", "gain [95 %]", "proposals/h", "sweeps/h", "gap")
    print(layout.format(*head))
    for steps in sorted({row.steps for row in rows}):
        usual = [row for row in rows if row.steps == steps and row.rule == DEFAULT]
        for rule in dict.fromkeys(row.rule for row in rows):
            mine = [row for row in rows if row.steps == steps and row.rule == rule]
            if not mine:
                continue
            hours = sum(row.minutes for row in mine) / 60
            middle, low, high = gain(mine, usual)
            cells = (
                steps,
                f"{statistics.fmean(row.load for row in mine):.0%}",
                rule,
                f"{sum(row.front for row in mine) / hours:.1f}",
                f"{middle - 1:+.1%} [{low - 1:+.1%}, {high - 1:+.1%}]",
                f"{sum(row.proposals for row in mine) / hours:.0f}",
                f"{sum(row.sweeps for row in mine) / hours:.0f}",
                f"{statistics.fmean(row.mean_gap for row in mine):.1f}",
            )
            print(layout.format(*cells))


def main() -> None:
    """Runs all rules at all loads, or reports rows that were kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rules", nargs="+", choices=sorted(RULES), default=list(RULES))
    parser.add_argument("--steps", nargs="+", type=int, default=[7, 24, 64])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--val", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--policy", choices=("reflective", "guarded", "full"), default="reflective")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--report", type=Path, help="rows that --json wrote; nothing is run")
    options = parser.parse_args()
    rows: list[Row] = []
    if options.report:
        rows = [Row(**row) for row in json.loads(options.report.read_text(encoding="utf-8"))]
    else:
        for seed in range(options.seeds):
            for steps in options.steps:
                for rule in options.rules:
                    rows.append(measure(rule, steps, seed, options))
                    if options.json:
                        kept = json.dumps([vars(row) for row in rows], indent=2)
                        options.json.write_text(kept, encoding="utf-8")
    report(rows)


if __name__ == "__main__":
    main()
