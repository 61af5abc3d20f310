"""Outlook: whether a step under way can still come to anything while the run drains.

A draining run takes items into its last stage alone, as long as that can be paid for. So a step
whose stage leads nowhere else only costs time. Invariants: pure facts of the state; what was once
hopeless stays so in this process, since the budget only shrinks and a gap only grows; in doubt
there is hope.
"""

from flashevolve.engine.flight import InFlight
from flashevolve.engine.graph import COMMIT, REPAIR, Graph
from flashevolve.engine.state import RunState
from flashevolve.policies.staleness import Staleness


class Outlook:
    """Looks ahead for items that a stage works on."""

    def __init__(self, graph: Graph, staleness: Staleness, state: RunState, replicas: int) -> None:
        self._graph = graph
        self._staleness = staleness
        self._state = state
        self._replicas = replicas

    def is_hopeless(self, flight: InFlight) -> bool:
        """Says whether whatever the item's stage returns, the item will be dropped or discarded."""
        name, last, gate = flight.stage, self._graph.last, self._graph.gate
        if name == last:
            return False
        if name == REPAIR:
            # A patch goes back to the gate.
            goals: set[str | None] = {flight.bound_for or COMMIT, gate}
        else:
            goals = {self._graph.following(name), *self._graph.stage(name).routes}
        if not goals & {last, COMMIT} or (name == gate and self._is_held_back(flight)):
            return True
        return name == REPAIR and flight.bound_for == last and not self._can_pay(flight)

    def _is_held_back(self, flight: InFlight) -> bool:
        """Says whether the gate is sure not to let the item on, since it is too stale by now."""
        item = flight.item
        gap = self._staleness.gap(self._state.updates, item)
        return self._staleness.verdict(gap, item.repairs) != "continue"

    def _can_pay(self, flight: InFlight) -> bool:
        """Says whether the last stage could be paid for if all that is reserved were refunded.

        Asked of repaired items only: what they carry is what the last stage would be given.
        """
        stage = self._graph.stage(self._graph.last)
        needs = stage.needs(flight.item, self._state.pool).booked(self._replicas)
        return self._state.ledger.verdict(needs.amounts) != "exhausted"
