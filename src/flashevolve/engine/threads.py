"""Threads: a small executor whose threads nobody has to wait for.

Those of the standard library are joined when the process exits, so that one function that hangs
keeps it alive for ever. These are daemons: a process ends when its main thread does.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

JOIN_S = 0.5
"""Seconds in which an idle thread has surely ended."""

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(Executor):
    """Runs calls in at most `n_max` daemon threads, which are started as they are needed."""

    def __init__(self, n_max: int, name: str) -> None:
        self._n_max = n_max
        self._name = name
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs `fn` in a thread, as soon as one is free. Called from one thread only."""
        if self._closed:
            raise RuntimeError("submit after shutdown")
        future: Future[T] = Future()
        self._calls.put((future, partial(fn, *args, **kwargs)))
        if not self._idle.acquire(blocking=False) and len(self._threads) < self._n_max:
            name = f"{self._name}-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Lets the threads end after their calls; waits for none, whatever is asked."""
        self._closed = True
        for _ in self._threads:
            self._calls.put(None)

    def join(self) -> None:
        """Waits for idle threads to end, after `shutdown`; for one in a call but a moment."""
        until_s = time.monotonic() + JOIN_S
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function = call
            if future.set_running_or_notify_cancel():
                try:
                    result = function()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            del call, future, function  # An idle thread must not keep what it worked on.
            self._idle.release()
