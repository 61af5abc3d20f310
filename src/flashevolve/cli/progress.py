"""Progress: folds a run's events into what a screen shows. No terminal in here.

`Progress` is a fold like any other: the same events give the same view, whether they arrive live or
from the log of an older process.
"""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from flashevolve import events as ev
from flashevolve.engine.state import RunState
from flashevolve.policies.budget import Resource
from flashevolve.rundir import load_class, raw

GAPS_SHOWN = 12
"""Fits on a line, and covers the last half minute of a typical run."""


@dataclass(frozen=True, kw_only=True)
class StageView:
    """One stage, now and so far."""

    name: str
    queued: int
    running: int
    done: int
    """Items that left it, over the whole run."""
    busy_s: float
    """Worker seconds spent in it."""
    waited_s: float
    """Seconds that items spent in its queue before it took them."""

    @property
    def mean_s(self) -> float | None:
        """Seconds per item; None before the first."""
        return self.busy_s / self.done if self.done else None


@dataclass(frozen=True, kw_only=True)
class BudgetView:
    """One limited resource."""

    name: str
    spent: float
    reserved: float
    limit: float


@dataclass(frozen=True, kw_only=True)
class View:
    """What a screen shows."""

    started: ev.RunStarted
    answered_by: tuple[str, ...]
    """Hashes of simulated worlds, and `real`, so far."""
    t_s: float
    stages: tuple[StageView, ...]
    in_flight: int
    version: int
    n_candidates: int
    seed_score: float | None
    best_score: float | None
    best_id: int | None
    gaps: tuple[int, ...]
    """Of the last checks, oldest first."""
    counters: Mapping[str, int]
    budgets: tuple[BudgetView, ...]
    usd: float
    n_calls: int
    requests: int
    """In flight now."""
    limits: Mapping[str, int]
    """Requests allowed in flight, by account."""
    phase: str


@dataclass
class _StageSums:
    done: int = 0
    busy_s: float = 0.0
    waited_s: float = 0.0


@dataclass
class Progress:
    """The fold."""

    limits: Mapping[Resource, float] = field(default_factory=dict)
    """Of this process: a resume may have changed what was recorded."""
    deadline_s: float | None = None
    max_requests: int | None = None
    """Shown until a limiter reports its own."""
    state: RunState | None = None
    """None until the first event."""
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(outcome, reason) of ended items."""
    gaps: Counter[int] = field(default_factory=Counter)
    n_seen: int = 0

    def __post_init__(self) -> None:
        self._stages: dict[str, _StageSums] = {}
        self._since: dict[int, float] = {}
        self._recent_gaps: deque[int] = deque(maxlen=GAPS_SHOWN)

    def apply(self, record: ev.Record) -> None:
        """Folds one record; those that were seen before change nothing."""
        if record.seq <= self.n_seen:
            return
        self.n_seen = record.seq
        event = record.event
        if isinstance(event, ev.RunStarted):
            self.state = RunState(load_class(event.pool)(), dict(self.limits), raw)
            self._stages = {name: _StageSums() for name in event.stages}
        assert self.state is not None, "a log begins with run_started"
        self.state.apply(record)
        match event:
            case ev.RunResumed():
                self._since = dict.fromkeys(self.state.in_flight, record.t_s)
            case ev.ItemSelected():
                self._since[event.ticket] = record.t_s
            case ev.StageTaken():
                sums = self._stages.setdefault(event.stage, _StageSums())
                sums.waited_s += self._lap(event.ticket, record.t_s)
            case ev.StageEnded():
                sums = self._stages.setdefault(event.stage, _StageSums())
                sums.busy_s += self._lap(event.ticket, record.t_s)
                sums.done += 1
                if event.to is not None:
                    self._stages.setdefault(event.to, _StageSums())
            case ev.ItemRecalled():
                waited_s = self._lap(event.ticket, record.t_s)
                self._stages.setdefault(event.stage, _StageSums()).waited_s += waited_s
                self._stages.setdefault(event.to, _StageSums())
            case ev.GapChecked():
                self._recent_gaps.append(event.gap)
                self.gaps[event.gap] += 1
            case ev.ItemEnded():
                self._since.pop(event.ticket, None)
                self.ends[event.outcome, event.reason] += 1

    def _lap(self, ticket: int, t_s: float) -> float:
        before_s = self._since.get(ticket, t_s)
        self._since[ticket] = t_s
        return t_s - before_s

    def view(self) -> View | None:
        """Returns what is to be shown now; None before the first event."""
        state = self.state
        if state is None or state.started is None:
            return None
        best, seed = state.pool.best(), state.pool.candidates.get(0)
        usage = state.usage
        return View(
            started=state.started,
            answered_by=state.answered_by,
            t_s=state.t_s,
            stages=self.stages(),
            in_flight=len(state.in_flight),
            version=state.pool.version,
            n_candidates=sum(c.status == "confirmed" for c in state.pool.candidates.values()),
            seed_score=seed.mean if seed and seed.scores else None,
            best_score=best.mean if best and best.scores else None,
            best_id=best.id if best else None,
            gaps=tuple(self._recent_gaps),
            counters=dict(state.counters),
            budgets=self._budgets(state),
            usd=usage.usd,
            n_calls=usage.calls,
            requests=len(state.calls),
            limits=self._request_limits(state),
            phase=_phase(state),
        )

    def stages(self) -> tuple[StageView, ...]:
        """Returns the stages in the workflow's order; repair, if it happened, last."""
        flights = self.state.in_flight.values() if self.state else ()
        queued = Counter(flight.stage for flight in flights if not flight.taken)
        running = Counter(flight.stage for flight in flights if flight.taken)
        return tuple(
            StageView(
                name=name,
                queued=queued[name],
                running=running[name],
                done=sums.done,
                busy_s=sums.busy_s,
                waited_s=sums.waited_s,
            )
            for name, sums in self._stages.items()
        )

    def _budgets(self, state: RunState) -> tuple[BudgetView, ...]:
        ledger = state.ledger
        rows = [
            BudgetView(
                name=name, spent=ledger.spent[name], reserved=ledger.reserved[name], limit=limit
            )
            for name, limit in ledger.limits.items()
        ]
        if self.deadline_s is not None:
            row = BudgetView(name="seconds", spent=state.t_s, reserved=0, limit=self.deadline_s)
            rows.append(row)
        return tuple(rows)

    def _request_limits(self, state: RunState) -> Mapping[str, int]:
        if state.limits_in_use or self.max_requests is None:
            return dict(state.limits_in_use)
        return {"": self.max_requests}


def _phase(state: RunState) -> str:
    if state.ended is not None:
        return f"ended: {state.ended.reason}"
    if any(call.ticket < 0 for call in state.calls.values()):
        return "scoring on test"
    if state.drain is not None:
        return f"draining: {state.drain.reason}"
    return "running"
