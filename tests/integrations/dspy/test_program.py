"""Programs of DSPy at work: their copies, their threads, and what their code may ask for."""

import gc
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy

import flashevolve as fe
from flashevolve.artifact import Artifact
from flashevolve.integrations.dspy import GEPA
from flashevolve.integrations.dspy.program import IDLE_KEPT, Program
from tests.fakes.endpoint import Endpoint, Received, Step
from tests.integrations.dspy import fakes
from tests.integrations.dspy.fakes import LESSON, TRAIN, VAL, compiled, metric


class Building:
    """DSPy's adapter, as far as a program is built by it; knows which copies are alive."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.n_built = 0
        self.alive: weakref.WeakSet[Any] = weakref.WeakSet()

    def build_program(self, candidate: dict[str, str]) -> Any:
        self.n_built += 1
        copied = Copied(self.call)
        self.alive.add(copied)
        return copied


class Copied:
    """Stands for a program with a large index."""

    def __init__(self, call: Any) -> None:
        self.call = call

    def __call__(self, question: str) -> Any:
        return self.call(question)


def run_step(program: Program, ticket: int) -> None:
    attempt = SimpleNamespace(ticket=ticket, stage="rollout")
    example = SimpleNamespace(id="train/0")
    program.run(Artifact({"system": "Go."}), example, SimpleNamespace(attempt=attempt))


def test_few_copies_of_a_program_are_kept_that_nobody_is_in() -> None:
    adapter: Any = Building(lambda question: gc.collect())
    program = Program(adapter, None, metric, {"train/0": TRAIN[0]})
    for ticket in range(10):
        run_step(program, ticket)
        assert len(adapter.alive) <= IDLE_KEPT
    run_step(program, 9)
    assert adapter.n_built == 10


def test_a_copy_that_somebody_is_in_is_shared_and_not_made_again() -> None:
    depth = 0

    def call(question: str) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            for ticket in range(1, 10):
                run_step(program, ticket)
            run_step(program, 0)

    adapter: Any = Building(call)
    program = Program(adapter, None, metric, {"train/0": TRAIN[0]})
    run_step(program, 0)
    assert (depth, adapter.n_built) == (11, 10)
    gc.collect()
    assert len(adapter.alive) == IDLE_KEPT


class Twice(dspy.Module):  # type: ignore[misc]
    """Asks twice at once, in threads that DSPy starts."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict("question -> answer")

    def forward(self, question: str) -> Any:
        asked = [
            (self.answer, dspy.Example(question=f"{question}{mark}").with_inputs("question"))
            for mark in ".?"
        ]
        parallel = dspy.Parallel(num_threads=2, disable_progress_bar=True)
        return parallel(asked)[0]


def test_calls_in_the_threads_of_dspy_parallel_are_the_runs(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    optimizer, best = compiled(endpoint, tmp_path / "run", Twice())
    assert optimizer.result.usage.calls == len(endpoint.received)
    n_rollouts = optimizer.result.spent["metric_calls"]
    assert optimizer.result.usage_by_role["task"].calls == 2 * n_rollouts
    assert LESSON in best.answer.signature.instructions


def test_a_metric_and_a_program_can_ask_by_the_current_context(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    splits, judged = set[str](), list[str]()

    class Telling(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.answer = dspy.Predict("question -> answer")

        def forward(self, question: str) -> Any:
            splits.add(fe.current().attempt.split)
            return self.answer(question=question)

    def judge(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        if pred_name is None:
            context: Any = fe.current()
            judged.append(context.chat("task", "Is it right?").text)
        return metric(gold, pred)

    optimizer, _ = compiled(endpoint, tmp_path / "run", Telling(), metric=judge)
    assert splits == {"train", "val"}
    assert len(judged) == optimizer.result.spent["metric_calls"]
    assert optimizer.result.usage.calls == len(endpoint.received)


def test_a_compile_that_is_cut_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    stopped = threading.Event()
    optimizer: Any = None

    def script(received: Received) -> Step:
        step = fakes.replying(received)
        if len(serving.received) < 20:
            return step
        if not stopped.is_set():
            stopped.set()
            for _ in range(2):  # The second cancels what is under way.
                optimizer.run.stop()
        return replace(step, latency_s=30.0)

    with Endpoint(script) as serving:
        optimizer = GEPA(
            metric=metric, max_metric_calls=90, num_threads=8, log_dir=str(tmp_path / "run"),
            reflection_lm=fakes.lm(serving, "reflect-1"),
        )  # fmt: skip
        with dspy.context(lm=fakes.lm(serving)):
            optimizer.compile(dspy.Predict("question -> answer"), trainset=TRAIN, valset=VAL)
    assert optimizer.result.reason == "stop"
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith(("flashevolve", "asyncio")):
            thread.join(5)
            assert not thread.is_alive(), thread.name
