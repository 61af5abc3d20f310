"""Conclusion: what follows when a stage is done with an item. Every way out is a transaction.

Where an item goes next, what its gap means, whether it is committed and how it ends is decided here
and recorded in one breath. Invariants: an item ends exactly once; a stage changes nothing of it but
its payload; the gap is checked once, on leaving the gate; what follows is the policy's verdict;
what an item's stage left going on ends with the item.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flashevolve import events as ev
from flashevolve.engine import record
from flashevolve.engine.board import Board
from flashevolve.engine.context import Visit
from flashevolve.engine.evaluation import FreshKey
from flashevolve.engine.flight import InFlight
from flashevolve.engine.graph import COMMIT, REPAIR, Graph
from flashevolve.engine.item import End, Goto, Item, ItemOutcome
from flashevolve.engine.log import EventLog
from flashevolve.engine.record import Counts
from flashevolve.engine.repair import Verdict
from flashevolve.engine.speculation import Speculator
from flashevolve.engine.state import Codec
from flashevolve.engine.tails import Tails
from flashevolve.engine.workflow import Stage, Workflow
from flashevolve.errors import ConfigError
from flashevolve.llm.calls import Journal
from flashevolve.policies.speculation import Speculation, tainted_verdict
from flashevolve.policies.staleness import Staleness, updates_since

Journals = Mapping[int, tuple[Journal, Mapping[FreshKey, ev.OutcomeRecorded]]]


class Conclusion:
    """Turns what a stage returned into events, and moves the item accordingly."""

    def __init__(
        self,
        workflow: Workflow[Any],
        graph: Graph,
        staleness: Staleness,
        speculation: Speculation,
        log: EventLog,
        board: Board,
        encode: Codec,
        journals: Journals,
        tails: Tails,
    ) -> None:
        self._workflow = workflow
        self._graph = graph
        self._staleness = staleness
        self._log = log
        self._state = log.state
        self._board = board
        self._encode = encode
        self._journals = dict(journals)
        self.speculator = Speculator(workflow, speculation, log)
        self._tails = tails

    def journal_of(self, ticket: int) -> tuple[Journal, Mapping[FreshKey, ev.OutcomeRecorded]]:
        """Returns what earlier processes recorded for an item that is in flight."""
        return self._journals.get(ticket, ({}, {}))

    def conclude(self, item: Item[Any], stage: Stage[Any], visit: Visit, result: Any) -> None:
        """Records what follows from what `stage` returned for `item`."""
        match result:
            case Verdict():
                self._after_repair(item, visit, result)
            case End(outcome, reason):
                counts = _counts(stage, item) if outcome == "rejected" else None
                self.finish(visit, outcome, reason, counts=counts)
            case Goto(to, moved):
                self._require_route(stage, to)
                self._leave(visit, item, moved, stage, None if to == COMMIT else to)
            case Item() as moved:
                self._leave(visit, item, moved, stage, self._graph.following(stage.name))
            case _:
                raise TypeError(
                    f"stage {stage.name!r} must return an Item, Goto or End, got {result!r:.80}"
                )

    def _require_route(self, stage: Stage[Any], to: str) -> None:
        if to not in (*stage.routes, self._graph.following(stage.name) or COMMIT):
            raise ConfigError(
                f"stage {stage.name!r} went to {to!r}, which is not among its routes "
                f"({', '.join(stage.routes) or 'none'}). Add it to the stage's routes"
            )

    def _leave(
        self, visit: Visit, item: Item[Any], moved: Item[Any], stage: Stage[Any], to: str | None
    ) -> None:
        """Moves an item on from a stage that passed it; forward from the gate, by its gap."""
        if replace(moved, payload=None) != replace(item, payload=None):
            raise TypeError(
                f"stage {stage.name!r} changed more of item {item.ticket} than its payload; "
                "only the payload is recorded, so only it may change"
            )
        counts = _counts(stage, moved)
        at_gate = stage.name == self._graph.gate
        if at_gate and not (to is not None and self._graph.is_back(stage.name, to)):
            self._leave_gate(visit, moved, counts, to)
        else:
            self._onward(visit, moved, to, [], counts)

    def _leave_gate(self, visit: Visit, item: Item[Any], counts: Counts, to: str | None) -> None:
        staleness = self._staleness
        gap = staleness.gap(self._state.updates, item)
        verdict = staleness.verdict(gap, item.repairs)
        reason = f"gap {gap} > {staleness.delta_max}"
        taint = self.speculator.taint(item.ticket)
        if taint is not None:
            verdict, reason = tainted_verdict(staleness.policy, item.repairs), taint
        checked: list[ev.Event] = [
            ev.GapChecked(
                ticket=item.ticket, gap=gap, verdict=verdict, to=to, tainted=taint is not None
            )
        ]
        if verdict == "discard":
            self.finish(visit, "discarded", reason, extra=checked, counts=counts)
        elif verdict == "repair":
            self._move(visit, item, REPAIR, checked, counts)
        else:
            self._onward(visit, item, to, checked, counts)

    def _after_repair(self, item: Item[Any], visit: Visit, said: Verdict) -> None:
        repaired = record.item_repaired(item.ticket, said)
        if said.verdict == "discard":
            self.finish(visit, "discarded", f"repair: {said.reason}", extra=[repaired])
            return
        stamped = replace(item, version=said.version, repairs=item.repairs + 1)
        if said.base is None or said.artifact is None:
            bound_for = self._state.in_flight[item.ticket].bound_for
            self._onward(visit, stamped, bound_for, [repaired], None)
            return
        payload = self._workflow.patched(stamped, said.base, said.artifact)
        moved = replace(stamped, payload=payload, lineage=(said.base.id,))
        self._move(visit, moved, self._graph.gate, [repaired], None)

    # -- recording -------------------------------------------------------------------------------

    def _onward(
        self,
        visit: Visit,
        item: Item[Any],
        to: str | None,
        extra: list[ev.Event],
        counts: Counts,
    ) -> None:
        if to is None:
            self._commit(visit, item, extra, counts)
        else:
            self._move(visit, item, to, extra, counts)

    def _move(
        self, visit: Visit, item: Item[Any], to: str, extra: list[ev.Event], counts: Counts
    ) -> None:
        payload = self._encode(item.payload)
        proposals = visit.needs.proposals
        ended = record.stage_ended(
            visit, to, payload, counts, proposals, n_recorded=self._tails.hand_on(visit)
        )
        self._log.append(ended, *extra)
        back = self._graph.is_back(visit.stage, to)
        self._board.pass_on(item.ticket, visit.stage, to, back=back)

    def _commit(self, visit: Visit, item: Item[Any], extra: list[ev.Event], counts: Counts) -> None:
        """Lets the workflow decide; a write whose target changed meanwhile is rebased or lost."""
        pool = self._state.pool
        writes = self._workflow.writes(item)
        missed = updates_since(self._state.updates, item.version, writes) if writes else []
        if missed:
            rebased = self._workflow.rebase(item, pool)
            if rebased is None:
                touched = ", ".join(sorted({s for u in missed for s in u.scopes} & set(writes)))
                reason = f"conflict: {touched} changed since version {item.version}"
                self.finish(visit, "discarded", reason, extra=extra, counts=counts)
                return
            item = rebased
        decided = self.speculator.decide(item)
        decision = decided.decision
        if isinstance(decision, End):
            self.finish(visit, decision.outcome, decision.reason, extra=extra, counts=counts)
            return
        changed = record.pool_changed(
            item.ticket,
            decision,
            pool.version,
            decided.speculation,
            decided.missed,
            decided.tainted,
        )
        self.finish(visit, "committed", "", extra=[*extra, changed], counts=counts)

    def finish(
        self,
        visit: Visit,
        outcome: ItemOutcome,
        reason: str,
        *,
        extra: list[ev.Event] | None = None,
        counts: Counts = None,
    ) -> None:
        """Records the end of an item that a stage was working on."""
        flight = self._state.in_flight[visit.ticket]
        worked_s = {**flight.worked_s, visit.stage: flight.work_until(self._log.now_s())}
        known_s = {} if flight.interrupted else worked_s
        learnt = self._workflow.learnt(flight.item, known_s, self._state.pool)
        ended = ev.ItemEnded(
            ticket=visit.ticket,
            outcome=outcome,
            reason=reason,
            stage=visit.stage,
            ops=list(learnt),
        )
        n_proposals = 0 if outcome in ("failed", "dropped") else visit.needs.proposals
        stage_ended = record.stage_ended(visit, None, None, counts, n_proposals)
        extra = [*self._tails.cut(visit.ticket), *(extra or [])]
        if outcome != "committed":
            extra += self.speculator.forsake(visit.ticket)
        self._log.append(stage_ended, *extra, ended)
        # What its stage left going on begins nothing more, from here to where it is cancelled.
        visit.closed = visit.release is not None
        self._board.leave(visit.ticket, visit.stage)
        self._journals.pop(visit.ticket, None)

    def end_waiting(self, ticket: int, outcome: ItemOutcome, reason: str) -> None:
        """Records the end of an item that waits."""
        flight = self._state.in_flight[ticket]
        stage = flight.stage
        ended = ev.ItemEnded(ticket=ticket, outcome=outcome, reason=reason, stage=stage)
        self._log.append(*self._tails.cut(ticket), *self.speculator.forsake(ticket), ended)
        self._board.leave(ticket, stage)
        self._journals.pop(ticket, None)

    def recalled(self, ticket: int) -> bool:
        """Takes an item out of its queue whose parent missed its confirmation meanwhile.

        Items that have yet to leave the gate are looked at there. Returns whether it was taken out.
        """
        flight = self._state.in_flight[ticket]
        taint = self.speculator.taint(ticket)
        if taint is None or not self._is_beyond_gate(flight):
            return False
        verdict = tainted_verdict(self._staleness.policy, flight.item.repairs)
        if verdict == "discard":
            self.end_waiting(ticket, "discarded", taint)
        elif verdict == "repair":
            stage = flight.stage
            recall = ev.ItemRecalled(ticket=ticket, stage=stage, to=REPAIR, reason=taint)
            self._log.append(recall)
            self._board.leave(ticket, stage)
            # Against the stream: credits bound what comes this way, as on any way back.
            self._board.put(ticket, REPAIR, back=True)
        return verdict != "continue"

    def _is_beyond_gate(self, flight: InFlight) -> bool:
        names = [stage.name for stage in self._graph.stages]
        beyond = names.index(flight.stage) > names.index(self._graph.gate)
        return beyond and flight.stage != REPAIR


def _counts(stage: Stage[Any], item: Item[Any]) -> Counts:
    return (stage.counts, stage.stands_for(item)) if stage.counts else None
