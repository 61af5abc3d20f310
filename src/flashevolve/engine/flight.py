"""InFlight: an item that has not ended, and all that the log says of it so far.

Changed by the fold of the run's events alone.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from flashevolve.engine.item import Item, Needs
from flashevolve.policies.budget import Amounts, Resource

NOTHING: Amounts = {"metric_calls": 0, "tokens": 0, "usd": 0.0}


@dataclass
class InFlight:
    """An item that has not ended, and where it is."""

    item: Item[Any]
    stage: str
    visits: dict[str, int] = field(default_factory=dict)
    """Stage -> number of times it was taken there."""
    taken: bool = False
    """True while a stage works on it; False while it is queued."""
    reserved: dict[Resource, float] = field(default_factory=dict)
    began_s: float = 0.0
    has_proposed: bool = False
    """True once a proposal is reserved or spent for it."""
    n_recorded: int = 0
    """Outcomes recorded since the stage took it."""
    n_prepaid: int = 0
    """Outcomes of this visit that were recorded and booked before a process died."""
    spent: dict[Resource, float] = field(default_factory=lambda: dict(NOTHING))
    bound_for: str | None = None
    """Where it was going when its gap was checked; None = to commit."""
    taken_s: float = 0.0
    """When the stage took it."""
    worked_s: dict[str, float] = field(default_factory=dict)
    """Stage -> seconds that it worked on the item, over all visits; queueing left out."""
    interrupted: bool = False
    """True once a process died while a stage worked on it: how long that took is not known."""
    n_sweeps: int | None = None
    """Full sweeps that the order of its own sweep follows from, from when that began."""
    tainted_by: int | None = None
    """A candidate that it comes from and that missed its confirmation."""
    tainted_at: int = 0
    """The pool's version then."""
    tails: dict[str, list[int]] = field(default_factory=dict)
    """What goes on after releases: `stage/visit` -> metric calls reserved, outcomes recorded. The
    lists are replaced, never changed, since a dump of the state refers to them."""

    @property
    def visit(self) -> int:
        """The visit that is under way or, while queued, the one that comes next."""
        seen = self.visits.get(self.stage, 0)
        return seen if self.taken else seen + 1

    def work_until(self, now_s: float) -> float:
        """Returns for how long the present stage has worked on it, earlier visits included."""
        return self.worked_s.get(self.stage, 0.0) + now_s - self.taken_s

    def still_needed(self, needs: Needs, replicas: int) -> Needs:
        """Returns what the budget has yet to grant.

        What the visit had evaluated before a process died is in the journal, and left out.
        """
        needs = needs.booked(replicas)
        return replace(needs, metric_calls=max(0, needs.metric_calls - self.n_prepaid))
