"""An event loop in which time travels: waiting is free and a program runs the same way each time.

Invariants:

- `time()` starts at 0 and moves only when nothing is ready: it jumps to the next timer.
- With nothing ready and no timer the loop blocks on its real self-pipe, so that another thread can
  wake or stop it.
- `run_in_executor` is the one port to threads, and a baton goes through it: either the loop runs or
  one worker thread does. While a worker computes, virtual time stands still. A worker gives the
  baton back when it ends or waits in `call_from_thread`; it gets it again at the virtual time at
  which its coroutine is done.
- No worker outlives the loop: what waits in one when the loop closes raises `CancelledError` there.

Threads that were not started by this loop cannot take part: nothing says when they are about to
call. A `ThreadPoolExecutor` passed to `run_in_executor` is therefore read as "in some thread": the
call runs in a worker of the loop, and the pool's size, initializer and threads do not count. Any
other executor (processes) is waited for in real time, one call after the other.
"""

import asyncio
import contextvars
import math
import selectors
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, TypeVarTuple, Unpack

from flashevolve.errors import TaskError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Port = Callable[[Coroutine[Any, Any, Any]], Any]

SIGNAL_POLL_S = 0.2
"""Real seconds after which a Ctrl-C is noticed at the latest while a worker computes."""

CLOSE_GRACE_S = 5.0
"""Real seconds for which `close` waits for one worker to unwind before it leaves it behind."""


class _Selector(selectors.DefaultSelector):
    """Polls for real, and travels instead of sleeping."""

    travel: Callable[[], None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(None)
        events = super().select(0)
        if timeout > 0 and not events:
            self.travel()
        return events


class _Job:
    """One call in a worker, and the future that stands for it in the loop."""

    def __init__(self, call: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        self.call = call
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None
        self.wish: tuple[Coroutine[Any, Any, Any], contextvars.Context] | None = None
        """The coroutine that the thread wants to wait for; taken by the loop."""
        self.task: asyncio.Task[Any] | None = None
        """The wish, as it runs in the loop."""

    def future_done(self, future: asyncio.Future[Any]) -> None:
        """Passes a cancellation of the awaiting side on to what the thread waits for."""
        if future.cancelled() and self.task is not None:
            self.task.cancel()

    def settle(self) -> None:
        """Delivers the result of the finished call."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        elif isinstance(self.error, asyncio.CancelledError):
            self.future.cancel()
        elif isinstance(self.error, StopIteration):
            # A future refuses StopIteration, and the awaiting task would hang for ever.
            wrapped = RuntimeError("a function in a thread raised StopIteration")
            wrapped.__cause__ = self.error
            self.future.set_exception(wrapped)
        else:
            self.future.set_exception(self.error)


class _Worker:
    """A daemon thread that runs one job at a time, and only while it holds the baton."""

    def __init__(self, local: threading.local, name: str) -> None:
        self.job: _Job | None = None
        self.dismissed = False
        # Two locks serve as binary semaphores: cheaper than a condition, and a lock that the main
        # thread waits for can be interrupted by a signal.
        self.resume, self.yielded = threading.Lock(), threading.Lock()
        self.resume.acquire()
        self.yielded.acquire()
        self._local = local
        self._turn = threading.Lock()
        """Held by whoever speaks to the loop for this thread: it, or who it waits for."""
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self._local.worker = self
        while True:
            self.resume.acquire()
            job = self.job
            if self.dismissed or job is None:
                return
            try:
                job.result = job.call()
            except BaseException as error:
                job.error = error
            del job
            with self._turn:
                # Before the loop goes on: who asks for the turn next must find that it is over.
                self.job = None
                if self.dismissed:
                    return
                self.yielded.release()

    def wait_for(self, job: _Job | None, coro: Coroutine[Any, Any, T]) -> T:
        """Parks this thread until the loop has run `coro`; returns or raises what it gave.

        Raises `CancelledError` if `job` is over, also if the worker has another one by now.
        """
        with self._turn:
            return self._waited_for(job, coro)

    def _waited_for(self, job: _Job | None, coro: Coroutine[Any, Any, T]) -> T:
        if self.dismissed or job is None or self.job is not job:
            coro.close()
            raise asyncio.CancelledError("the event loop has let go of this thread")
        job.wish = (coro, contextvars.copy_context())
        self.yielded.release()
        self.resume.acquire()
        if self.dismissed or job.task is None:
            coro.close()
            raise asyncio.CancelledError("the event loop closed while this thread waited for it")
        result: T = job.task.result()
        job.task = None
        return result

    def dismiss(self) -> None:
        """Lets the thread go: it ends at the latest where it would next wait for the loop."""
        self.dismissed = True
        # Already released = an interrupt came between the release and the wait for the answer.
        with suppress(RuntimeError):
            self.resume.release()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; see the module's invariants."""

    def __init__(self) -> None:
        self._now_s = 0.0
        selector = _Selector()
        super().__init__(selector)
        selector.travel = self._travel
        self._local = threading.local()
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._travel_to(0.0)

    def time(self) -> float:
        """Returns the virtual time in seconds."""
        return self._now_s

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[Unpack[Ts]], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """Runs `func` in a thread while virtual time stands still.

        Inside, `call_from_thread` waits for a coroutine of this loop. Cancelling the returned
        future cancels what the thread waits for; a thread that computes is not interrupted.
        """
        if self.is_closed():
            raise RuntimeError("the event loop is closed: start threads while it runs")
        future: asyncio.Future[T] = self.create_future()
        if executor is None or isinstance(executor, ThreadPoolExecutor):
            job = _Job(partial(func, *args), future)
            future.add_done_callback(job.future_done)
            self.call_soon(self._start, job)
        else:
            self.call_soon(self._run_elsewhere, executor, partial(func, *args), future)
        return future

    def call_from_thread(self, coro: Coroutine[Any, Any, T]) -> T:
        """Waits, in a thread of `run_in_executor`, for a coroutine of this loop.

        Virtual time goes on meanwhile. Raises what `coro` raised; `CancelledError` if the call was
        cancelled or the loop closed; `TaskError` in any other thread.
        """
        try:
            port = self.port_of_thread()
        except TaskError:
            coro.close()
            raise
        result: T = port(coro)
        return result

    def port_of_thread(self) -> "Port":
        """Returns what waits, for this thread of `run_in_executor`, for a coroutine of this loop.

        Another thread that this one waits for may use it: a server that it sent a request to. They
        are served one after the other, and refused once the call that this thread makes is over.
        Raises `TaskError` in a thread that is none of the loop's.
        """
        worker = getattr(self._local, "worker", None)
        if not isinstance(worker, _Worker):
            raise TaskError(
                "in virtual time a model is called from the thread in which sync code was started, "
                f"found thread {threading.current_thread().name!r}; make the function async, or "
                "call the model outside threads of its own"
            )
        return partial(worker.wait_for, worker.job)

    def close(self) -> None:
        """Closes the loop and ends its threads."""
        if not self.is_running() and not self.is_closed():
            for worker in self._workers:
                worker.dismiss()
                worker.thread.join(CLOSE_GRACE_S)
            self._workers.clear()
            self._idle.clear()
        super().close()

    def _travel(self) -> None:
        self._travel_to(self._scheduled[0]._when)  # type: ignore[attr-defined]

    def _travel_to(self, when_s: float) -> None:
        self._now_s = max(self._now_s, when_s)
        # The base class runs timers that are due before now + resolution: with one ulp, exactly
        # those that are due, and never none, however large the time has grown.
        self._clock_resolution = math.ulp(self._now_s)

    def _start(self, job: _Job) -> None:
        if job.future.cancelled():
            return
        if self._idle:
            worker = self._idle.pop()
        else:
            worker = _Worker(self._local, f"virtual-{len(self._workers)}")
            self._workers.append(worker)
        worker.job = job
        self._hand_over(worker, job)

    def _hand_over(self, worker: _Worker, job: _Job, _: object = None) -> None:
        """Gives the baton to a worker and blocks until it comes back."""
        try:
            worker.resume.release()
            # In turns: a signal that comes just before a wait without end would not interrupt it.
            while not worker.yielded.acquire(timeout=SIGNAL_POLL_S):
                pass
        except BaseException:
            # Interrupted by the user while the thread hangs: nobody may wait for it again.
            self._workers.remove(worker)
            worker.dismiss()
            raise
        if job.wish is None:
            self._idle.append(worker)
            job.settle()
            return
        (coro, context), job.wish = job.wish, None
        job.task = self.create_task(coro, context=context)
        job.task.add_done_callback(partial(self._hand_over, worker, job))
        if job.future.cancelled():
            job.task.cancel()

    def _run_elsewhere(
        self, executor: Executor, call: Callable[[], Any], future: asyncio.Future[Any]
    ) -> None:
        if future.cancelled():
            return
        job = _Job(call, future)
        try:
            job.result = executor.submit(call).result()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            job.error = error
        job.settle()


def run_virtual(main: Coroutine[Any, Any, T], loop: VirtualLoop | None = None) -> T:
    """Runs a coroutine in a new virtual loop, as `asyncio.run` does in a real one.

    `loop` may bring one that is new and of another kind; it is closed at the end.

    Unlike `asyncio.run` it leaves the handler of SIGINT alone: that one's first Ctrl-C only cancels
    the main task, which a loop that waits for a hanging thread would never notice.
    """
    loop = VirtualLoop() if loop is None else loop
    try:
        return loop.run_until_complete(main)
    finally:
        try:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(_gather(tasks))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


async def _gather(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
