"""Adapters for gepa's optimize: small, deterministic, and each with one habit.

The task: an example wants so many x in the component `p`; the reflecting function adds one.
"""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gepa.core.adapter import EvaluationBatch

SEED = {"p": "s"}
DATA = [{"wants": i % 6} for i in range(12)]


def add_x(prompt: Any) -> str:
    """Reflects: the current text, between the first fences, and one x more."""
    current = prompt.split("```")[1].strip()
    return f"```\n{current}x\n```"


class Levels:
    """Scores 1 where the text has enough x; fails if it is entered twice at once."""

    def __init__(self) -> None:
        self.n_inside = 0
        self.most_inside = 0
        self.n_examples = 0
        self.calls: list[int] = []
        self.traced: list[bool] = []
        self._lock = threading.Lock()

    @contextmanager
    def entered(self) -> Iterator[None]:
        with self._lock:
            self.n_inside += 1
            self.most_inside = max(self.most_inside, self.n_inside)
        try:
            self.linger()
            yield
        finally:
            with self._lock:
                self.n_inside -= 1

    def linger(self) -> None:
        """Gives other threads a chance to come in."""
        for _ in range(50):
            threading.Event().is_set()

    def evaluate(
        self, batch: list[Any], candidate: dict[str, str], capture_traces: bool = False
    ) -> Any:
        with self.entered():
            with self._lock:
                self.n_examples += len(batch)
                self.calls.append(len(batch))
                self.traced.append(capture_traces)
            return self.scored(batch, candidate, capture_traces)

    def scored(self, batch: list[Any], candidate: dict[str, str], traces: bool) -> Any:
        level = candidate["p"].count("x")
        return EvaluationBatch(
            outputs=[{"level": level, "wants": d["wants"]} for d in batch],
            scores=[float(level >= d["wants"]) for d in batch],
            trajectories=[{"wants": d["wants"], "level": level} for d in batch] if traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Any:
        with self.entered():
            records = [{"Inputs": str(t), "Feedback": "more"} for t in eval_batch.trajectories]
            return dict.fromkeys(components_to_update, records)


class Proposing(Levels):
    """Writes its own texts."""

    def propose_new_texts(self, candidate: Any, dataset: Any, components: list[str]) -> Any:
        with self.entered():
            assert all(dataset[name] for name in components)
            return {name: candidate[name] + "x" for name in components}


class OldBatches(Levels):
    """Has `batch_evaluate` as gepa 0.1.4 calls it."""

    def batch_evaluate(self, items: list[Any]) -> list[Any]:
        with self.entered():
            self.calls.append(sum(len(batch) for _, batch in items))
            self.n_examples += self.calls[-1]
            return [self.scored(batch, candidate, True) for candidate, batch in items]


class NewBatches(Levels):
    """Has `batch_evaluate` as newer versions of gepa call it."""

    def batch_evaluate(self, items: list[Any], *, capture_traces: bool = True) -> list[Any]:
        with self.entered():
            self.calls.append(sum(len(batch) for _, batch in items))
            self.n_examples += self.calls[-1]
            self.traced.append(capture_traces)
            return [self.scored(batch, candidate, capture_traces) for candidate, batch in items]


class Mutating(Levels):
    """Changes what it is given."""

    def scored(self, batch: list[Any], candidate: dict[str, str], traces: bool) -> Any:
        found = super().scored(batch, candidate, traces)
        candidate["p"] = "spoilt"
        batch.clear()
        return found


class SharedRng(Levels):
    """Samples its records from a generator that a second thread would tear."""

    def __init__(self) -> None:
        super().__init__()
        self.rng = random.Random(0)

    def make_reflective_dataset(self, candidate: Any, eval_batch: Any, components: Any) -> Any:
        whole = super().make_reflective_dataset(candidate, eval_batch, components)
        return {name: self.rng.sample(records, 1) for name, records in whole.items()}
