"""User code: running agents and metrics, sync or async, without holding up the event loop.

Sync functions run in threads, a bounded number at once; a call to a model from such a thread is
made on the loop while the thread waits. In virtual time the loop itself hands threads their turn
(`call_from_thread`), so that time stands still while they compute.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar, cast

from flashevolve.engine.ask import EmbedAsk
from flashevolve.engine.current import being
from flashevolve.engine.threads import DaemonThreads
from flashevolve.errors import TaskError
from flashevolve.llm.dicts import MessagesLike, as_messages
from flashevolve.llm.gateway.door import Door
from flashevolve.llm.gateway.gateway import Gateway
from flashevolve.llm.messages import Message, Reply
from flashevolve.task import Split

T = TypeVar("T")


class Ask(Protocol):
    """The journaled, metered way to a model that belongs to one evaluation."""

    def __call__(
        self, role: str, messages: Sequence[Message], **parameters: Any
    ) -> Coroutine[Any, Any, Reply]:
        """Asks a model of `role`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What user code is called for: one artifact on one example, in one visit of one item."""

    ticket: int
    stage: str
    visit: int
    artifact: str
    """Its content hash."""
    split: Split
    example: str
    replica: int
    fresh: bool
    """False for an outcome that others may ask for too, as those of validation are."""


LatencyOf = Callable[[str, int], float]
"""(example id, replica) -> seconds of virtual time."""


class _Context:
    """What sync and async contexts share: the way in for clients that user code brings along."""

    def __init__(self, ask: Ask, attempt: Attempt, door: Door | None) -> None:
        self.attempt = attempt
        self._ask = ask
        self.door = door
        """None = there is no gateway. Another context of the same call may have it as well."""

    @property
    def base_url(self) -> str:
        """Address of an OpenAI-compatible endpoint on this machine; roles are its models.

        What is asked there goes through this run's limiter, budget and records.
        """
        return self._way_in().base_url

    @property
    def api_key(self) -> str:
        """The key for `base_url`: works for this call of your function, and dies with it."""
        return self._way_in().token

    @property
    def environment(self) -> dict[str, str]:
        """The environment for a child process: `base_url` and `api_key`, and no key of ours."""
        return self._way_in().environment

    def _way_in(self) -> Door:
        if self.door is None:
            raise TaskError("ctx.base_url: expected a run with a gateway, found none. Use ctx.chat")
        return self.door


class AsyncContext(_Context):
    """What an async user function gets as `ctx`."""

    def __init__(self, ask: Ask, attempt: Attempt, door: Door | None = None) -> None:
        super().__init__(ask, attempt, door)

    async def chat(self, role: str, messages: MessagesLike, **parameters: Any) -> Reply:
        """Asks a model of `role`; `reply.text` is the answer."""
        return await self._ask(role, as_messages(messages), **parameters)


class SyncContext(_Context):
    """What a sync user function gets as `ctx`; its `chat` blocks the calling thread."""

    def __init__(
        self,
        ask: Ask,
        attempt: Attempt,
        loop: asyncio.AbstractEventLoop,
        door: Door | None = None,
    ) -> None:
        super().__init__(ask, attempt, door)
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

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Entered in the thread that works for this context: it is the current one there."""
        if self.door is not None:
            self.door.sit()
        with being(self):
            yield

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


TAKES = {"run": ("artifact", "example"), "score": ("example", "output")}
"""What the user's functions get besides `ctx`."""


def takes_context(function: Callable[..., Any], name: str = "run") -> bool:
    """Says whether `function` takes `ctx` as its third positional argument.

    A third one with a default of its own counts only if it is called `ctx`: metrics made for other
    tools have options there. Raises `TaskError` for a signature that takes neither two nor three;
    `name` is what the function is for.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    if _binds(signature, 3):
        third = list(signature.parameters.values())[2:3]
        return not third or third[0].name == "ctx" or third[0].default is inspect.Parameter.empty
    if _binds(signature, 2):
        return False
    given = ", ".join(TAKES[name])
    raise TaskError(f"{name} must take ({given}) or ({given}, ctx), got {signature}")


def _binds(signature: inspect.Signature, n: int) -> bool:
    try:
        signature.bind(*range(n))
    except TypeError:
        return False
    return True


INLINE_CHARS = 1500
"""Longest answer that our own metrics look at in the event loop. Most take microseconds for it; to
tell its sentences or its language takes milliseconds, several times when scored loosely."""


class _Kind:
    """How a function is to be called; keeps it alive, so that its id stays its own."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.name = name
        self.is_async = is_async(function)
        ours = (getattr(function, "__module__", None) or "").startswith("flashevolve.")
        self.is_light = ours and not getattr(function, "runs_user_code", False)
        """Whether a thread costs more than a call about a short answer."""

    @cached_property
    def takes_context(self) -> bool:
        return takes_context(self.function, self.name)


class UserCode:
    """Calls user functions wherever they belong. Close it after use."""

    def __init__(
        self,
        max_threads: int,
        score_latency_s: LatencyOf | None = None,
        gateway: Gateway | None = None,
    ) -> None:
        """`score_latency_s` is what scoring takes in a simulated world; None = its real time.

        `gateway` is for clients that user code brings along; None = it may bring none.
        """
        self._score_latency_s = score_latency_s
        self._gateway = gateway
        self._kinds: dict[int, _Kind] = {}
        self._slots = asyncio.Semaphore(max_threads)
        self._threads = DaemonThreads(max_threads, "flashevolve-user")

    async def run(
        self, run: Callable[..., Any], artifact: Any, example: Any, ask: Ask, attempt: Attempt
    ) -> Any:
        """Runs an agent on one example and returns its output."""
        return await self._call(self._kind(run, "run"), artifact, example, ask, attempt)

    async def score(
        self, score: Callable[..., Any], example: Any, output: Any, ask: Ask, attempt: Attempt
    ) -> Any:
        """Returns what a metric says about an output, in virtual time when the world has it."""
        scored = await self._call(self._kind(score, "score"), example, output, ask, attempt)
        if self._score_latency_s is not None:
            await asyncio.sleep(self._score_latency_s(example.id, attempt.replica))
        return scored

    async def _call(
        self, kind: "_Kind", first: Any, second: Any, ask: Ask, attempt: Attempt
    ) -> Any:
        """Calls a function, with a context if it takes one.

        Exceptions pass unchanged, except those that would end the event loop or hang it.
        """
        # With a gateway there is a run, whose way to models knows embeddings too.
        door = None if self._gateway is None else self._gateway.door(cast(EmbedAsk, ask))
        try:
            if kind.is_async:
                if door is not None:
                    door.is_async = True
                context = AsyncContext(ask, attempt, door)
                handed = (context,) if kind.takes_context else ()
                with being(context):
                    return await kind.function(first, second, *handed)
            if kind.is_light and not kind.takes_context and _is_short(second):
                return kind.function(first, second)
            return await self._threaded(
                kind, first, second, SyncContext(ask, attempt, asyncio.get_running_loop(), door)
            )
        except SystemExit as error:
            raise _exited(error) from error
        finally:
            if door is not None:
                await door.close()
                if door.broken is not None:
                    raise door.broken

    async def _threaded(self, kind: "_Kind", first: Any, second: Any, context: SyncContext) -> Any:
        handed = (context,) if kind.takes_context else ()
        try:
            with being(context):
                async with self._slots:
                    loop = asyncio.get_running_loop()
                    # A loop in virtual time has threads of its own.
                    threads = None if hasattr(loop, "call_from_thread") else self._threads
                    call = partial(_contained, kind, context, first, second, *handed)
                    result = await loop.run_in_executor(threads, call)
                return await result if isinstance(result, Awaitable) else result
        finally:
            # A thread outlives its cancelled evaluation; its requests must not.
            context.close()

    def _kind(self, function: Callable[..., Any], name: str) -> "_Kind":
        """Looks at a function once: inspecting a signature costs more than most metrics."""
        if id(function) not in self._kinds:
            self._kinds[id(function)] = _Kind(function, name)
        return self._kinds[id(function)]

    def close(self) -> None:
        """Lets threads go; one that hangs in user code is not waited for."""
        self._threads.shutdown(wait=False)


def _is_short(output: Any) -> bool:
    return output is None or (isinstance(output, str) and len(output) <= INLINE_CHARS)


def _contained(kind: _Kind, context: SyncContext, *arguments: Any) -> Any:
    """Calls a function in a thread; a future can hold whatever it raises."""
    try:
        with context.at_work():
            return kind.function(*arguments)
    except StopIteration as error:
        # A future refuses it, and whoever awaits that would hang for ever.
        raise RuntimeError(f"{kind.name} raised StopIteration") from error
    except SystemExit as error:
        raise _exited(error) from error


def _exited(error: SystemExit) -> RuntimeError:
    """One evaluation that asks to exit is a failure of its own, not the end of the process."""
    return RuntimeError(f"SystemExit: {error.code}")
