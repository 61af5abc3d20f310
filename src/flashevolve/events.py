"""Events: the only truth about a run. Progress, budgets, results and resume are folds of them.

An event says what was decided or what happened, never what to do. It is recorded before anything
that follows from it is visible outside the process. `docs/semantics.md` lists when each is written.
Every event is a frozen dataclass that round-trips through JSON; `Record` adds sequence and time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flashevolve.engine.item import ItemOutcome
from flashevolve.outcome import Usage

SCHEMA_VERSION = 1
"""Of events and tables together; a store of an older version opens, a newer one is refused."""

Json = Mapping[str, Any]
SpeculationStep = Literal["inserted", "confirmed", "demoted", "retracted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarted:
    """The first event: everything that a resume must find unchanged."""

    run_id: str
    algorithm: str
    policy: str
    schedule: Literal["async", "sync"]
    rng_seed: int
    artifact: dict[str, str]
    """The seed's components."""
    config: dict[str, Any]
    """The resolved configuration, without keys."""
    data: dict[str, Any]
    """Per split: number of examples and a fingerprint of their ids and contents."""
    pool: str
    """Import path of the pool's class, `module:Class`."""
    pool_state: Json
    """What the pool held before the first step, as its `dump` says it."""
    stages: list[str]
    simulated: bool
    """The run's own models are simulated, in virtual time. Whether an endpoint is, only its
    answers tell."""
    prices: dict[str, Any]
    """Model name -> dollars per million tokens in and out, as they were when the run began."""
    package: str
    """Version of flashevolve that wrote the run."""
    world: str = ""
    """Hash of the simulated world; empty for real models, and in runs that are older than it."""
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResumed:
    """A process opened the run again; `changes` are the settings that it changed."""

    changes: dict[str, Any]
    orphans: list[int]
    """Calls that were in flight when the last process died; settled at their reservation."""
    kind: Literal["run_resumed"] = "run_resumed"


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemSelected:
    """A source started an item."""

    ticket: int
    source: str
    ordinal: int
    """How many items this source had started before."""
    version: int
    reads: list[str]
    lineage: list[int]
    enter: str
    payload: Json
    ops: list[Json]
    kind: Literal["item_selected"] = "item_selected"


@dataclass(frozen=True, kw_only=True, slots=True)
class StageTaken:
    """A stage took an item; its needs are reserved from here to the matching `StageEnded`."""

    ticket: int
    stage: str
    visit: int
    """1 for the first time that this item is in this stage."""
    metric_calls: int = 0
    proposals: int = 0
    n_sweeps: int | None = None
    """Full sweeps that the order of its examples follows from; None = they keep their own."""
    kind: Literal["stage_taken"] = "stage_taken"


@dataclass(frozen=True, kw_only=True, slots=True)
class StageEnded:
    """A stage is done with an item; what it did not spend of its reservation is refunded."""

    ticket: int
    stage: str
    visit: int
    to: str | None
    """The stage whose queue the item enters; None = it goes to commit or has ended."""
    payload: Json | None
    """None = the item has ended; the matching `ItemEnded` follows in the same transaction."""
    metric_calls: int = 0
    proposals: int = 0
    counts: str | None = None
    n_counted: int = 1
    """By how much the counter rises: the candidates that the item stood for."""
    tail: int | None = None
    """Metric calls that stay reserved for what goes on after the stage's release, until the
    matching `TailEnded`; None = nothing goes on."""
    kind: Literal["stage_ended"] = "stage_ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class TailEnded:
    """What went on after a release is over, or was cut; what it did not spend is refunded."""

    ticket: int
    stage: str
    visit: int
    metric_calls: int
    kind: Literal["tail_ended"] = "tail_ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemRecalled:
    """A queued item whose parent missed its confirmation is sent to be repaired."""

    ticket: int
    stage: str
    """Where it was queued, and goes after a repair that accepts it."""
    to: str
    reason: str
    kind: Literal["item_recalled"] = "item_recalled"


@dataclass(frozen=True, kw_only=True, slots=True)
class GapChecked:
    """The item's gap was looked at, once, on leaving the gate."""

    ticket: int
    gap: int
    verdict: Literal["continue", "discard", "repair"]
    to: str | None
    """Where the item was going, and goes after a repair that accepts it; None = to commit."""
    tainted: bool = False
    """Whether a candidate that it comes from missed its confirmation; then that decides."""
    kind: Literal["gap_checked"] = "gap_checked"


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemRepaired:
    """The repairing model's word on a stale item; accept and patch stamp it with `version`."""

    ticket: int
    verdict: Literal["accept", "patch", "discard"]
    reason: str
    version: int
    """The version whose updates the model was shown."""
    base: int | None
    """The new parent of a patched item."""
    n_updates_shown: int
    n_updates_cut: int
    kind: Literal["item_repaired"] = "item_repaired"


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolChanged:
    """One pool transaction. `version` is the pool's afterwards."""

    ticket: int
    version: int
    bumped: bool
    ops: list[Json]
    scopes: list[str]
    text: str
    marks: list[str]
    speculation: SpeculationStep | None = None
    """What it means to the item's speculative candidate; None = it has none."""
    missed: int | None = None
    """A speculative candidate that missed its confirmation."""
    tainted: list[int] = field(default_factory=list)
    """Items in flight that come from it."""

    @property
    def admits(self) -> bool:
        """Whether a candidate has all its scores and full standing from here on."""
        return self.speculation not in ("inserted", "retracted")

    kind: Literal["pool_changed"] = "pool_changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemEnded:
    """The one terminal event of an item; its credit is free again."""

    ticket: int
    outcome: ItemOutcome
    reason: str
    stage: str | None
    ops: list[Json] = field(default_factory=list)
    """Pool operations that keep what the algorithm learnt from the end; they bump no version."""
    kind: Literal["item_ended"] = "item_ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class CallReserved:
    """A request is about to be sent: its worst case is reserved. Stored in table `calls`."""

    call: int
    ticket: int
    """Positive = item; negative = the run's own work, such as scoring on the test split."""
    stage: str
    visit: int
    map_key: str
    name: str
    request_hash: str
    occurrence: int
    """How many calls with the same key so far precede it in this visit."""
    attempt: int
    role: str
    model: str
    tokens: int
    usd: float
    request: Json
    content: str = ""
    """Hash over model, messages, parameters and replica: what another run may reuse it by."""
    kind: Literal["call_reserved"] = "call_reserved"


CallStatus = Literal[
    "ok", "refused", "truncated", "empty", "rate_limited", "transient", "fatal", "orphaned"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallSettled:
    """A request is over; `usage` replaces the reservation. Stored in table `calls`."""

    call: int
    ticket: int
    status: CallStatus
    usage: Usage
    usage_known: bool
    """False = the endpoint did not say, so `usage` is the whole reservation."""
    reply: Json | None
    """Its `world` is there if a simulated endpoint answered, over HTTP: the hash of its world."""
    error: str | None = None
    wait_s: float = 0.0
    """From asking for a slot to sending."""
    latency_s: float = 0.0
    """From sending to the end of the answer."""
    kind: Literal["call_settled"] = "call_settled"


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeRecorded:
    """An artifact was evaluated on an example. Stored in table `outcomes`."""

    ticket: int
    stage: str
    visit: int
    artifact: str
    """Hash."""
    split: str
    example: str
    replica: int
    fresh: bool
    score: float
    output: Any
    feedback: str
    trace: Any
    error: str | None
    usage: Usage
    objectives: dict[str, float] = field(default_factory=dict)
    """Objective -> score; left out where the metric names none."""
    kind: Literal["outcome_recorded"] = "outcome_recorded"


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitChanged:
    """The limiter allows another number of requests in flight on an account."""

    account: str
    limit: int
    reason: str
    kind: Literal["limit_changed"] = "limit_changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkersChanged:
    """A stage works on another number of items at once from here on."""

    stage: str
    workers: int
    reason: str
    kind: Literal["workers_changed"] = "workers_changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class DrainStarted:
    """Nothing is selected from here on. `reason` is a resource, `deadline`, `stop` or `target`."""

    reason: str
    detail: str = ""
    kind: Literal["drain_started"] = "drain_started"


@dataclass(frozen=True, kw_only=True, slots=True)
class TestScored:
    """An artifact was scored on the test split; `mean` is None, with the reason, if it was not."""

    which: Literal["seed", "best"]
    candidate: int
    mean: float | None
    n: int
    reason: str = ""
    kind: Literal["test_scored"] = "test_scored"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnded:
    """The process finished with the run. Items may still be in flight if `resumable`."""

    reason: str
    resumable: bool
    detail: str = ""
    counters: dict[str, int] = field(default_factory=dict)
    kind: Literal["run_ended"] = "run_ended"


Event = (
    RunStarted
    | RunResumed
    | ItemSelected
    | StageTaken
    | StageEnded
    | TailEnded
    | ItemRecalled
    | GapChecked
    | ItemRepaired
    | PoolChanged
    | ItemEnded
    | CallReserved
    | CallSettled
    | OutcomeRecorded
    | LimitChanged
    | WorkersChanged
    | DrainStarted
    | TestScored
    | RunEnded
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """An event with its place in the log."""

    seq: int
    """From 1, without holes."""
    t_s: float
    """Seconds since the run began, over all its processes; virtual seconds when simulated."""
    event: Event
