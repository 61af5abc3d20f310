"""Memory of one long run: RSS after 1,000 calls, 10,000 and so on to 100,000.

    python benchmarks/footprint.py [--calls 100000] [--val 100] [--trace]

GEPA in virtual time, with the real store on disk and realistic texts (8 KB inputs, 4 KB answers),
so that nothing but calls distinguishes the marks. Beside RSS stand the objects that the garbage
collector knows, what the run itself had to keep (candidates and items in flight), and in brackets
the megabytes by kind of mapping (`memory.mapped_mb`). `--trace` names the lines whose memory grew
from the second mark to the last (slow). Aim: at most 10 % more at 100,000 calls than at 10,000.

What grows with the calls is the candidates' texts: a pool that never evicts keeps them, here 4 KB
for every hundred calls or so. Steps are the allocators' doing: the table of interned names
doubles once, and arenas come by the megabyte and hardly ever go.
"""

import argparse
import gc
import tempfile
import tracemalloc
from pathlib import Path

from harness import NumberedModel, examples, score, session_of
from memory import mapped_mb, rss_mb

from flashevolve import events as ev
from flashevolve.algorithms.gepa.config import GEPA
from flashevolve.artifact import Artifact
from flashevolve.engine.state import RunState
from flashevolve.engine.workflow import Setup
from flashevolve.simulate.loop import run_virtual
from flashevolve.store.writer import StoreWriter
from flashevolve.task import Task

INPUT_CHARS, ANSWER_CHARS = 8_000, 4_000
MARKS = (1_000, 10_000, 20_000, 50_000, 100_000, 200_000, 400_000)
AIM = 0.10


class Scale:
    """Weighs the process whenever a mark is passed."""

    def __init__(self, state: RunState, trace: bool) -> None:
        self.rss_mb: dict[int, float] = {}
        self._state = state
        self._trace = trace
        self._marks = iter(MARKS)
        self._next = next(self._marks)
        self._before: tracemalloc.Snapshot | None = None

    def __call__(self, record: ev.Record) -> None:
        """Takes part as an observer of the run."""
        if not isinstance(record.event, ev.CallSettled) or record.event.call < self._next:
            return
        mark, self._next = self._next, next(self._marks, 10**12)
        gc.collect()
        self.rss_mb[mark] = rss_mb()
        self._show(mark)
        if self._trace:
            self._compare(mark)

    def _show(self, mark: int) -> None:
        n_objects, n_candidates = len(gc.get_objects()), len(self._state.pool.candidates)
        print(f"{mark:>8} calls: RSS {self.rss_mb[mark]:6.1f} MB, {n_objects:>7} objects, ", end="")
        print(f"{n_candidates:>5} candidates, {len(self._state.in_flight)} items ", end="")
        kinds = sorted(mapped_mb().items())
        print(f"({', '.join(f'{kind} {mb:.1f}' for kind, mb in kinds)})", flush=True)

    def _compare(self, mark: int) -> None:
        now = tracemalloc.take_snapshot()
        if self._before is not None:
            for grown in now.compare_to(self._before, "lineno")[:12]:
                print("   ", grown)
        if mark > MARKS[0]:
            self._before = self._before or now


def main() -> None:
    """Runs and prints a line at each mark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--val", type=int, default=100)
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    if options.trace:
        tracemalloc.start()
    seed = Artifact({"system": "Be brief."})
    train, val = examples("train", 60, INPUT_CHARS), examples("val", options.val, INPUT_CHARS)
    setup = Setup(
        seed=seed,
        train_ids=tuple(e.id for e in train),
        val_ids=tuple(e.id for e in val),
        perfect_score=1.0,
    )
    task, workflow = Task(train=train, val=val, score=score), GEPA().workflow(setup)
    with tempfile.TemporaryDirectory() as directory:
        store = StoreWriter.create(Path(directory) / "run", "inline")
        model = NumberedModel(ANSWER_CHARS)
        # A little more, so that the last mark lies within the run.
        calls = options.calls + 1000
        session = session_of(workflow, task, seed, model, store, metric_calls=calls)
        scale = Scale(session.state, options.trace)
        session.observe(scale)
        run_virtual(session.run())
        store.close()
    first, last = MARKS[1], max(scale.rss_mb)
    grown = scale.rss_mb[last] / scale.rss_mb[first] - 1
    per_call = (scale.rss_mb[last] - scale.rss_mb[first]) * 1e6 / (last - first)
    print(
        f"from {first} to {last} calls: RSS {grown:+.1%}, {per_call:.0f} bytes per call; ", end=""
    )
    print(f"aim: at most {AIM:+.0%}: {'met' if grown <= AIM else 'MISSED'}")


if __name__ == "__main__":
    main()
