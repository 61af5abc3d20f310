"""Threads in which a user's synchronous objects are called, on a real loop and in virtual time.

A call that is under way cannot be interrupted: whoever waited for it may be gone, the thread ends
by itself after the call. Context variables are those of the caller.
"""

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from flashevolve.engine.threads import DaemonThreads
from flashevolve.integrations.gepa.bound import note_thread

T = TypeVar("T")


class Threads:
    """At most `n_max` threads."""

    def __init__(self, n_max: int) -> None:
        self._n_max = n_max
        self._pool: DaemonThreads | None = None
        self._n_inside = 0
        self._changed = threading.Condition()

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls `function` in a thread; raises what it raises."""
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        call = partial(context.run, self._inside, function, *arguments)
        if hasattr(loop, "call_from_thread"):  # A loop in virtual time has threads of its own.
            return await loop.run_in_executor(None, call)
        if self._pool is None:
            self._pool = DaemonThreads(self._n_max, "flashevolve-adapter")
        return await loop.run_in_executor(self._pool, call)

    def _inside(self, function: Callable[..., T], *arguments: Any) -> T:
        with self._changed:
            self._n_inside += 1
        try:
            found: T = awaited(function(*arguments))
            return found
        except StopIteration as error:
            # A future refuses it, and whoever awaits that would hang for ever.
            raise RuntimeError("StopIteration") from error
        except Exception as error:
            note_thread(error)
            raise
        except BaseException as error:
            # KeyboardInterrupt, SystemExit, CancelledError: not the loop's, but the called one's.
            said = f": {error}" if str(error) else ""
            raise RuntimeError(f"{type(error).__name__}{said}") from error
        finally:
            with self._changed:
                self._n_inside -= 1
                self._changed.notify_all()

    def close(self, grace_s: float) -> bool:
        """Lets the threads end after their calls; waits for these, at most so long.

        Returns whether all calls are over. Called from outside the loop, after the run.
        """
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        until_s = time.monotonic() + grace_s
        with self._changed:
            while self._n_inside and (left_s := until_s - time.monotonic()) > 0:
                self._changed.wait(left_s)
            is_over = not self._n_inside
        if self._pool is not None:
            self._pool.join()
        return is_over


def awaited(found: Any) -> Any:
    """Returns what a call gave; an `async def` of the user's gets a loop of its own, here."""
    if not inspect.iscoroutine(found):
        return found

    async def wait() -> Any:
        return await found

    return asyncio.run(wait())
