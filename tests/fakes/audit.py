"""Audits a run's log: every promise that can be checked from the records alone.

Nothing here reads the engine's state or ledger; it counts again, in its own way.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from flashevolve import events as ev
from flashevolve.policies.staleness import ASKING
from tests.fakes.runs import Bench


class Audit:
    """Goes over a log record by record; `check` raises at the first broken promise."""

    def __init__(self, bench: Bench, stages: Sequence[str], gate: str) -> None:
        self.bench = bench
        self.order = list(stages)
        self.gate = gate
        if bench.policy in ASKING:
            self.order.insert(self.order.index(gate) + 1, "repair")
        start = bench.control.start
        self.workers = {stage: start(stage, bench.workers) for stage in self.order}
        self.created: set[int] = set()
        self.ended: dict[int, str] = {}
        self.at: dict[int, str] = {}
        self.running: dict[int, ev.StageTaken] = {}
        self.tails: dict[tuple[int, str, int], int] = {}
        self.n_late: Counter[tuple[int, str, int]] = Counter()
        self.tainted: set[int] = set()
        self.version_of: dict[int, int] = {}
        self.reads: dict[int, set[str]] = {}
        self.repaired: set[int] = set()
        self.updates: list[tuple[int, set[str]]] = []
        self.version = 0
        self.open_calls: dict[int, ev.CallReserved] = {}
        self.spent: Counter[str] = Counter()
        self.usd = 0.0
        self.n_fresh_visit: Counter[int] = Counter()

    def check(self, records: Sequence[ev.Record]) -> None:
        for i, record in enumerate(records):
            assert record.seq == i + 1
            assert i == 0 or record.t_s >= records[i - 1].t_s
            after = [r.event for r in records[i + 1 : i + 4]]
            self._one(record.event, after)
            self._conserved()
            self._within_budget()

    def finished(self, *, resumable: bool) -> None:
        """Checks what must hold once the process is done."""
        assert not self.open_calls
        if not resumable:
            assert self.created == set(self.ended)
        assert self.bench.model.in_flight == 0
        assert self.bench.n_tasks_left == 0
        assert self.bench.model.closed

    def _one(self, event: ev.Event, after: Sequence[ev.Event]) -> None:
        match event:
            case ev.RunResumed():
                self.running.clear()
                for tail in self.tails:
                    self.spent["metric_calls"] += self.n_late[tail]
                self.tails.clear()
            case ev.ItemSelected():
                assert event.ticket == len(self.created) + 1
                assert event.version == self.version
                self.created.add(event.ticket)
                self.at[event.ticket] = event.enter
                self.version_of[event.ticket] = event.version
                self.reads[event.ticket] = set(event.reads)
            case ev.StageTaken():
                self._taken(event)
            case ev.StageEnded():
                taken = self.running.pop(event.ticket)
                assert (taken.stage, taken.visit) == (event.stage, event.visit)
                assert event.metric_calls <= taken.metric_calls
                assert event.proposals <= taken.proposals
                self.spent["metric_calls"] += event.metric_calls
                self.spent["proposals"] += event.proposals
                if event.to:
                    self.at[event.ticket] = event.to
                if event.tail is not None:
                    assert event.to is not None
                    assert 0 <= event.tail == taken.metric_calls - event.metric_calls
                    tail = event.ticket, event.stage, event.visit
                    assert tail not in self.n_late
                    self.tails[tail], self.n_late[tail] = event.tail, 0
            case ev.TailEnded():
                tail = event.ticket, event.stage, event.visit
                assert self.n_late[tail] <= event.metric_calls <= self.tails.pop(tail)
                self.spent["metric_calls"] += event.metric_calls
            case ev.ItemRecalled():
                assert event.ticket in self.tainted
                assert event.ticket not in self.repaired
                assert event.ticket not in self.running
                assert self.bench.policy in ASKING
                assert self.order.index(event.stage) > self.order.index(event.to)
                self.at[event.ticket] = event.to
            case ev.GapChecked():
                self._gap(event, after)
            case ev.ItemRepaired():
                assert event.ticket not in self.repaired
                assert event.version <= self.version
                self.repaired.add(event.ticket)
                self.tainted.discard(event.ticket)
                if event.verdict != "discard":
                    self.version_of[event.ticket] = event.version
            case ev.WorkersChanged():
                assert abs(event.workers - self.workers[event.stage]) == 1
                assert event.workers == self.bench.control.bounded(event.workers)
                self.workers[event.stage] = event.workers
            case ev.PoolChanged():
                self._pool(event)
            case ev.ItemEnded():
                assert event.ticket in self.created
                assert event.ticket not in self.ended
                assert all(ticket != event.ticket for ticket, _, _ in self.tails)
                self.running.pop(event.ticket, None)
                self.ended[event.ticket] = event.outcome
            case ev.CallReserved():
                assert event.call not in self.open_calls
                self.open_calls[event.call] = event
            case ev.CallSettled():
                self._settled(event)
            case ev.OutcomeRecorded() if event.split != "test":
                self.spent["outcomes"] += 1
                tail = event.ticket, event.stage, event.visit
                if tail in self.tails:
                    self.n_late[tail] += 1
            case ev.RunEnded():
                assert all(isinstance(e, ev.RunResumed) for e in after[:1])
            case _:
                pass

    def _taken(self, event: ev.StageTaken) -> None:
        assert event.ticket not in self.running
        assert self.at[event.ticket] == event.stage
        self.running[event.ticket] = event
        busy = Counter(taken.stage for taken in self.running.values())
        assert busy[event.stage] <= self.workers[event.stage]
        if event.metric_calls or event.proposals:
            self._nothing_later_waits(event.stage, busy)

    def _nothing_later_waits(self, stage: str, busy: Mapping[str, int]) -> None:
        """A later stage that surely has a free worker and an item waiting goes first."""
        waiting = Counter(
            at for t, at in self.at.items() if t not in self.running and t not in self.ended
        )
        later = self.order[self.order.index(stage) + 1 :]
        for i, name in enumerate(later):
            n_perhaps_blocked = sum(waiting[after] for after in later[i + 1 :])
            if waiting[name] and busy.get(name, 0) + n_perhaps_blocked < self.workers[name]:
                raise AssertionError(f"{stage} was granted while {name} waited")

    def _missed(self, ticket: int, scopes: set[str]) -> int:
        return sum(v > self.version_of[ticket] and bool(s & scopes) for v, s in self.updates)

    def _gap(self, event: ev.GapChecked, after: Sequence[ev.Event]) -> None:
        gap = self._missed(event.ticket, self.reads[event.ticket])
        assert event.gap == gap
        asks = self.bench.policy in ASKING and (gap > 0 or self.bench.when == "always")
        assert not event.tainted or event.ticket in self.tainted
        if self.bench.policy == "full":
            expected = "continue"
        elif event.tainted:
            again = self.bench.policy == "guarded" or event.ticket in self.repaired
            expected = "discard" if again else "repair"
        elif event.ticket in self.repaired:
            expected = "continue"
        elif self.bench.policy == "guarded":
            expected = "continue" if gap <= self.bench.delta_max else "discard"
        elif not asks:
            expected = "continue"
        else:
            expected = "repair"
        assert event.verdict == expected
        ended = [e for e in after if isinstance(e, ev.ItemEnded) and e.ticket == event.ticket]
        if expected == "discard":
            assert ended[0].outcome == "discarded"
        if expected == "repair":
            assert self.at[event.ticket] == "repair"

    def _pool(self, event: ev.PoolChanged) -> None:
        self.version += event.bumped
        assert event.version == self.version
        stale = self._missed(event.ticket, set(event.scopes))
        if self.writes and stale:
            assert event.text.startswith("rebased ")
        self.tainted |= set(event.tainted)
        assert set(event.tainted) <= self.created - set(self.ended)
        if event.tainted or event.speculation == "retracted":
            assert event.missed is not None
        if event.bumped:
            self.updates.append((event.version, set(event.scopes)))

    writes = True
    """True if commits overwrite the scopes that they name."""

    def _settled(self, event: ev.CallSettled) -> None:
        call = self.open_calls.pop(event.call)
        assert event.usage.tokens <= call.tokens
        if event.status == "orphaned" or not event.usage_known:
            assert event.usage.tokens == call.tokens
        self.spent["tokens"] += event.usage.tokens
        self.usd += event.usage.usd

    def _conserved(self) -> None:
        n_open = len(self.created) - len(self.ended)
        assert 0 <= n_open <= self.bench.in_flight

    def _within_budget(self) -> None:
        budget = self.bench.budget
        reserved = sum(call.tokens for call in self.open_calls.values())
        reserved_usd = sum(call.usd for call in self.open_calls.values())
        held = sum(t.metric_calls for t in self.running.values())
        held += sum(self.tails.values())
        proposing = sum(t.proposals for t in self.running.values())
        unlimited = float("inf")
        assert self.spent["tokens"] + reserved <= (budget.get("tokens") or unlimited)
        assert self.usd + reserved_usd <= (budget.get("usd") or unlimited) + 1e-6
        limit = unlimited if budget.get("metric_calls") is None else budget["metric_calls"]
        assert self.spent["metric_calls"] + held <= limit
        assert self.spent["outcomes"] <= limit
        limit = unlimited if budget.get("proposals") is None else budget["proposals"]
        assert self.spent["proposals"] + proposing <= limit
