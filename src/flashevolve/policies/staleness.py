"""Staleness: what to do with an item whose pool moved on while it was in flight.

Pure. The gap counts updates since v_i that touch a scope of the item; the policies are those of
FlashEvolve (section 3.2): full ignores the gap, guarded bounds it, reflective has it read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flashevolve.engine.item import Item

Policy = Literal["full", "guarded", "reflective"]
GapRule = Literal["scoped", "global"]
Verdict = Literal["continue", "discard", "repair"]


@dataclass(frozen=True)
class Update:
    """One bump of the pool's version, as later items see it."""

    version: int
    scopes: tuple[str, ...]
    text: str


def updates_since(
    updates: Sequence[Update], version: int, scopes: Sequence[str], rule: GapRule = "scoped"
) -> list[Update]:
    """Returns the updates after `version` that touch one of `scopes`, oldest first.

    `updates` is ordered by version. Under the global rule (the paper's literal one) all count.
    """
    touched = frozenset(scopes)
    found: list[Update] = []
    for update in reversed(updates):
        if update.version <= version:
            break
        if rule == "global" or touched.intersection(update.scopes):
            found.append(update)
    return found[::-1]


@dataclass(frozen=True)
class Staleness:
    """A policy with its one parameter."""

    policy: Policy
    delta_max: int
    """The largest gap that guarded lets pass."""
    rule: GapRule = "scoped"

    def gap(self, updates: Sequence[Update], item: Item[object]) -> int:
        """Returns Δ of the item."""
        return len(updates_since(updates, item.version, item.reads, self.rule))

    def verdict(self, gap: int, repairs: int) -> Verdict:
        """Decides about an item that leaves the gate; one that was repaired always continues."""
        if gap == 0 or repairs or self.policy == "full":
            return "continue"
        if self.policy == "guarded":
            return "continue" if gap <= self.delta_max else "discard"
        return "repair"
