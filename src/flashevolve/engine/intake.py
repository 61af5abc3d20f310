"""Intake: whether the backend can take the requests of one more step.

A limiter knows what is in flight and what waits; it cannot know of a step that was taken a moment
ago and has yet to ask. Such a step is *promised*: counted here from when a stage takes it until it
asks or leaves the stage, so that one decision does not let in as many steps as there are credits.
Without limiters to look at there is always room.
"""

from collections.abc import Callable, Iterable

from flashevolve.engine.item import Needs
from flashevolve.llm.limiter import Limiter
from flashevolve.policies.control import may_begin


class Intake:
    """Watches the limiters of a run."""

    def __init__(self, limiters: Iterable[Limiter]) -> None:
        self._limiters = tuple(limiters)
        self._promised: dict[int, int] = {}
        self._wake: Callable[[], None] | None = None
        """Set while somebody was turned away."""
        for limiter in self._limiters:
            limiter.watch(self._look)

    @property
    def full(self) -> bool:
        """True if a request waits for a slot on some account."""
        return any(limiter.waiting for limiter in self._limiters)

    def has_room(self, wake: Callable[[], None]) -> bool:
        """Says whether another step may begin; if not, calls `wake` once when it may."""
        room = self._has_room()
        self._wake = None if room else wake
        return room

    def promise(self, ticket: int, needs: Needs) -> None:
        """A stage took an item, whose requests will come in a moment."""
        if self._limiters:
            self._promised[ticket] = max(1, needs.metric_calls)

    def asked(self, ticket: int) -> None:
        """A request of the item is about to be counted by a limiter."""
        self._promised.pop(ticket, None)

    def left(self, ticket: int) -> None:
        """The item left its stage, whether it asked or not."""
        if self._promised.pop(ticket, None) is not None:
            self._look()

    def _has_room(self) -> bool:
        promised = self._promised.values()
        for limiter in self._limiters:
            limit = limiter.limit
            # An evaluation sends no more at once than the limit, however long the sweep.
            n_requests = limiter.demand + sum(min(n, limit) for n in promised)
            if not may_begin(n_requests=n_requests, limit=limit):
                return False
        return True

    def _look(self) -> None:
        if self._wake is not None and self._has_room():
            wake, self._wake = self._wake, None
            wake()
