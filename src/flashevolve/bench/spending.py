"""Spending: what the calls of a run cost, told alike for every arm.

A call that was cancelled in flight (an arm with more requests under way has more of them at the
deadline) is settled at the worst case that was reserved for it. Here it counts as the mean call
that was served. Scoring on the test split is no part of evolution, and counts nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flashevolve.bench.served import SERVED
from flashevolve.engine.session import TEST_STAGE
from flashevolve.events import CallReserved, CallSettled, Record

CANCELLED = "orphaned"


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What one call costs on average, and which calls count."""

    mean_tokens: float
    """Input and output of a call that was served; 0 without one."""
    mean_tokens_out: float
    on_test: frozenset[int]
    """Calls that scored on the test split."""

    def counts(self, event: CallSettled) -> bool:
        """Says whether a call is part of evolution."""
        return event.call not in self.on_test

    def tokens(self, event: CallSettled) -> float:
        """Returns a call's input and output tokens; 0 for scoring on test."""
        if not self.counts(event):
            return 0
        return self.mean_tokens if event.status == CANCELLED else event.usage.tokens

    def tokens_out(self, event: CallSettled) -> float:
        """Returns a call's output tokens; 0 for scoring on test."""
        if not self.counts(event):
            return 0
        return self.mean_tokens_out if event.status == CANCELLED else event.usage.tokens_out


def spending_of(records: Sequence[Record]) -> Spending:
    """Reads a run's records, all of them."""
    on_test = frozenset(
        r.event.call
        for r in records
        if isinstance(r.event, CallReserved) and r.event.stage == TEST_STAGE
    )
    served = [
        r.event.usage
        for r in records
        if isinstance(r.event, CallSettled)
        and r.event.status in SERVED
        and r.event.call not in on_test
    ]
    n = max(1, len(served))
    return Spending(
        mean_tokens=sum(usage.tokens for usage in served) / n,
        mean_tokens_out=sum(usage.tokens_out for usage in served) / n,
        on_test=on_test,
    )
