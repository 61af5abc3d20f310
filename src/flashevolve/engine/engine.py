"""Engine: moves items through a workflow's stages.

One synchronous pump makes every decision: it is called whenever something changed, gives workers to
queued items (later stages first), and starts new items while credits last. Everything it decides is
an event; tasks only compute. Invariants, provable from the log alone:

- at most W items in flight; at most K_i in stage i; every item ends exactly once;
- a stage works on an item only after its needs were reserved, all or nothing; while a later stage
  waits for its reservation, no earlier one is granted;
- the gap is checked once, on leaving the gate; what follows is the policy's verdict.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flashevolve import events as ev
from flashevolve.engine.board import Board, Lane
from flashevolve.engine.conclusion import Conclusion, Journals
from flashevolve.engine.context import BoundContext, Services, Visit
from flashevolve.engine.controller import Controller
from flashevolve.engine.evaluation import first_of
from flashevolve.engine.flight import InFlight
from flashevolve.engine.funds import BudgetExhausted, Funds
from flashevolve.engine.graph import Graph
from flashevolve.engine.intake import Intake
from flashevolve.engine.item import Item, Needs
from flashevolve.engine.log import EventLog
from flashevolve.engine.outlook import Outlook
from flashevolve.engine.patience import GO_ON, Patience
from flashevolve.engine.release import cancelled
from flashevolve.engine.starter import Starter
from flashevolve.engine.state import Codec
from flashevolve.engine.tails import Tails
from flashevolve.engine.workflow import Stage, Workflow
from flashevolve.errors import RunStopped
from flashevolve.llm.errors import Fatal, LLMError
from flashevolve.policies.control import Control
from flashevolve.policies.speculation import OFF, Speculation
from flashevolve.policies.staleness import Staleness


@dataclass(frozen=True, kw_only=True)
class Options:
    """How much runs at once, and until when."""

    in_flight: int
    """W: credits."""
    workers: int
    """K: items that one stage works on at once."""
    queue: int
    """Capacity of a forward queue."""
    staleness: Staleness
    rng_seed: int
    control: Control = field(default_factory=Control)
    """Who changes the number of workers, and whether the backend is asked before a step begins."""
    deadline_s: float | None = None
    """Seconds since the run began; None = no deadline."""
    grace_s: float = 60.0
    """What sweeps under way get after the deadline."""
    speculation: Speculation = OFF

    @property
    def adapts(self) -> bool:
        """Whether steps begin only while the backend has room."""
        return self.controls.mode == "adaptive"

    @property
    def controls(self) -> Control:
        """Returns the control that applies: with one step in flight there is nothing to decide."""
        return self.control if self.in_flight > 1 else Control()


class Engine:
    """Runs one workflow until its budget, its sources or its user end it."""

    def __init__(
        self,
        workflow: Workflow[Any],
        graph: Graph,
        options: Options,
        log: EventLog,
        funds: Funds,
        services: Services,
        encode: Codec,
        journals: Journals,
        intake: Intake,
    ) -> None:
        self._graph = graph
        self._options = options
        self._log = log
        self._state = log.state
        self._funds = funds
        self._services = services
        self._order = {stage.name: i for i, stage in enumerate(graph.stages)}
        self._board = Board(
            [
                Lane(stage.name, options.controls.start(stage.name, options.workers), options.queue)
                for stage in graph.stages
            ]
        )
        self._intake = intake
        self._controller = Controller(options.controls, self._board, log, intake)
        self._tails = Tails(log, self._tail_over)
        self._conclusion = Conclusion(
            workflow,
            graph,
            options.staleness,
            options.speculation,
            log,
            self._board,
            encode,
            journals,
            self._tails,
        )
        replicas = services.evaluation.task.replicas
        self._outlook = Outlook(graph, options.staleness, log.state, replicas)
        self._wake = asyncio.Event()
        self._speculator = self._conclusion.speculator
        self._starter = Starter(
            workflow,
            log,
            funds,
            self._board,
            encode,
            first_stage=graph.stages[0].name,
            in_flight=options.in_flight,
            rng_seed=options.rng_seed,
            has_room=partial(intake.has_room, self._wake.set),
            replicas=replicas,
        )
        self._tasks: dict[int, asyncio.Task[None]] = {}
        """Steps under way; a task that is not in here has no say any more."""
        self._unwinding: list[asyncio.Task[None]] = []
        """Cancelled tasks, which may still settle their calls; `run` waits for them."""
        self._visits: dict[int, Visit] = {}
        self._stopping = False
        self._cancelling = False
        self._too_late = False
        self._failure: BaseException | None = None
        self._withheld: set[str] = set()
        """Stages where a free worker waits for a reservation."""
        self._patience = Patience(stage.name for stage in graph.stages)
        self._queue_what_was_in_flight()

    # -- life ------------------------------------------------------------------------------------

    async def run(self) -> str:
        """Runs to the end and returns the reason: a resource, `deadline`, `stop` or `finished`.

        Raises what ended the run early: `RunStopped`, `TaskError`, or a bug's own exception.
        """
        timers = self._start_timers()
        try:
            while True:
                self._pump()
                if self._failure is not None or self._is_over():
                    break
                await self._wake.wait()
                self._wake.clear()
        finally:
            for timer in timers:
                timer.cancel()
            self._let_go()
            unwinding = [*self._unwinding, *self._tails.unwinding]
            await asyncio.gather(*unwinding, return_exceptions=True)
        if self._failure is not None:
            raise self._failure
        if self._stopping:
            return "stop"
        return self._state.drain.reason if self._state.drain else "finished"

    def stop(self) -> None:
        """Takes nothing new: stages under way finish, queued items stay for a resume."""
        self._stopping = True
        self._wake.set()

    def cancel(self) -> None:
        """Cancels what is under way; its items stay in flight for a resume."""
        self._stopping = self._cancelling = True
        self._wake.set()

    def _start_timers(self) -> list[asyncio.TimerHandle]:
        if self._options.deadline_s is None:
            return []
        loop = asyncio.get_running_loop()
        left_s = max(0.0, self._options.deadline_s - self._log.now_s())
        if not left_s:
            self._deadline()  # A resume after the deadline must not start anything first.
        return [
            loop.call_later(left_s, self._deadline),
            loop.call_later(left_s + self._options.grace_s, self._end_of_grace),
        ]

    def _deadline(self) -> None:
        self._too_late = True
        with self._failing():
            self._log.drain("deadline", f"{self._options.deadline_s:g} s")

    def _end_of_grace(self) -> None:
        with self._failing():
            for flight in self._worked_on():
                self._cut(flight.item.ticket, "deadline: cut at the end of the grace")
        self._let_go()

    def _worked_on(self) -> list[InFlight]:
        """Returns the items that a stage works on; a step that was concluded may yet unwind."""
        found = [self._state.in_flight.get(ticket) for ticket in self._tasks]
        return [flight for flight in found if flight is not None and flight.taken]

    def _cut(self, ticket: int, reason: str) -> None:
        """Cancels a step and records its item as dropped; its calls are settled as it unwinds."""
        task, visit = self._tasks.pop(ticket), self._visits.pop(ticket)
        task.cancel()
        self._unwinding.append(task)
        self._conclusion.finish(visit, "dropped", reason)
        visit.closed = True

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Makes what a timer raises the run's failure: the event loop would only print it."""
        try:
            yield
        except Exception as error:
            self._fail(error)
        finally:
            self._wake.set()

    def _is_over(self) -> bool:
        if self._cancelling or (self._stopping and not self._tasks):
            return True
        if self._tasks or self._tails.going_on:
            return False  # What a tail has reserved may be what all others wait for.
        if self._state.in_flight:
            waiting = {t: f.stage for t, f in self._state.in_flight.items()}
            raise AssertionError(f"engine stalled with items waiting: {waiting}")
        return True

    def _let_go(self) -> None:
        """Cancels all steps; from here on they decide nothing, whatever they still do."""
        for task in self._tasks.values():
            task.cancel()
        self._unwinding += self._tasks.values()
        self._tasks.clear()
        self._tails.let_go()

    def _queue_what_was_in_flight(self) -> None:
        for ticket, flight in sorted(self._state.in_flight.items()):
            self._board.put(ticket, flight.stage)

    # -- decisions -------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Decides everything that can be decided now."""
        if self._stopping or self._failure is not None:
            return
        self._drop_what_cannot_finish()
        self._board.unblock()
        self._fill_workers()
        if self._controller.look(self._withheld):
            self._fill_workers()
        while self._starter.start_one():
            self._fill_workers()
        self._drop_what_cannot_finish()

    def _fill_workers(self) -> None:
        """Takes queued items into stages; later stages first."""
        self._withheld.clear()
        for lane in self._board.backwards():
            # Asked for each item: the one before it may have begun a drain.
            while not self._is_doomed(lane) and (ticket := self._board.head(lane)) is not None:
                if self._conclusion.recalled(ticket):
                    self._board.unblock()
                    continue
                flight = self._state.in_flight[ticket]
                stage = self._graph.stage(lane.name)
                wish = stage.needs(flight.item, self._state.pool)
                needs = flight.still_needed(wish, self._services.evaluation.task.replicas)
                amounts = needs.amounts
                spends = any(amounts.values())
                if spends and self._withheld:
                    self._withheld.add(lane.name)
                    break
                verdict = self._state.ledger.verdict(amounts) if spends else "grant"
                if verdict == "wait":
                    self._withheld.add(lane.name)
                    break
                if verdict == "exhausted":
                    self._board.leave(ticket, lane.name)
                    resource = self._funds.short_of(amounts, {})
                    self._log.drain(resource)
                    self._conclusion.end_waiting(ticket, "dropped", f"budget: {resource}")
                else:
                    self._board.take(lane)
                    self._take(flight, stage, needs, declares_shared=wish.shared > 0)
                # What was blocked on its way here may be what the next free worker takes.
                self._board.unblock()

    def _take(
        self, flight: InFlight, stage: Stage[Any], needs: Needs, *, declares_shared: bool
    ) -> None:
        ticket = flight.item.ticket
        n_sweeps = self._speculator.n_sweeps(stage, flight)
        self._log.append(
            ev.StageTaken(
                ticket=ticket,
                stage=stage.name,
                visit=flight.visit,
                metric_calls=needs.metric_calls,
                proposals=needs.proposals,
                n_sweeps=n_sweeps,
            )
        )
        calls, outcomes = self._conclusion.journal_of(ticket)
        visit = Visit(
            ticket=ticket,
            stage=stage.name,
            visit=flight.visit,
            priority=(-self._order[stage.name], ticket),
            needs=needs,
            calls=calls,
            outcomes=dict(outcomes),
            declares_shared=declares_shared,
            release=self._speculator.release(stage, n_sweeps),
            declares_release=stage.release is not None,
        )
        self._visits[ticket] = visit
        self._intake.promise((ticket, stage.name, flight.visit))
        self._tasks[ticket] = asyncio.create_task(
            self._step(flight.item, stage, visit), name=f"{stage.name}-{ticket}"
        )

    def _drop_what_cannot_finish(self) -> None:
        """While draining, what waits for a stage before the last is dropped, and what leads there.

        After a deadline what a stage works on gets the grace.
        """
        drain = self._state.drain
        if drain is None:
            return
        reason = "deadline" if self._too_late else drain.reason
        for lane in self._board.lanes.values():
            if self._is_doomed(lane):
                for ticket in self._board.waiting(lane.name):
                    self._board.drop_waiting(ticket, lane.name)
                    self._conclusion.end_waiting(ticket, "dropped", f"budget: {reason}")
        for flight in () if self._too_late else self._worked_on():
            if self._outlook.is_hopeless(flight):
                why = f"budget: {reason}; nothing can follow from {flight.stage!r} any more"
                self._cut(flight.item.ticket, why)

    def _is_doomed(self, lane: Lane) -> bool:
        """Says whether what waits for this stage will be dropped, so that it must not be taken."""
        if self._too_late:
            return True
        return self._state.drain is not None and lane.name != self._graph.last

    # -- one step --------------------------------------------------------------------------------

    async def _step(self, item: Item[Any], stage: Stage[Any], visit: Visit) -> None:
        """Runs one stage on one item; every way out is an event or the run's failure."""
        me = asyncio.current_task()
        try:
            await self._log.durable()
            result: Any = await stage.run(item, BoundContext(self._services, visit))
            if stage.release == "sweep" and visit.release and visit.release.tail:
                result = await self._whole_sweep(item, stage, visit, result)
            # A stage that swallowed its cancellation gets here, and has nothing to say.
            if self._tasks.get(item.ticket) is me:
                self._fail(self._patience.replied(visit.stage, result))
                self._conclusion.conclude(item, stage, visit, result)
        except BaseException as error:
            cause = first_of(error) if isinstance(error, BaseExceptionGroup) else error
            if self._tasks.get(item.ticket) is me:
                self._went_wrong(visit, cause)
            elif not isinstance(cause, (asyncio.CancelledError, BudgetExhausted, LLMError)):
                self._fail(cause)
        finally:
            if visit.release is not None and visit.release.tail is not None:
                await cancelled(visit.release.tail)
        if self._tasks.get(item.ticket) is me:
            del self._tasks[item.ticket], self._visits[item.ticket]
        self._intake.left((item.ticket, stage.name, visit.visit))
        self._funds.settled()
        self._wake.set()

    async def _whole_sweep(
        self, item: Item[Any], stage: Stage[Any], visit: Visit, partial: Any
    ) -> Any:
        """Lets the workflow believe in what a prefix showed; returns what the whole sweep says."""
        release = visit.release
        assert release is not None
        assert release.tail is not None
        mine = self._tasks.get(item.ticket) is asyncio.current_task()
        # A tail that is over by now leaves nothing to guess.
        if mine and isinstance(partial, Item) and not release.tail.done():
            self._speculator.insert(partial)
            self._wake.set()
        await release.tail
        release.tail = None
        # All is known now, so that nothing is paid for twice.
        return await stage.run(item, BoundContext(self._services, visit))

    def _tail_over(self, error: BaseException | None) -> None:
        """Notes the end of what went on after an item had left its stage; it only costs."""
        cause = first_of(error) if isinstance(error, BaseExceptionGroup) else error
        match cause:
            case BudgetExhausted():
                with self._failing():
                    self._log.drain(cause.resource)
            case Fatal():
                self._fail(RunStopped(str(cause)))
            case LLMError() | None:
                pass
            case _:
                self._fail(cause)
        self._funds.settled()
        self._wake.set()

    def _went_wrong(self, visit: Visit, error: BaseException) -> None:
        match error:
            case BudgetExhausted():
                self._log.drain(error.resource)
                self._conclusion.finish(visit, "dropped", f"budget: {error.resource}")
            case Fatal():
                self._fail(RunStopped(str(error)))
            case LLMError():
                self._fail_item(visit, error)
            case asyncio.CancelledError():
                # Nobody cancelled this task: re-raised, it would vanish and the run would hang.
                self._fail(RuntimeError(f"stage {visit.stage!r} raised CancelledError by itself"))
            case _:
                self._fail(error)

    def _fail(self, error: BaseException | None) -> None:
        """Ends the run if there is a failure; the first of several is the one that is raised."""
        if self._failure is None:
            self._failure = error

    def _fail_item(self, visit: Visit, error: LLMError) -> None:
        message = f"{error.kind}: {error}"
        if self._state.pool.best() is None and not self._state.in_flight[visit.ticket].item.lineage:
            # Nothing can follow from nothing; left in flight, the step is taken up on resume.
            self._fail(RunStopped(f"the first step failed: {message}. {GO_ON}"))
            return
        self._conclusion.finish(visit, "failed", message)
        self._fail(self._patience.failed(visit.stage, error))
