"""An event loop whose time jumps to the next timer as soon as nothing is ready to run.

For code without threads, sockets or files: with neither a timer nor a ready callback, it raises.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")


class TimeTravelLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__()

    def time(self) -> float:
        return self._now_s

    def _run_once(self) -> None:
        inner = cast(Any, self)
        if not inner._ready:
            if not inner._scheduled:
                raise RuntimeError("nothing is left that could ever wake anybody: a deadlock")
            self._now_s = max(self._now_s, inner._scheduled[0]._when)
        super()._run_once()  # type: ignore[misc]  # private, hence in no stub


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end on a new loop that starts at time 0."""
    with asyncio.Runner(loop_factory=TimeTravelLoop) as runner:
        return runner.run(coroutine)
