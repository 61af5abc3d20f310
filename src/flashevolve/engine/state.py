"""RunState: the fold of a run's events. Everything that is known about a run is in here.

`apply` is the only way to change it, and the live engine uses the same one as a reader of the log.
Hence a log that is folded again gives the same state, by construction. Conservation holds after
every event: created = ended (by outcome) + in flight.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from functools import singledispatchmethod
from typing import Any, Self

from flashevolve import events as ev
from flashevolve.engine.flight import NOTHING, InFlight
from flashevolve.engine.item import OUTCOMES, Item
from flashevolve.engine.staffing import Staffing
from flashevolve.llm.messages import UNRECORDED_WORLD
from flashevolve.outcome import Usage
from flashevolve.policies.budget import Amounts, Ledger, Resource
from flashevolve.policies.staleness import Update, remembered
from flashevolve.pools.pool import Pool, Speculating

Codec = Callable[[Any], Any]
USER_CODE = "user code"
"""The role under which `Outcome.usage` is booked; no model has it, since roles are words."""
REAL = "real"
"""Who gave an answer that names no world; no hash is such a word."""
COUNTED: Mapping[ev.SpeculationStep, str] = {
    "inserted": "speculated",
    "confirmed": "confirmed",
    "demoted": "demoted",
}
"""The counter of each step of a speculative candidate. `retracted` is counted when its item ends:
one that fell with its ancestor may still be confirmed by its own scores."""


class RunState:
    """What the events so far say about a run."""

    def __init__(self, pool: Pool, limits: dict[Resource, float], decode: Codec) -> None:
        self.pool = pool
        self.ledger = Ledger(limits)
        self.decode = decode
        """JSON -> the workflow's payload; the identity for readers that don't need it typed."""
        self.started: ev.RunStarted | None = None
        self.t_s = 0.0
        self.in_flight: dict[int, InFlight] = {}
        self.next_ticket = 1
        self.next_call = 1
        self.ordinals: Counter[str] = Counter()
        self.counters: Counter[str] = Counter()
        self.updates: list[Update] = []
        """Bumps of the pool that an item in flight may have missed, in order; older ones, whose
        texts would fill the memory of a long run, are in the log (but for controls' `N_PAST`)."""
        self.calls: dict[int, ev.CallReserved] = {}
        """Calls that are reserved and not settled."""
        self.usage_by_role: dict[str, Usage] = {}
        self.answers: Counter[str] = Counter()
        """Answers by what they say of a simulated world (`Reply.world`); empty = nothing."""
        self.n_forecast = 0
        """Items that have ended, the first committed one left out."""
        self.ended_cost: dict[Resource, float] = dict(NOTHING)
        """What these items cost in all; the mean forecasts the next one."""
        self.first_cost: dict[Resource, float] = {}
        """What the first committed item cost: in most algorithms the seed's validation."""
        self.worst_call: dict[Resource, float] = {"tokens": 0, "usd": 0.0}
        """The largest reservation that a request has made."""
        self.limits_in_use: dict[str, int] = {}
        self.staffing = Staffing()
        self.tests: dict[str, ev.TestScored] = {}
        self.test_scores: dict[str, dict[str, list[float]]] = {}
        """Artifact hash -> test example id -> the score of each replica."""
        self.budget: Any = None
        """The limits as the last process to begin had them in its configuration."""
        self.drain: ev.DrainStarted | None = None
        self.ended: ev.RunEnded | None = None

    # -- questions -------------------------------------------------------------------------------

    @property
    def usage(self) -> Usage:
        """All settled calls, and what user code said that it spent itself."""
        return sum(self.usage_by_role.values(), Usage())

    @property
    def answered_by(self) -> tuple[str, ...]:
        """Who answered so far: hashes of simulated worlds, and `REAL`; more than one is a mix."""
        started = self.started
        if started is None or not started.simulated:
            return tuple(sorted({world or REAL for world in self.answers}))
        own = started.world or UNRECORDED_WORLD
        return tuple(sorted({own, *(world or own for world in self.answers)}))

    @property
    def n_created(self) -> int:
        """Items ever selected."""
        return self.next_ticket - 1

    @property
    def n_to_propose(self) -> int:
        """Items in flight for which no proposal is reserved or spent yet."""
        return sum(not flight.has_proposed for flight in self.in_flight.values())

    def conservation(self) -> dict[str, int]:
        """Returns created, each outcome, and in flight; created equals the sum of the others."""
        ended: dict[str, int] = {outcome: self.counters[outcome] for outcome in OUTCOMES}
        return {"created": self.n_created, **ended, "in_flight": len(self.in_flight)}

    def mean_item(self) -> Amounts:
        """Returns what an ended item cost on average; empty while none has ended."""
        if not self.n_forecast:
            return {}
        return {resource: cost / self.n_forecast for resource, cost in self.ended_cost.items()}

    # -- the fold --------------------------------------------------------------------------------

    def apply(self, record: ev.Record) -> None:
        """Folds one record."""
        self.t_s = record.t_s
        _handler_of(type(record.event))(self, record.event)

    @singledispatchmethod
    def _fold(self, event: Any) -> None:
        raise TypeError(f"unknown event {type(event).__name__}")

    @_fold.register
    def _gap_checked(self, event: ev.GapChecked) -> None:
        self.in_flight[event.ticket].bound_for = event.to

    @_fold.register
    def _outcome_recorded(self, event: ev.OutcomeRecorded) -> None:
        flight = self.in_flight.get(event.ticket)
        if flight is not None:
            if flight.tails and (tail := _tail_of(event)) in flight.tails:
                reserved, n_recorded = flight.tails[tail]
                flight.tails[tail] = [reserved, n_recorded + 1]
            else:
                flight.n_recorded += 1
        if event.split == "test" and not event.fresh:
            by_example = self.test_scores.setdefault(event.artifact, {})
            by_example.setdefault(event.example, []).append(event.score)
        if event.usage != Usage():
            # Nobody could reserve it: user code tells what it spent when it is spent.
            used: Amounts = {"tokens": event.usage.tokens, "usd": event.usage.usd}
            self.ledger.settle({}, used)
            self._book(USER_CODE, event.usage, flight)

    @_fold.register
    def _run_started(self, event: ev.RunStarted) -> None:
        self.started = event
        self.budget = event.config.get("budget")
        self.staffing.begin({}, event.config)

    @_fold.register
    def _run_resumed(self, event: ev.RunResumed) -> None:
        first = self.started.config.get("budget") if self.started else None
        budget = event.changes.get("budget", first)
        if budget != self.budget:
            # Otherwise what had ended evolution still does, and at most the test is to be scored.
            self.drain = None
        self.budget = budget
        self.staffing.begin(event.changes, self.started.config if self.started else {})
        self.ended = None
        for flight in self.in_flight.values():
            for tail, (_, n_recorded) in list(flight.tails.items()):
                # Nothing follows from the rest: what came too late is not asked for again.
                self._settle_tail(flight, tail, n_recorded)
            if flight.taken:
                # The visit starts over: its journal gives back what it had already done. That
                # is booked here, since the visit may be dropped before it is taken again.
                self.ledger.settle(flight.reserved, {"metric_calls": flight.n_recorded})
                flight.spent["metric_calls"] += flight.n_recorded
                flight.n_prepaid += flight.n_recorded
                flight.n_recorded = 0
                flight.has_proposed &= not flight.reserved.get("proposals")
                flight.reserved = {}
                flight.visits[flight.stage] -= 1
                flight.taken = False
                flight.interrupted = True

    @_fold.register
    def _item_selected(self, event: ev.ItemSelected) -> None:
        self.next_ticket = event.ticket + 1
        self.ordinals[event.source] = event.ordinal + 1
        if event.ops:
            self.pool.apply(event.ops, version=self.pool.version)
        item: Item[Any] = Item(
            ticket=event.ticket,
            source=event.source,
            payload=self.decode(event.payload),
            version=event.version,
            reads=tuple(event.reads),
            lineage=tuple(event.lineage),
        )
        self.in_flight[event.ticket] = InFlight(item=item, stage=event.enter, began_s=self.t_s)

    @_fold.register
    def _stage_taken(self, event: ev.StageTaken) -> None:
        flight = self.in_flight[event.ticket]
        flight.taken = True
        flight.taken_s = self.t_s
        flight.n_recorded = 0
        flight.n_sweeps = event.n_sweeps if flight.n_sweeps is None else flight.n_sweeps
        flight.visits[event.stage] = event.visit
        flight.reserved = {"metric_calls": event.metric_calls, "proposals": event.proposals}
        flight.has_proposed |= event.proposals > 0
        self.ledger.reserve(flight.reserved)

    @_fold.register
    def _stage_ended(self, event: ev.StageEnded) -> None:
        flight = self.in_flight[event.ticket]
        used: dict[Resource, float] = {
            "metric_calls": event.metric_calls,
            "proposals": event.proposals,
        }
        reserved = dict(flight.reserved)
        if event.tail is not None:
            reserved["metric_calls"] -= event.tail
            flight.tails[_tail_of(event)] = [event.tail, 0]
        self.ledger.settle(reserved, used)
        flight.reserved = {}
        flight.spent["metric_calls"] += event.metric_calls
        flight.taken = False
        flight.worked_s[event.stage] = flight.work_until(self.t_s)
        flight.n_recorded = flight.n_prepaid = 0
        if event.payload is not None:
            flight.item = replace(flight.item, payload=self.decode(event.payload))
        if event.to is not None:
            flight.stage = event.to
            self.staffing.written[event.stage] += 1
        if event.counts:
            self.counters[event.counts] += event.n_counted

    @_fold.register
    def _tail_ended(self, event: ev.TailEnded) -> None:
        self._settle_tail(self.in_flight[event.ticket], _tail_of(event), event.metric_calls)

    def _settle_tail(self, flight: InFlight, tail: str, metric_calls: int) -> None:
        reserved, _ = flight.tails.pop(tail)
        self.ledger.settle({"metric_calls": reserved}, {"metric_calls": metric_calls})
        flight.spent["metric_calls"] += metric_calls

    @_fold.register
    def _item_recalled(self, event: ev.ItemRecalled) -> None:
        flight = self.in_flight[event.ticket]
        flight.stage, flight.bound_for = event.to, event.stage

    @_fold.register
    def _item_repaired(self, event: ev.ItemRepaired) -> None:
        flight = self.in_flight[event.ticket]
        if event.verdict == "discard":
            flight.item = replace(flight.item, repairs=flight.item.repairs + 1)
            return
        self.counters["repaired"] += 1
        lineage = flight.item.lineage if event.base is None else (event.base,)
        if event.base is not None or event.version >= flight.tainted_at:
            flight.tainted_by = None
        flight.item = replace(
            flight.item,
            version=event.version,
            lineage=lineage,
            repairs=flight.item.repairs + 1,
        )

    @_fold.register
    def _pool_changed(self, event: ev.PoolChanged) -> None:
        self.pool.apply(event.ops, version=event.version)
        if event.bumped:
            oldest = min((f.item.version for f in self.in_flight.values()), default=event.version)
            config = self.started.config if self.started else {}
            self.updates = remembered(self.updates, oldest, config.get("staleness") or {})
            self.updates.append(Update(event.version, tuple(event.scopes), event.text))
        for ticket in event.tainted:
            flight = self.in_flight[ticket]
            flight.tainted_by, flight.tainted_at = event.missed, event.version
        if event.speculation and event.speculation in COUNTED:
            self.counters[COUNTED[event.speculation]] += 1
        if event.admits:
            self.counters["admitted"] += 1
            self.counters.update(event.marks)

    @_fold.register
    def _item_ended(self, event: ev.ItemEnded) -> None:
        flight = self.in_flight.pop(event.ticket)
        self.counters[event.outcome] += 1
        speculating = self.pool if isinstance(self.pool, Speculating) else None
        own = None if speculating is None else speculating.unconfirmed(event.ticket)
        if own is not None and own.reference is not None:
            self.counters["retracted"] += 1
        awaits = speculating is not None and speculating.awaited is not None
        self.staffing.ended(event)
        if event.ops:
            self.pool.apply(event.ops, version=self.pool.version)
        if event.outcome == "committed" and not self.first_cost and not awaits:
            self.first_cost = flight.spent
            return
        self.n_forecast += 1
        for resource, amount in flight.spent.items():
            self.ended_cost[resource] += amount

    @_fold.register
    def _call_reserved(self, event: ev.CallReserved) -> None:
        self.next_call = event.call + 1
        self.calls[event.call] = event
        self.ledger.reserve({"tokens": event.tokens, "usd": event.usd})
        self.worst_call = {
            "tokens": max(self.worst_call["tokens"], event.tokens),
            "usd": max(self.worst_call["usd"], event.usd),
        }

    @_fold.register
    def _call_settled(self, event: ev.CallSettled) -> None:
        call = self.calls.pop(event.call)
        usage = event.usage
        self.ledger.settle(
            {"tokens": call.tokens, "usd": call.usd}, {"tokens": usage.tokens, "usd": usage.usd}
        )
        self._book(call.role, usage, self.in_flight.get(event.ticket))
        if event.reply is not None:
            self.answers[event.reply.get("world", "")] += 1

    def _book(self, role: str, usage: Usage, flight: InFlight | None) -> None:
        self.usage_by_role[role] = self.usage_by_role.get(role, Usage()) + usage
        if flight is not None:
            flight.spent["tokens"] += usage.tokens
            flight.spent["usd"] += usage.usd

    @_fold.register
    def _limit_changed(self, event: ev.LimitChanged) -> None:
        self.limits_in_use[event.account] = event.limit

    @_fold.register
    def _workers_changed(self, event: ev.WorkersChanged) -> None:
        self.staffing.workers[event.stage] = event.workers

    @_fold.register
    def _drain_started(self, event: ev.DrainStarted) -> None:
        self.drain = event

    @_fold.register
    def _test_scored(self, event: ev.TestScored) -> None:
        self.tests[event.which] = event

    @_fold.register
    def _run_ended(self, event: ev.RunEnded) -> None:
        self.ended = event

    # -- snapshots -------------------------------------------------------------------------------

    def dump(self, encode: Codec) -> dict[str, Any]:
        """Returns the whole state as JSON-serialisable data; `encode` inverts `decode`."""
        flights = []
        for flight in self.in_flight.values():
            item = {**vars(flight.item), "payload": encode(flight.item.payload)}
            own = {n: dict(v) if isinstance(v, dict) else v for n, v in vars(flight).items()}
            flights.append({**own, "item": item})
        return {
            "started": asdict(self.started) if self.started else None,
            "t_s": self.t_s,
            "in_flight": flights,
            "next_ticket": self.next_ticket,
            "next_call": self.next_call,
            "ordinals": dict(self.ordinals),
            "counters": dict(self.counters),
            "updates": [[u.version, list(u.scopes), u.text] for u in self.updates],
            "calls": [_shallow(call) for call in self.calls.values()],
            "usage_by_role": {role: asdict(usage) for role, usage in self.usage_by_role.items()},
            "answers": dict(self.answers),
            "n_forecast": self.n_forecast,
            "ended_cost": dict(self.ended_cost),
            "first_cost": dict(self.first_cost),
            "worst_call": dict(self.worst_call),
            "limits_in_use": dict(self.limits_in_use),
            "staffing": self.staffing.dump(),
            "tests": {which: asdict(test) for which, test in self.tests.items()},
            "test_scores": {
                artifact: {example: list(scores) for example, scores in by_example.items()}
                for artifact, by_example in self.test_scores.items()
            },
            "budget": self.budget,
            "drain": asdict(self.drain) if self.drain else None,
            "ended": asdict(self.ended) if self.ended else None,
            "ledger": self.ledger.dump(),
            "pool": self.pool.dump(),
        }

    @classmethod
    def load(
        cls, data: Mapping[str, Any], pool: Pool, limits: dict[Resource, float], decode: Codec
    ) -> Self:
        """Returns the state that `dump` described; `pool` is loaded by the caller."""
        state = cls(pool, limits, decode)
        state.started = ev.RunStarted(**data["started"]) if data["started"] else None
        state.t_s = data["t_s"]
        for entry in data["in_flight"]:
            fields = dict(entry["item"])
            fields["payload"] = decode(fields["payload"])
            fields["reads"] = tuple(fields["reads"])
            fields["lineage"] = tuple(fields["lineage"])
            flight = InFlight(**{**entry, "item": Item(**fields)})
            state.in_flight[flight.item.ticket] = flight
        state.next_ticket = data["next_ticket"]
        state.next_call = data["next_call"]
        state.ordinals = Counter(data["ordinals"])
        state.counters = Counter(data["counters"])
        state.updates = [Update(v, tuple(scopes), text) for v, scopes, text in data["updates"]]
        state.calls = {call["call"]: ev.CallReserved(**call) for call in data["calls"]}
        state.usage_by_role = {role: Usage(**u) for role, u in data["usage_by_role"].items()}
        state.answers = Counter(data["answers"])
        state.n_forecast = data["n_forecast"]
        state.ended_cost = dict(data["ended_cost"])
        state.first_cost = dict(data["first_cost"])
        state.worst_call = dict(data["worst_call"])
        state.limits_in_use = dict(data["limits_in_use"])
        state.staffing = Staffing.load(data.get("staffing", {}))
        state.tests = {which: ev.TestScored(**test) for which, test in data["tests"].items()}
        state.test_scores = {
            artifact: {example: list(scores) for example, scores in by_example.items()}
            for artifact, by_example in data["test_scores"].items()
        }
        state.budget = data["budget"]
        state.drain = ev.DrainStarted(**data["drain"]) if data["drain"] else None
        state.ended = ev.RunEnded(**data["ended"]) if data["ended"] else None
        state.ledger = Ledger.load(limits, data["ledger"])
        return state


def _tail_of(event: ev.OutcomeRecorded | ev.StageEnded | ev.TailEnded) -> str:
    return f"{event.stage}/{event.visit}"


def _shallow(call: ev.CallReserved) -> dict[str, Any]:
    """Unlike `asdict` without a copy of the request, which is the most of what is in flight."""
    return {field.name: getattr(call, field.name) for field in fields(call)}


_handler_of = RunState.__dict__["_fold"].dispatcher.dispatch
"""Class of event -> handler; calling the method itself wraps it anew for every event."""
