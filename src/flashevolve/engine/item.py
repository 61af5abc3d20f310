"""Item: one step in flight, and the ways in which it can end.

An item is never split, joined or edited; a stage returns a changed copy. `version` (v_i) is stamped
at selection, inherited by everything derived, and changed only by repair.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from flashevolve.policies.budget import Amounts

P = TypeVar("P")

EndedByStage = Literal["rejected", "skipped", "no-op", "absorbed"]
EndedByEngine = Literal["committed", "discarded", "dropped", "failed"]
ItemOutcome = EndedByStage | EndedByEngine
OUTCOMES: tuple[ItemOutcome, ...] = (
    "committed", "rejected", "discarded", "dropped", "skipped", "no-op", "absorbed", "failed",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Item(Generic[P]):
    """One step in flight."""

    ticket: int
    """Order of selection, from 1; names the item in every event."""
    source: str
    payload: P
    """The workflow's own frozen, JSON-serialisable dataclass."""
    version: int
    """v_i: the pool's version that the item's content is based on."""
    reads: tuple[str, ...] = ("pool",)
    """Scopes that it read and will write; the gap counts updates that touch one of them."""
    lineage: tuple[int, ...] = ()
    """Candidates it was derived from."""
    repairs: int = 0
    """How often it was shown to the repairing model; at most one."""

    def with_payload(self, **changes: Any) -> "Item[P]":
        """Returns a copy whose payload has `changes` set."""
        return replace(self, payload=replace(self.payload, **changes))  # type: ignore[type-var]


@dataclass(frozen=True)
class End:
    """A stage's word that the item is finished, and why."""

    outcome: EndedByStage
    reason: str
    useless: bool = False
    """True if a model's reply was of no use: data once, a cause if it goes on. Many in a row in one
    stage stop the run."""
    hint: str = ""
    """What to do if that stops the run; empty = what helps with a model."""


@dataclass(frozen=True)
class Goto(Generic[P]):
    """A stage's word that the item goes to a declared route instead of the next stage."""

    stage: str
    item: Item[P]


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a stage may spend on an item; reserved all or nothing when the stage takes it."""

    metric_calls: int = 0
    """Fresh evaluations of one artifact on one example; each is one metric call."""
    shared: int = 0
    """Shared evaluations (`fresh=False`); each is as many metric calls as the task has replicas."""
    proposals: int = 0

    def booked(self, replicas: int) -> "Needs":
        """Returns the same needs as the budget sees them: all evaluations as metric calls."""
        calls = self.metric_calls + replicas * self.shared
        return Needs(metric_calls=calls, proposals=self.proposals)

    @property
    def amounts(self) -> Amounts:
        """What booked needs reserve, by resource."""
        return {"metric_calls": self.metric_calls, "proposals": self.proposals}


@dataclass(frozen=True, kw_only=True)
class Minimum:
    """What a workflow needs to evaluate the seed and take one step."""

    metric_calls: int = 0
    """For fresh evaluations, one each."""
    shared: int = 0
    """Shared evaluations; each is as many metric calls as the task has replicas."""
    seed: int = 0
    """Of `shared`, those of the seed; the rest is one step's."""
    proposals: int = 0
    why: str = ""
    """The sum in words, such as `300 for the seed on val + 2 x 3 + 300 for one step`."""


@dataclass(frozen=True, kw_only=True)
class Selection(Generic[P]):
    """What a source starts: the content of a new item, and the pool state that this uses up."""

    payload: P
    reads: tuple[str, ...] = ("pool",)
    lineage: tuple[int, ...] = ()
    enter: str | None = None
    """Stage where it enters; None = the first."""
    ops: tuple[dict[str, Any], ...] = ()
    """Pool operations recorded with the selection (pointers, epochs); they bump no version."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """What a commit does to the pool."""

    ops: tuple[dict[str, Any], ...]
    """Operations that the workflow's pool understands, applied in one transaction."""
    scopes: tuple[str, ...] = ("pool",)
    """What changed, as later gap checks see it."""
    text: str = ""
    """The change in words; the repairing model reads it."""
    bumps: bool = True
    """False if the set of selectable artifacts stays the same."""
    marks: tuple[str, ...] = field(default=())
    """Counters that this commit raises besides `admitted`, such as `front` and `best`.

    One that admits several candidates raises `admitted` once more for each after the first: it
    stands between the marks of one candidate and those of the next, in the order of insertion."""
