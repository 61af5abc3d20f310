"""Programs of DSPy at work: their copies, their threads, and what their code may ask for."""

import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import dspy

import flashevolve as fe
from flashevolve.integrations.dspy import GEPA
from flashevolve.integrations.dspy.program import IDLE_KEPT
from tests.fakes.endpoint import Endpoint, Received, Step
from tests.integrations.dspy import fakes
from tests.integrations.dspy.fakes import LESSON, TRAIN, VAL, compiled, metric


class Heavy(dspy.Module):  # type: ignore[misc]
    """Stands for a program with a large index; knows how many of it are alive."""

    alive: ClassVar["weakref.WeakSet[Any]"] = weakref.WeakSet()
    n_copies = 0
    most = 0

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict("question -> answer")

    def forward(self, question: str) -> Any:
        Heavy.n_copies += self not in Heavy.alive
        Heavy.alive.add(self)
        Heavy.most = max(Heavy.most, len(Heavy.alive))
        return self.answer(question=question)


def test_few_copies_of_a_program_are_kept_that_nobody_is_in(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    compiled(endpoint, tmp_path / "run", Heavy(), num_threads=2)
    assert Heavy.n_copies > 2 * (2 + IDLE_KEPT)
    # Two threads are in two copies, and each adds its own before it is counted.
    assert 2 <= Heavy.most <= 2 + IDLE_KEPT


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
