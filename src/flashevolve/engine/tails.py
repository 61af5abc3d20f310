"""Tails: what goes on of stages that their items have left.

A tail only costs: its outcomes are recorded and nothing follows from them. What it may spend stays
reserved until it is over. Invariants: a visit has at most one; a tail that its item outlives is
settled when it is over, any other in the transaction that ends the item.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from flashevolve import events as ev
from flashevolve.engine.context import Visit
from flashevolve.engine.log import EventLog

Tail = asyncio.Future[Any]
Over = Callable[[BaseException | None], None]


class Tails:
    """The tails of a run's items."""

    def __init__(self, log: EventLog, over: Over) -> None:
        """`over` is told of each tail that came to its own end, and what it raised."""
        self._log = log
        self._over = over
        self._going_on: dict[Tail, tuple[Visit, int]] = {}
        """With the metric calls that were settled at the release."""
        self._let_go = False
        self.unwinding: list[Tail] = []
        """Cancelled tails, which may still settle their calls."""

    @property
    def going_on(self) -> bool:
        """Whether there is any."""
        return bool(self._going_on)

    def hand_on(self, visit: Visit) -> int | None:
        """Takes the tail of a stage that its item leaves; returns the outcomes recorded so far.

        None = there is no tail.
        """
        release = visit.release
        if release is None or release.tail is None:
            return None
        tail, release.tail = release.tail, None
        n_recorded = self._log.state.in_flight[visit.ticket].n_recorded
        self._going_on[tail] = visit, n_recorded
        tail.add_done_callback(self._ended)
        return n_recorded

    def cut(self, ticket: int) -> list[ev.Event]:
        """Ends the tails of an item that ends; returns the events that settle them."""
        own = [tail for tail, (visit, _) in self._going_on.items() if visit.ticket == ticket]
        events: list[ev.Event] = []
        for tail in own:
            visit, n_settled = self._going_on.pop(tail)
            visit.closed = True
            tail.cancel()
            self.unwinding.append(tail)
            events.append(_ended(visit, n_settled))
        return events

    def let_go(self) -> None:
        """Cancels all tails; those of items that stay in flight are settled by a resume."""
        self._let_go = True
        for tail in self._going_on:
            tail.cancel()
            self.unwinding.append(tail)

    def _ended(self, tail: Tail) -> None:
        error = None if tail.cancelled() else tail.exception()
        if self._let_go or tail not in self._going_on:
            return
        visit, n_settled = self._going_on.pop(tail)
        try:
            self._log.append(_ended(visit, n_settled))
        except Exception as failed:  # the event loop would only print it
            error = error or failed
        self._over(error)


def _ended(visit: Visit, n_settled: int) -> ev.TailEnded:
    return ev.TailEnded(
        ticket=visit.ticket,
        stage=visit.stage,
        visit=visit.visit,
        metric_calls=visit.metric_calls - n_settled,
    )
