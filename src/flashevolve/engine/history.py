"""History: what the repairing model is told of the updates to the pool.

Normally the updates that an item missed, newest kept first under a cap. Two controls show how much
these are worth: none are told, or as many of other times. An item that missed none is told of the
last updates in its scopes. Invariant: it depends on the state, the items and the context's own
random generator alone, so that a resumed visit is told the same.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flashevolve.engine.item import Item
from flashevolve.engine.workflow import StageContext
from flashevolve.policies.staleness import GapRule, Update, capped, swapped, updates_since
from flashevolve.policies.staleness import History as Shown

BYTES_PER_TOKEN = 4
"""English prose; only used to cap what is shown."""
WITHHELD = "(They are not shown.)"


@dataclass(frozen=True)
class Told:
    """The updates that a prompt shows."""

    shown: Sequence[Update] = ()
    n_cut: int = 0
    """Older ones that were missed and did not fit."""
    n_missed: int = 0
    """All that the items missed; 0 = they are not stale."""
    withheld: bool = False

    @property
    def text(self) -> str:
        """The updates as the prompt shows them."""
        if self.withheld:
            return WITHHELD
        told = "\n\n".join(f"Version {u.version}: {u.text}" for u in self.shown)
        if self.n_cut:
            told = f"({self.n_cut} older updates are not shown.)\n\n{told}"
        return told


@dataclass(frozen=True)
class History:
    """Chooses what is told."""

    updates: Callable[[], Sequence[Update]]
    """Those that the state remembers, in order."""
    rule: GapRule
    max_tokens: int
    kind: Shown = "full"

    def told(self, items: Sequence[Item[Any]], ctx: StageContext) -> Told:
        """Returns what a prompt about these items shows."""
        past = self.updates()
        missed = self.missed(items)
        if self.kind == "none":
            return Told(n_missed=len(missed), withheld=True)
        # The pool's first version is 0, and no update leads to it.
        relevant = missed or self._of(items, past, (0 for _ in items))
        room_bytes = self.max_tokens * BYTES_PER_TOKEN
        shown = capped(relevant, room_bytes)
        n_cut = len(relevant) - len(shown) if missed else 0
        if self.kind == "shuffled":
            shown = capped(swapped(shown, past, ctx.rng("history")), room_bytes)
        return Told(shown, n_cut, len(missed))

    def missed(self, items: Sequence[Item[Any]]) -> list[Update]:
        """Returns the updates that one of the items missed; empty if none is stale."""
        return self._of(items, self.updates(), (item.version for item in items))

    def _of(
        self, items: Sequence[Item[Any]], past: Sequence[Update], since: Iterable[int]
    ) -> list[Update]:
        """Returns the updates in the scopes of any of the items, each since its own version."""
        found = {
            update.version: update
            for item, version in zip(items, since, strict=True)
            for update in updates_since(past, version, item.reads, self.rule)
        }
        return [found[version] for version in sorted(found)]
