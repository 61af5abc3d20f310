"""Current: the context of the user function that runs, for code which is not handed one.

It is set around every call of user code, in the thread that makes the call. Threads that user code
starts by itself have none, unless they are started in a copy of the context (`contextvars`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from flashevolve.errors import TaskError

if TYPE_CHECKING:
    from flashevolve.engine.usercode import AsyncContext, SyncContext

_CURRENT: "ContextVar[AsyncContext | SyncContext | None]" = ContextVar("current", default=None)


def current() -> "AsyncContext | SyncContext":
    """Returns the `ctx` of the run or score function that is being called.

    Raises `TaskError` outside of one.
    """
    found = _CURRENT.get()
    if found is None:
        raise TaskError(
            "flashevolve.current(): expected to be called inside a run or score function of a run, "
            "found none under way here. In a thread of your own, start it with "
            "contextvars.copy_context().run"
        )
    return found


@contextmanager
def being(context: "AsyncContext | SyncContext") -> Iterator[None]:
    """Makes a context the current one while the block runs."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
