"""Speculator: candidates that are believed before all their scores are known, and the ends of that.

What a sweep's prefix shows is put to the workflow, which may insert a speculative candidate. When
the sweep is over it is confirmed, or it misses; if its item ends in any other way it is retracted
in the same transaction. Invariants: an item inserts at most one candidate, also over a resume,
since the pool knows its ticket; a miss names the items in flight that it taints; an item whose full
validation has begun is not held back by a taint.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from flashevolve import events as ev
from flashevolve.candidate import Candidate
from flashevolve.engine import record
from flashevolve.engine.flight import InFlight
from flashevolve.engine.item import Commit, End, Item
from flashevolve.engine.log import EventLog
from flashevolve.engine.release import Release
from flashevolve.engine.workflow import Stage, Workflow
from flashevolve.errors import ConfigError
from flashevolve.policies.reordering import arranged
from flashevolve.policies.speculation import Speculation
from flashevolve.pools.pool import Pool, Speculating


class Decided(NamedTuple):
    """What becomes of an item whose stages are over."""

    decision: Commit | End
    speculation: ev.SpeculationStep | None = None
    missed: int | None = None
    tainted: tuple[int, ...] = ()


class Speculator:
    """One run's speculation."""

    def __init__(self, workflow: Workflow[Any], settings: Speculation, log: EventLog) -> None:
        self._workflow = workflow
        self._settings = settings
        self._log = log
        self._state = log.state
        self._sweeps = frozenset(s.name for s in workflow.stages if s.release == "sweep")

    # -- what a visit may do ---------------------------------------------------------------------

    def n_sweeps(self, stage: Stage[Any], flight: InFlight) -> int | None:
        """Returns how many sweeps the order of a visit's examples follows from; None = it is plain.

        A visit that starts over after a kill keeps the order of its start.
        """
        if stage.release != "sweep" or self._settings.evaluate == 1:
            return None
        return self._pool.n_sweeps if flight.n_sweeps is None else flight.n_sweeps

    def release(self, stage: Stage[Any], n_sweeps: int | None) -> Release | None:
        """Returns what a visit of `stage` may release; None = nothing."""
        fraction = self._settings.fraction(stage.release)
        if stage.release is None or fraction == 1:
            return None
        return Release(stage.release, fraction, self._arrangement(n_sweeps))

    def _arrangement(self, n_sweeps: int | None) -> Callable[[Sequence[str]], list[str]]:
        if n_sweeps is None:
            return list
        settings, sweeps = self._settings, self._pool.sweeps(n_sweeps)

        def arrange(ids: Sequence[str]) -> list[str]:
            window, perfect = settings.window, settings.perfect_score
            return arranged(ids, sweeps, settings.reorder, window=window, perfect=perfect)

        return arrange

    # -- a candidate's way -----------------------------------------------------------------------

    def insert(self, item: Item[Any]) -> None:
        """Asks the workflow whether to believe in what a sweep's prefix shows."""
        pool, flight = self._pool, self._state.in_flight[item.ticket]
        if self._state.drain or flight.tainted_by is not None or pool.unconfirmed(item.ticket):
            return
        commit = self._workflow.speculate(item, pool)
        if commit is not None:
            version = self._state.pool.version
            self._log.append(record.pool_changed(item.ticket, commit, version, "inserted"))

    def decide(self, item: Item[Any]) -> Decided:
        """Asks the workflow's commit rule, and whether what it had believed was right."""
        own = self._own(item.ticket)
        if own is None:
            return Decided(self._workflow.commit(item, self._state.pool))
        if own.reference is None:
            # Put in before it had any score, as a start and no guess: its scores change nothing.
            scored = self._workflow.commit(item, self._state.pool)
            return Decided(scored if isinstance(scored, End) else replace(scored, bumps=False))
        passes = self._workflow.confirms(item, own, self._pool)
        if not passes and self._settings.confirm == "mean":
            return Decided(End("rejected", f"candidate {own.id} missed its confirmation"))
        decision = self._workflow.commit(item, self._state.pool)
        if isinstance(decision, End):
            return Decided(decision)
        if own.status == "retracted":
            # It fell with its parent; all that was derived from it was tainted then.
            return Decided(decision, "confirmed" if passes else "demoted")
        if passes:
            return Decided(replace(decision, bumps=False), "confirmed")
        missed = replace(decision, ops=(*self._pool.fall(own.id), *decision.ops))
        return Decided(missed, "demoted", own.id, self._derived(own))

    def forsake(self, ticket: int) -> list[ev.Event]:
        """Returns what retracts the candidate of an item that ends without confirming it."""
        own = self._own(ticket)
        if own is None or own.status != "speculative":
            return []
        ops = (*self._pool.fall(own.id), {"op": "retract", "id": own.id})
        text = f"Candidate {own.id} was retracted: the rest of its scores did not bear it out."
        commit = Commit(ops=tuple(dict(op) for op in ops), text=text)
        version, tainted = self._state.pool.version, self._derived(own)
        return [record.pool_changed(ticket, commit, version, "retracted", own.id, tainted)]

    def taint(self, ticket: int) -> str | None:
        """Returns why an item must not go on as if nothing had happened; None = it may.

        What was validated in full, or is being so, is not held back any more.
        """
        flight = self._state.in_flight[ticket]
        if flight.tainted_by is None or flight.n_sweeps is not None:
            return None
        if self._sweeps & flight.visits.keys():
            return None
        return f"tainted: candidate {flight.tainted_by}, which it comes from, missed"

    def _derived(self, missed: Candidate) -> tuple[int, ...]:
        pool = self._pool
        return tuple(
            ticket
            for ticket, flight in sorted(self._state.in_flight.items())
            if any(missed.id in {c, *pool.ancestors(c)} for c in flight.item.lineage)
        )

    def _own(self, ticket: int) -> Candidate | None:
        pool = self._state.pool
        return pool.unconfirmed(ticket) if isinstance(pool, Speculating) else None

    @property
    def _pool(self) -> Any:
        return check_pool(self._workflow, self._state.pool)


def check_pool(workflow: Workflow[Any], pool: Pool) -> Any:
    """Returns the pool of a workflow whose sweeps are believed early.

    Raises `ConfigError` if it cannot hold a speculative candidate.
    """
    if not isinstance(pool, Speculating):
        raise ConfigError(
            f"workflow {workflow.name!r}: a stage with release='sweep' needs a pool that "
            f"can speculate (pools.pool.Speculating), found {type(pool).__name__}. Set "
            "speculation.evaluate = 1, or use ParetoPool"
        )
    return pool


def check_speculation(workflow: Workflow[Any], settings: Speculation) -> None:
    """Refuses to believe a prefix of a sweep where the workflow's pool cannot."""
    if settings.evaluate < 1 and any(stage.release == "sweep" for stage in workflow.stages):
        check_pool(workflow, workflow.new_pool())
