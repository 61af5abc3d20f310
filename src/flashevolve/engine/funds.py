"""Funds: tokens and dollars, waited for one request at a time.

A request that does not fit now waits until a settlement makes room; one that can never fit raises.
Waiters hold neither a reservation nor a slot. A settlement wakes them all, and the limiter's order
decides who tries first; there are seldom more of them than requests in flight.
"""

import asyncio
from collections import deque

from flashevolve.policies.budget import Amounts, Ledger, Resource


class BudgetExhausted(Exception):
    """A wish that no refund can meet any more; the engine turns it into a drain."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(f"budget exhausted: {resource}")
        self.resource = resource


class Funds:
    """The ledger as requests see it."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.aside: dict[Resource, float] = {}
        """What is kept for scoring on the test split, until that begins."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def fits(self, amounts: Amounts, aside: Amounts | None = None) -> bool:
        """Says whether `amounts` fit now; raises `BudgetExhausted` if they never will."""
        kept = self.aside if aside is None else aside
        match self.ledger.verdict(amounts, kept):
            case "grant":
                return True
            case "wait":
                return False
            case "exhausted":
                raise BudgetExhausted(self.short_of(amounts, kept))

    async def change(self) -> None:
        """Returns after the next settlement."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def settled(self) -> None:
        """Wakes everyone who waits: a settlement may have made room for several."""
        waiting, self._waiting = self._waiting, deque()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def short_of(self, amounts: Amounts, kept: Amounts) -> Resource:
        """Returns the first resource of which `amounts` can never be met."""
        return next(
            resource
            for resource, amount in amounts.items()
            if self.ledger.verdict({resource: amount}, kept) == "exhausted"
        )
