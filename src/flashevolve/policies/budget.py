"""Budget: what may be spent, and the verdict on each wish to spend.

Invariant: `spent + reserved <= limit` for every limited resource, at all times, save for what user
code spends through a client of its own: that is known only afterwards. Work reserves its worst case
before it starts and settles to what it used; a wish that cannot be met even if every outstanding
reservation were refunded is exhausted, anything else that does not fit now waits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

Resource = Literal["metric_calls", "proposals", "tokens", "usd"]
RESOURCES: tuple[Resource, ...] = ("metric_calls", "proposals", "tokens", "usd")
Verdict = Literal["grant", "wait", "exhausted"]
Amounts = Mapping[Resource, float]

USD_SLACK = 1e-9
"""Dollar sums are floats; a billionth of a dollar is rounding, not spending."""


@dataclass
class Ledger:
    """Limits, what is spent and what is reserved, by resource."""

    limits: dict[Resource, float]
    """Only limited resources have an entry."""
    spent: dict[Resource, float] = field(default_factory=lambda: dict.fromkeys(RESOURCES, 0))
    reserved: dict[Resource, float] = field(default_factory=lambda: dict.fromkeys(RESOURCES, 0))

    def verdict(self, amounts: Amounts, aside: Amounts | None = None) -> Verdict:
        """Says whether `amounts` may be reserved now, leaving `aside` untouched."""
        answer: Verdict = "grant"
        for resource, amount in amounts.items():
            limit = self.limits.get(resource)
            if limit is None or amount <= 0:
                continue
            room = limit - (aside or {}).get(resource, 0) - self.spent[resource] + USD_SLACK
            if amount > room:
                return "exhausted"
            if amount > room - self.reserved[resource]:
                answer = "wait"
        return answer

    def reserve(self, amounts: Amounts) -> None:
        """Takes `amounts` out of what others may reserve; the verdict must have been `grant`."""
        for resource, amount in amounts.items():
            self.reserved[resource] += amount

    def settle(self, reserved: Amounts, used: Amounts) -> None:
        """Gives a reservation back and books what was used of it."""
        for resource, amount in reserved.items():
            self.reserved[resource] -= amount
        for resource, amount in used.items():
            self.spent[resource] += amount

    def left(self, resource: Resource) -> float:
        """Returns what is neither spent nor reserved; infinite if the resource is unlimited."""
        limit = self.limits.get(resource)
        if limit is None:
            return float("inf")
        return limit - self.spent[resource] - self.reserved[resource]

    def overspent(self) -> Resource | None:
        """Returns a resource of which more is spent than its limit, as only user code can."""
        return next((r for r, n in self.limits.items() if self.spent[r] > n + USD_SLACK), None)

    def dump(self) -> dict[str, Any]:
        """Returns spent and reserved; limits belong to the process, not to the state."""
        return {"spent": dict(self.spent), "reserved": dict(self.reserved)}

    @classmethod
    def load(cls, limits: dict[Resource, float], state: Mapping[str, Any]) -> Self:
        """Returns the ledger that `dump` described, under the limits of this process."""
        return cls(limits, dict(state["spent"]), dict(state["reserved"]))


def selection_is_affordable(
    ledger: Ledger, *, mean_item: Amounts, n_in_flight: int, aside: Amounts
) -> bool:
    """Says whether one more step may start: the rest covers what is in flight and the new one.

    `mean_item` is what an ended item cost on average, the seed left out; empty = not known yet.
    Without this forecast the last steps of a budget would all be begun and none finished.
    """
    for resource, expected in mean_item.items():
        limit = ledger.limits.get(resource)
        if limit is None or expected <= 0:
            continue
        if limit - aside.get(resource, 0) - ledger.spent[resource] < expected * (n_in_flight + 1):
            return False
    return True


def expected_step(mean_item: Amounts, n_ended: int, *, declared: Amounts) -> dict[Resource, float]:
    """Returns what one more step will cost: the mean of those that ended, and a declared one.

    The first to end are those that were rejected, and cheap; what the workflow declares of a whole
    step counts as one that has ended, so that not all is begun with what would finish a few.
    """
    expected: dict[Resource, float] = dict(mean_item)
    for resource, amount in declared.items():
        ended = n_ended * mean_item.get(resource, 0)
        expected[resource] = (amount + ended) / (1 + n_ended)
    return expected


def scarcest(ledger: Ledger, mean_item: Amounts) -> Resource:
    """Returns the resource of which the fewest more steps are left."""
    costs = {resource: mean for resource, mean in mean_item.items() if mean > 0}
    return min(costs, key=lambda resource: ledger.left(resource) / costs[resource])
