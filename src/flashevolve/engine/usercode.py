"""User code: running agents and metrics, sync or async, without holding up the event loop.

Sync functions run in threads, a bounded number at once; a call to a model from such a thread is
made on the loop while the thread waits. In virtual time the loop itself hands threads their turn
(`call_from_thread`), so that time stands still while they compute.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar

from flashevolve.artifact import Artifact
from flashevolve.errors import TaskError
from flashevolve.llm.dicts import MessagesLike, as_messages
from flashevolve.llm.messages import Message, Reply
from flashevolve.task import Example

T = TypeVar("T")


class Ask(Protocol):
    """The journaled, metered way to a model that belongs to one evaluation."""

    def __call__(
        self, role: str, messages: Sequence[Message], **parameters: Any
    ) -> Coroutine[Any, Any, Reply]:
        """Asks a model of `role`."""
        ...


class AsyncContext:
    """What an async user function gets as `ctx`."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def chat(self, role: str, messages: MessagesLike, **parameters: Any) -> Reply:
        """Asks a model of `role`; `reply.text` is the answer."""
        return await self._ask(role, as_messages(messages), **parameters)


class SyncContext:
    """What a sync user function gets as `ctx`; its `chat` blocks the calling thread."""

    def __init__(self, ask: Ask, loop: asyncio.AbstractEventLoop) -> None:
        self._ask = ask
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._closed = False
        self._pending: set[Future[Reply]] = set()

    def chat(self, role: str, messages: MessagesLike, **parameters: Any) -> Reply:
        """Asks a model of `role`; `reply.text` is the answer."""
        if threading.get_ident() == self._loop_thread:
            raise TaskError(
                "ctx.chat was called in the event loop, which it would block for ever: run is no "
                "`async def` but returned something to await. Declare it with `async def`"
            )
        if self._closed:
            raise asyncio.CancelledError("the evaluation that this thread worked for was cancelled")
        coroutine = self._ask(role, as_messages(messages), **parameters)
        travel: Callable[[Coroutine[Any, Any, Reply]], Reply] | None = getattr(
            self._loop, "call_from_thread", None
        )
        if travel is not None:
            return travel(coroutine)
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._pending.add(future)
        if self._closed:  # It was closed between the check and the call.
            future.cancel()
        try:
            return future.result()
        finally:
            self._pending.discard(future)

    def close(self) -> None:
        """Cancels what the thread waits for; it may ask for nothing more."""
        self._closed = True
        for future in list(self._pending):
            future.cancel()


def is_async(function: Callable[..., Any]) -> bool:
    """Says whether calling `function` gives something to await."""
    while isinstance(function, partial):
        function = function.func
    call = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    return inspect.iscoroutinefunction(inspect.unwrap(call))


def takes_context(run: Callable[..., Any]) -> bool:
    """Says whether `run(artifact, example, ctx)` is the signature, rather than without `ctx`.

    Raises `TaskError` for a signature that takes neither two nor three positional arguments.
    """
    try:
        signature = inspect.signature(run)
    except (TypeError, ValueError):
        return False
    for arguments, answer in (((1, 2, 3), True), ((1, 2), False)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return answer
    raise TaskError(
        f"run must take (artifact, example) or (artifact, example, ctx), got {signature}"
    )


class _Kind:
    """How a function is to be called; keeps it alive, so that its id stays its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.is_async = is_async(function)
        # Our metrics take microseconds and touch nothing: a thread would cost more than they do.
        self.is_ours = (getattr(function, "__module__", None) or "").startswith("flashevolve.")

    @cached_property
    def takes_context(self) -> bool:
        return takes_context(self.function)


class UserCode:
    """Calls user functions wherever they belong. Close it after use."""

    def __init__(self, max_threads: int) -> None:
        self._kinds: dict[int, _Kind] = {}
        self._slots = asyncio.Semaphore(max_threads)
        self._threads = ThreadPoolExecutor(max_threads, thread_name_prefix="flashevolve-user")

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls `function` and returns its result; exceptions pass unchanged."""
        kind = self._kind(function)
        if kind.is_async:
            return await function(*arguments)
        if kind.is_ours:
            return function(*arguments)
        async with self._slots:
            loop = asyncio.get_running_loop()
            result = await loop.run_in_executor(self._threads, partial(function, *arguments))
        if isinstance(result, Awaitable):
            return await result
        return result

    async def run(
        self, run: Callable[..., Any], artifact: Artifact, example: Example, ask: Ask
    ) -> Any:
        """Runs an agent on one example and returns its output."""
        kind = self._kind(run)
        if not kind.takes_context:
            return await self.call(run, artifact, example)
        if kind.is_async:
            return await run(artifact, example, AsyncContext(ask))
        context = SyncContext(ask, asyncio.get_running_loop())
        try:
            return await self.call(run, artifact, example, context)
        finally:
            context.close()  # A thread outlives its cancelled evaluation; its requests must not.

    def _kind(self, function: Callable[..., Any]) -> "_Kind":
        """Looks at a function once: inspecting a signature costs more than most metrics."""
        if id(function) not in self._kinds:
            self._kinds[id(function)] = _Kind(function)
        return self._kinds[id(function)]

    def close(self) -> None:
        """Lets threads go; one that hangs in user code is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
