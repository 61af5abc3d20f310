"""Staleness: what to do with an item whose pool moved on while it was in flight.

Pure. The gap counts updates since v_i that touch a scope of the item; the policies are those of
FlashEvolve (section 3.2): full ignores the gap, guarded bounds it, reflective has it read. The rest
are controls, to be compared with: regenerate makes reflective's call without the stale text,
`History` withholds or swaps the updates, and `When` gives items that are not stale the same call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from flashevolve.engine.item import Item

Policy = Literal["full", "guarded", "reflective", "regenerate"]
ASKING: tuple[Policy, ...] = ("reflective", "regenerate")
"""Policies that ask a model about items."""
GapRule = Literal["scoped", "global"]
History = Literal["full", "none", "shuffled"]
"""Which updates the asked model is shown: those that the item missed, none, or others."""
When = Literal["stale", "always"]
"""Which items a model is asked about: stale ones, or all that passed the gate."""
Verdict = Literal["continue", "discard", "repair"]
N_PAST = 64
"""Past updates that the controls draw from; a bound, since their texts fill memory."""


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


def remembered(
    updates: Sequence[Update], oldest: int, settings: Mapping[str, object]
) -> list[Update]:
    """Returns those after version `oldest`, and before them the last `N_PAST` if controls ask."""
    missed = [update for update in updates if update.version > oldest]
    controls = settings.get("history") == "shuffled" or settings.get("when") == "always"
    older = updates[: len(updates) - len(missed)]
    return [*older[-N_PAST:], *missed] if controls else missed


def capped(updates: Sequence[Update], room_bytes: int) -> list[Update]:
    """Returns the newest updates whose texts fit, in order; at least one if there is any."""
    kept: list[Update] = []
    for update in reversed(updates):
        room_bytes -= len(update.text.encode())
        if room_bytes < 0 and kept:
            break
        kept.append(update)
    return kept[::-1]


def swapped(shown: Sequence[Update], past: Sequence[Update], rng: Random) -> list[Update]:
    """Returns as many updates as `shown`, under its versions, with the texts of others of `past`.

    None occurs twice; there are fewer where `past` holds too few others. The versions stay, since
    the numbers alone would tell that these are of another time.
    """
    versions = {update.version for update in shown}
    others = [update for update in past if update.version not in versions]
    drawn = rng.sample(others, min(len(shown), len(others)))
    newest = shown[len(shown) - len(drawn) :]
    return [replace(own, text=other.text) for own, other in zip(newest, drawn, strict=True)]


@dataclass(frozen=True)
class Staleness:
    """A policy with its one parameter."""

    policy: Policy
    delta_max: int
    """The largest gap that guarded lets pass."""
    rule: GapRule = "scoped"
    when: When = "stale"

    @property
    def asks(self) -> bool:
        """Whether a model is asked about items."""
        return self.policy in ASKING

    def gap(self, updates: Sequence[Update], item: Item[object]) -> int:
        """Returns Δ of the item."""
        return len(updates_since(updates, item.version, item.reads, self.rule))

    def verdict(self, gap: int, repairs: int) -> Verdict:
        """Decides about an item that leaves the gate; one that was repaired always continues."""
        if repairs or self.policy == "full":
            return "continue"
        if self.policy == "guarded":
            return "continue" if gap <= self.delta_max else "discard"
        return "repair" if gap or self.when == "always" else "continue"
