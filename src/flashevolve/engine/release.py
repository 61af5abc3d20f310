"""Release: a stage goes on after a fixed prefix of its requests; the rest is its tail.

At most one fan-out of a visit is released, by one fraction. The prefix is the first m of the order
and is submitted first, never whatever happens to finish first, which would favour short answers.
Nothing of a tail outlives its item: whoever ends the item closes the visit, and a closed visit
begins no further evaluation.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashevolve.policies.speculation import ReleaseKind, n_first

Arrange = Callable[[Sequence[str]], list[str]]
Whole = Callable[["asyncio.Future[None]"], Coroutine[Any, Any, Any]]
"""Runs all requests; resolves the future that it is given when the prefix is done."""


@dataclass
class Release:
    """What a visit may do before all its requests are done."""

    kind: ReleaseKind
    fraction: float
    arrange: Arrange = field(default=lambda ids: list(ids))
    """The order in which a sweep runs its examples."""
    used: bool = False
    tail: "asyncio.Future[Any] | None" = None
    """What goes on after the release, from then on until it is over or handed on."""
    said: dict[object, Any] = field(default_factory=dict)
    """What models answered the stage itself, so that its second run does not ask again."""

    def n_first(self, n: int, fraction: float | None = None) -> int:
        """Returns how many of `n` requests to wait for; `n` once something was released."""
        return n if self.used else n_first(self.fraction if fraction is None else fraction, n)

    async def first(self, whole: Whole) -> None:
        """Returns when the prefix is done; the rest becomes the tail.

        Raises what the requests raise until then.
        """
        self.used = True
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        running = asyncio.ensure_future(whole(ready))
        try:
            await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                running.result()
        except BaseException:
            await cancelled(running)
            raise
        self.tail = running


async def cancelled(task: "asyncio.Future[Any]") -> None:
    """Cancels a task and returns when it is over, whatever it raises."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
