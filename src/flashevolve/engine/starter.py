"""Starter: what begins, and when. The one place where items come from.

An item begins only while there is a credit, and while money and proposals for one more whole step
are left; if they are not and nothing is in flight, the run drains. Beside others it begins only
while the backend has room (`Intake`); alone it always may, so that nothing waits for ever. Sources
are asked in the workflow's order; a capped one only while fewer of its own items are in flight.
"""

from collections.abc import Callable
from typing import Any

from flashevolve.engine import record
from flashevolve.engine.board import Board
from flashevolve.engine.funds import Funds
from flashevolve.engine.log import EventLog
from flashevolve.engine.state import Codec
from flashevolve.engine.workflow import Capped, Source, Workflow
from flashevolve.errors import ConfigError, nearest
from flashevolve.policies.budget import Amounts, expected_step, scarcest, selection_is_affordable
from flashevolve.policies.draws import derived_rng
from flashevolve.pools.pool import Speculating


class Starter:
    """Starts items of one workflow."""

    def __init__(
        self,
        workflow: Workflow[Any],
        log: EventLog,
        funds: Funds,
        board: Board,
        encode: Codec,
        *,
        first_stage: str,
        in_flight: int,
        rng_seed: int,
        has_room: Callable[[], bool],
        replicas: int = 1,
    ) -> None:
        self._workflow = workflow
        self._log = log
        self._state = log.state
        self._funds = funds
        self._board = board
        self._encode = encode
        self._first_stage = first_stage
        self._in_flight = in_flight
        self._rng_seed = rng_seed
        self._has_room = has_room
        least = workflow.minimum()
        step = least.metric_calls + replicas * (least.shared - least.seed)
        self._declared: Amounts = {"metric_calls": step} if step else {}

    def start_one(self) -> bool:
        """Starts one item if there is a credit, money and something to start."""
        state = self._state
        n = len(state.in_flight)
        overspent = state.ledger.overspent()
        if overspent is not None:
            self._log.drain(overspent, "user code spent more than was left")
            return False
        ramp = state.pool.ramp(self._in_flight, state.n_forecast)
        if state.drain or n >= min(self._in_flight, ramp):
            return False
        if state.n_to_propose >= state.ledger.left("proposals"):
            if n == 0:
                self._log.drain("proposals")
            return False
        mean = expected_step(state.mean_item(), state.n_forecast, declared=self._declared)
        aside = self._funds.aside
        if not selection_is_affordable(state.ledger, mean_item=mean, n_in_flight=n, aside=aside):
            if n == 0:
                self._log.drain(
                    scarcest(state.ledger, mean), "too little is left for one more step"
                )
            return False
        if n and (self._must_be_scored_first() or not self._has_room()):
            return False
        return any(self._start_from(source) for source in self._workflow.sources)

    def _must_be_scored_first(self) -> bool:
        """Says whether the first candidate's sweep must be over before anything follows from it.

        Where tokens or dollars are limited it shows what an example costs, and what is to be set
        aside for the test; no rollout may spend it before.
        """
        pool = self._state.pool
        limited = self._state.ledger.limits.keys() & {"tokens", "usd"}
        return bool(limited) and isinstance(pool, Speculating) and pool.awaited is not None

    def _start_from(self, source: Source[Any]) -> bool:
        if isinstance(source, Capped):
            own = sum(f.item.source == source.name for f in self._state.in_flight.values())
            if own >= source.cap(self._state.pool):
                return False
        ordinal = self._state.ordinals[source.name]
        rng = derived_rng(self._rng_seed, "select", source.name, ordinal)
        selection = source.select(self._state.pool, rng)
        if selection is None:
            return False
        enter = selection.enter or self._first_stage
        if enter not in self._board.lanes:
            raise ConfigError(
                f"source {source.name!r} enters unknown stage {enter!r}."
                f"{nearest(enter, self._board.lanes)} Name one of the workflow's stages"
            )
        if not self._board.has_room(enter):
            return False
        ticket = self._state.next_ticket
        version, payload = self._state.pool.version, self._encode(selection.payload)
        self._log.append(
            record.item_selected(selection, source.name, ticket, ordinal, version, enter, payload)
        )
        self._board.put(ticket, enter)
        return True
