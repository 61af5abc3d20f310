"""Current: the way to our models for code that is called inside an adapter and handed nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_CURRENT: ContextVar[Any] = ContextVar("flashevolve_adapter_context", default=None)


def current() -> Any:
    """Returns the `ctx` of the evaluation that this thread works for; None outside of one.

    Where a call covers several evaluations, it is that of the first.
    """
    return _CURRENT.get()


@contextmanager
def entered(context: Any) -> Iterator[None]:
    """Makes `context` the current one within the block."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
