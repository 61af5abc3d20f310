import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import pytest

from flashevolve.artifact import Artifact
from flashevolve.engine.usercode import (
    INLINE_CHARS,
    AsyncContext,
    Attempt,
    SyncContext,
    UserCode,
    takes_context,
)
from flashevolve.errors import TaskError
from flashevolve.llm.messages import Reply
from flashevolve.simulate.loop import run_virtual
from flashevolve.task import Example
from tests.fakes.runs import Bench
from tests.fakes.workflows import Reduction

ARTIFACT = Artifact({"text": "be brief"})
EXAMPLE = Example(id="e", data={"input": "hi"})
ATTEMPT = Attempt(
    ticket=1,
    stage="rollout",
    visit=1,
    artifact=ARTIFACT.hash,
    split="train",
    example="e",
    replica=1,
    fresh=True,
)


async def ask(role: str, messages: Any, **parameters: Any) -> Reply:
    await asyncio.sleep(2.0)
    return Reply(text=f"{role}: {messages[-1].text}")


def test_user_code_is_told_what_it_is_called_for() -> None:
    def sync_run(artifact: Any, example: Any, ctx: SyncContext) -> Attempt:
        return ctx.attempt

    async def async_run(artifact: Any, example: Any, ctx: AsyncContext) -> Attempt:
        return ctx.attempt

    assert called(sync_run) == called(async_run) == ATTEMPT


def called(run: Callable[..., Any]) -> Any:
    """Runs a user function in virtual time."""

    async def main() -> Any:
        code = UserCode(2)
        try:
            return await code.run(run, ARTIFACT, EXAMPLE, ask, ATTEMPT)
        finally:
            code.close()

    return run_virtual(main())


def sync_two(artifact: Any, example: Any) -> str:
    return f"{artifact['text']} {example['input']}"


def sync_three(artifact: Any, example: Any, ctx: SyncContext) -> str:
    return ctx.chat("task", example["input"]).text


@dataclass
class Ours:
    """A metric of ours, as far as its module tells."""

    runs_user_code: bool = False

    def __call__(self, example: Any, output: Any) -> int:
        return threading.get_ident()


Ours.__module__ = "flashevolve.data.metrics"


@pytest.mark.parametrize(
    ("metric", "output", "inline"),
    [
        (Ours(), "a" * INLINE_CHARS, True),
        (Ours(), None, True),
        (Ours(), "a" * (INLINE_CHARS + 1), False),
        (Ours(), {"a": 1}, False),
        (Ours(runs_user_code=True), "a", False),
    ],
)
def test_only_a_light_metric_looks_at_a_short_answer_in_the_event_loop(
    metric: Ours, output: Any, inline: bool
) -> None:
    async def main() -> int:
        code = UserCode(2)
        try:
            return cast(int, await code.score(metric, EXAMPLE, output, ask, ATTEMPT))
        finally:
            code.close()

    assert (asyncio.run(main()) == threading.get_ident()) is inline


def test_scoring_takes_what_the_simulated_world_says_and_nothing_without_it() -> None:
    def score(example: Any, output: Any) -> float:
        return float(len(output))

    async def main(latency_s: Callable[[str, int], float] | None) -> tuple[list[float], float]:
        code = UserCode(2, latency_s)
        try:
            scores = [
                await code.score(score, EXAMPLE, "abc", ask, replace(ATTEMPT, replica=replica))
                for replica in (1, 2)
            ]
        finally:
            code.close()
        return scores, asyncio.get_running_loop().time()

    assert run_virtual(main(None)) == ([3.0, 3.0], 0.0)
    assert run_virtual(main(lambda example_id, replica: {"e": 1.5}[example_id] * replica)) == (
        [3.0, 3.0],
        4.5,
    )


async def async_two(artifact: Any, example: Any) -> str:
    return f"{artifact['text']} {example['input']}"


async def async_three(artifact: Any, example: Any, ctx: AsyncContext) -> str:
    return (await ctx.chat("task", [{"role": "user", "content": example["input"]}])).text


def sync_four(prefix: str, artifact: Any, example: Any, ctx: SyncContext) -> str:
    return prefix + ctx.chat("task", example["input"]).text


async def async_four(prefix: str, artifact: Any, example: Any, ctx: AsyncContext) -> str:
    return prefix + (await ctx.chat("task", example["input"])).text


class SyncAgent:
    def __call__(self, artifact: Any, example: Any, ctx: SyncContext) -> str:
        return ctx.chat("task", example["input"]).text


class AsyncAgent:
    async def __call__(self, artifact: Any, example: Any, ctx: AsyncContext) -> str:
        return (await ctx.chat("task", example["input"])).text

    async def method(self, artifact: Any, example: Any, ctx: AsyncContext) -> str:
        return (await ctx.chat("task", example["input"])).text


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (sync_two, "be brief hi"),
        (async_two, "be brief hi"),
        (lambda artifact, example: async_two(artifact, example), "be brief hi"),
        (sync_three, "task: hi"),
        (async_three, "task: hi"),
        (partial(sync_four, "p "), "p task: hi"),
        (partial(async_four, "p "), "p task: hi"),
        (SyncAgent(), "task: hi"),
        (AsyncAgent(), "task: hi"),
        (AsyncAgent().method, "task: hi"),
        (lambda *arguments: len(arguments), 3),
        (lambda artifact, example, ctx=None: ctx is not None, True),
    ],
)
def test_every_kind_of_function_gets_what_it_takes(run: Callable[..., Any], expected: Any) -> None:
    assert called(run) == expected


@pytest.mark.parametrize("run", [lambda artifact: 1, lambda a, b, c, d: 1])
def test_another_number_of_arguments_is_named(run: Callable[..., Any]) -> None:
    expected = r"run must take \(artifact, example\) or \(artifact, example, ctx\), got \(a"
    with pytest.raises(TaskError, match=expected):
        called(run)


def test_a_hidden_async_function_is_told_to_declare_itself_and_does_not_hang() -> None:
    def hidden(artifact: Any, example: Any, ctx: Any) -> Coroutine[Any, Any, str]:
        return async_three(artifact, example, ctx)

    with pytest.raises(TaskError, match=r"Declare it with `async def`"):
        called(hidden)


def in_real_time(run: Callable[..., Any]) -> Any:
    """Runs a user function in a thread of its own, in real time."""

    async def main() -> Any:
        code = UserCode(2)
        try:
            return await asyncio.wait_for(code.run(run, ARTIFACT, EXAMPLE, ask, ATTEMPT), 10)
        finally:
            code.close()

    return asyncio.run(main())


def exhausted(artifact: Any, example: Any) -> None:
    next(iter(()))


def leaving(artifact: Any, example: Any) -> None:
    sys.exit(3)


async def leaving_async(artifact: Any, example: Any) -> None:
    sys.exit(3)


@pytest.mark.parametrize("caller", [called, in_real_time])
def test_stop_iteration_is_an_error_like_any_other_and_hangs_nothing(caller: Any) -> None:
    with pytest.raises(RuntimeError, match="run raised StopIteration"):
        caller(exhausted)


@pytest.mark.parametrize("caller", [called, in_real_time])
@pytest.mark.parametrize("run", [leaving, leaving_async])
def test_sys_exit_is_an_error_of_the_function_and_ends_no_loop(caller: Any, run: Any) -> None:
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        caller(run)


def test_a_third_argument_with_a_default_is_the_context_only_by_its_name() -> None:
    assert not takes_context(lambda example, output, trace=None: 1.0, "score")
    assert takes_context(lambda example, output, ctx=None: 1.0, "score")
    assert takes_context(lambda example, output, judge: 1.0, "score")
    with pytest.raises(
        TaskError, match=r"score must take \(example, output\) or \(example, output"
    ):
        takes_context(lambda example: 1.0, "score")


def test_exceptions_of_user_code_pass_unchanged() -> None:
    def broken(artifact: Any, example: Any) -> None:
        raise LookupError("gold")

    with pytest.raises(LookupError, match="gold"):
        called(broken)


def test_a_thread_whose_evaluation_was_cancelled_asks_nothing_more() -> None:
    """In real time: the thread goes on, but its request is cancelled and the next one refused."""
    n_asked = 0
    said: list[str] = []
    asking, done = threading.Event(), threading.Event()

    async def never(role: str, messages: Any, **parameters: Any) -> Reply:
        nonlocal n_asked
        n_asked += 1
        asking.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    def stubborn(artifact: Any, example: Any, ctx: SyncContext) -> None:
        for _ in range(2):
            try:
                ctx.chat("task", "hi")
            except BaseException as error:
                said.append(type(error).__name__)
        done.set()

    async def main() -> None:
        code = UserCode(1)
        task = asyncio.create_task(code.run(stubborn, ARTIFACT, EXAMPLE, never, ATTEMPT))
        await asyncio.to_thread(asking.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(done.wait, 10)
        code.close()

    asyncio.run(main())
    assert n_asked == 1
    assert said == ["CancelledError", "CancelledError"]


def test_sync_agents_that_call_the_model_give_the_same_log_every_time() -> None:
    def agent(artifact: Any, example: Any, ctx: SyncContext) -> str:
        first = ctx.chat("task", example["input"]).text
        return ctx.chat("task", first).text

    logs = []
    for _ in range(2):
        bench = Bench(lambda setup: Reduction(setup, 6), agent=agent)
        state = bench.run()
        assert state.counters["committed"] > 0
        logs.append(bench.store.records)
    assert logs[0] == logs[1]
