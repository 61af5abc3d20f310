"""Run: one durable execution, driven on an event loop of its own or on the caller's.

It opens the store, runs a session, keeps the result or the error, and can be watched and stopped
from any thread. No signal handler is installed and no logger configured.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter

from flashevolve import rundir
from flashevolve.artifact import Artifact
from flashevolve.config import dump
from flashevolve.config.compare import changed_tables
from flashevolve.engine.log import Observer
from flashevolve.engine.session import Session
from flashevolve.engine.state import RunState
from flashevolve.errors import ConfigError
from flashevolve.events import OutcomeRecorded, Record, RunStarted
from flashevolve.llm.calls import Reuse
from flashevolve.preflight import check_same_run
from flashevolve.prepare import Prepared, models_in_words
from flashevolve.result import Result, result_of
from flashevolve.store.reader import StoreReader
from flashevolve.store.writer import Mode, StoreWriter

if TYPE_CHECKING:
    from flashevolve.simulate.world import World

T = TypeVar("T")


class Run:
    """A run in progress, or a finished one.

    It runs in a thread with an event loop of its own from `start` on; `aoptimize` drives it on the
    caller's. All methods may be called from any thread.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.dir = prepared.settings.run.dir or rundir.new_run_dir(Path("runs"), datetime.now())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: Session | None = None
        self._writer: StoreWriter | None = None
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._stops = 0
        self._n_obeyed = 0
        """Stops that the session was told of; counted on the run's loop alone."""
        self._observers: list[Observer] = []
        self._thread: threading.Thread | None = None
        self._done = threading.Event()

    # -- watching --------------------------------------------------------------------------------

    @property
    def state(self) -> RunState | None:
        """The folded state as it is now; None before the run has opened its store."""
        return self._session.state if self._session else None

    @property
    def done(self) -> bool:
        """True once the run has ended, however it did."""
        return self._done.is_set()

    def best(self) -> Artifact:
        """Returns the best confirmed artifact so far; the seed until there is one."""
        best = self.state.pool.best() if self.state else None
        return best.artifact if best else self.prepared.seed

    def outcomes(self, ticket: int) -> list[OutcomeRecorded]:
        """Returns what an item's evaluations gave; on the run's own loop, or after the run."""
        if self._writer is not None:
            return self._writer.journal_outcomes(ticket)
        with StoreReader(self.dir) as reader:
            return reader.journal_outcomes(ticket)

    def observe(self, observer: Observer) -> None:
        """Adds an observer of durable events, called in the run's thread; before `start`."""
        if self._thread is not None:
            raise RuntimeError("observe before start; later, use events()")
        self._observers.append(observer)

    async def events(self) -> AsyncIterator[Record]:
        """Yields the run's events from the first on, and ends with the run."""
        seen = 0
        while True:
            finished = self.done
            for record in await self._records_after(seen):
                seen = record.seq
                yield record
            if finished:
                return
            await asyncio.to_thread(self._done.wait, EVENTS_POLL_S)

    async def _records_after(self, seen: int) -> list[Record]:
        """Reads the log where that is safe.

        SQLite's locks belong to the process: opening the file a second time beside our own writer
        and closing it again would release the writer's.
        """
        if self.done:
            if self._error is not None and self._session is None:
                return []  # Refused: what the directory holds is another run's.
            return await asyncio.to_thread(_read_records, self.dir, seen)
        loop = self._loop
        if loop is None or loop.is_closed():
            return []
        if loop is asyncio.get_running_loop():
            return self._written_after(seen)
        answer: Future[list[Record]] = Future()

        def read() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(self._written_after(seen))
            except Exception as error:
                answer.set_exception(error)

        try:
            loop.call_soon_threadsafe(read)
        except RuntimeError:  # closed just now
            return []
        # A loop that ends may never come to it; then the file is read. Not a coroutine, which
        # would complain that nobody awaited it.
        asked = asyncio.wrap_future(answer)
        await asyncio.wait([asked], timeout=EVENTS_WAIT_S)
        if asked.done():
            return asked.result()
        asked.cancel()
        return []

    def _written_after(self, seen: int) -> list[Record]:
        if self._writer is None:
            return []
        return list(islice(self._writer.records(seen), EVENTS_BATCH))

    # -- driving ---------------------------------------------------------------------------------

    def start(self) -> "Run":
        """Starts the run in a thread; returns at once."""
        main = _virtual if self.prepared.simulated else asyncio.run
        self._thread = threading.Thread(
            target=self._in_thread, args=(main,), name="flashevolve-run", daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """First call: stages under way finish, nothing new starts. Second: they are cancelled.

        Either way the run can be resumed.
        """
        self._stops += 1
        if self._loop is not None:
            with suppress(RuntimeError):  # The loop is closed: the run has ended.
                self._loop.call_soon_threadsafe(self._obey)

    def _obey(self) -> None:
        """Tells the session of each stop once, wherever it came from; on the run's loop."""
        while self._session is not None and self._n_obeyed < self._stops:
            self._n_obeyed += 1
            self._session.stop()

    def wait(self, timeout_s: float) -> bool:
        """Waits for the end, at most so long; returns whether it came."""
        return self._done.wait(timeout_s)

    def result(self) -> Result:
        """Waits for the end and returns the result; raises what ended the run early.

        Interrupted (Ctrl-C), it cancels the run, leaves it resumable, and raises on.
        """
        if self._thread is None:
            self.start()
        try:
            self._done.wait()
        except KeyboardInterrupt:
            self.stop()
            self.stop()
            self._done.wait(INTERRUPT_GRACE_S)
            raise
        return self._outcome()

    async def aresult(self) -> Result:
        """Waits for the end without blocking the loop; cancelled, it cancels the run."""
        if self._thread is None and not self.prepared.simulated:
            try:
                await self._drive()
            except BaseException as error:
                self._error = self._error or error
                raise
            finally:
                self._done.set()
            return self._outcome()
        if self._thread is None:
            self.start()
        try:
            await asyncio.to_thread(self._done.wait)
        except asyncio.CancelledError:
            self.stop()
            self.stop()
            raise
        return self._outcome()

    def _outcome(self) -> Result:
        if self._error is not None:
            raise self._error
        assert self._result is not None, "a run that ended has a result or an error"
        return self._result

    def _in_thread(self, main: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        try:
            main(self._drive())
        except BaseException as error:
            self._error = self._error or error
        finally:
            self._done.set()

    async def _drive(self) -> None:
        """Opens the store, runs the session, and keeps its result or its error.

        An interrupt in user code ends the loop and cancels this; whoever started it keeps that and
        says only then that the run is done.
        """
        self._loop = asyncio.get_running_loop()
        try:
            self._result = await self._run()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._error = error

    async def _run(self) -> Result:
        began_s = time.monotonic() - _earlier_wall_s(self.dir)
        mode: Mode = "inline" if self.prepared.simulated else "threaded"
        writer = (StoreWriter.open if rundir.holds_run(self.dir) else StoreWriter.create)(
            self.dir, mode
        )
        with ExitStack() as stack:
            stack.callback(self._close, writer)
            start, state, changes = self._open(writer)
            if state.ended is not None and not state.ended.resumable and not changes:
                return self._report(state, _earlier_wall_s(self.dir))
            payload = TypeAdapter(self.prepared.workflow.payload)
            encode = partial(payload.dump_python, mode="json")
            prepared = self.prepared.with_recorded_prices(start.prices)
            plan = prepared.plan(start, changes, self._reuse(stack))
            session = Session(plan, writer, state, encode, writer)
            for observer in self._observers:
                session.observe(observer)
            self._session, self._writer = session, writer
            self._obey()
            await session.run()
            return self._report(state, time.monotonic() - began_s)

    def _close(self, writer: StoreWriter) -> None:
        self._writer = None
        writer.close()

    def _reuse(self, stack: ExitStack) -> Reuse | None:
        """Opens the run whose answers may be reused; `stack` closes it."""
        other = self.prepared.settings.run.reuse
        if other is None:
            return None
        if other.resolve() == self.dir.resolve():
            raise ConfigError(f"run.reuse: expected another run's directory, found {other} itself")
        reader = stack.enter_context(StoreReader(other))
        start = rundir.first_event(reader, other)
        _check_world(f"run.reuse = {other}", start, self.prepared.world)
        return reader.answered

    def _open(self, writer: StoreWriter) -> tuple[RunStarted, RunState, dict[str, Any]]:
        """Returns the run's first event, its state so far, and what this process changes."""
        prepared = self.prepared
        decode = TypeAdapter(prepared.workflow.payload).validate_python
        if writer.seq == 0:
            start = replace(prepared.start, run_id=self.dir.resolve().name)
            return start, RunState(prepared.workflow.new_pool(), prepared.limits, decode), {}
        start = rundir.first_event(writer, self.dir)
        self.prepared = prepared = prepared.continuing(start.config)
        now = dump(prepared.settings)
        _check_world(str(self.dir), start, prepared.world)
        check_same_run(self.dir, start.config, now, start.data, prepared.start.data)
        state = rundir.fold(writer, start, prepared.limits, decode)
        return start, state, changed_tables(start.config, now)

    def _report(self, state: RunState, wall_s: float) -> Result:
        result = result_of(state, self.dir, models_in_words(self.prepared.settings), wall_s)
        rundir.write_result(self.dir, result.to_json())
        return result


EVENTS_POLL_S = 0.2
"""Between looks into the log: events are watched by people."""

EVENTS_WAIT_S = 5.0
"""A run that is just ending may close its loop before it answers; then the log is read later."""

EVENTS_BATCH = 1000
"""Records read at once on the run's own loop, which has other work."""

INTERRUPT_GRACE_S = 30.0
"""What an interrupted run gets to settle its calls and close its store."""


def _earlier_wall_s(run_dir: Path) -> float:
    """Returns the real seconds that earlier processes spent on the run; their log has virtual ones.

    A process that was killed left no word of its own.
    """
    earlier = rundir.read_result(run_dir) or {}
    return earlier.get("wall_s") or 0.0


def _check_world(what: str, start: RunStarted, world: "World | None") -> None:
    """Refuses to mix answers of virtual time with others, or those of two worlds there."""
    if start.simulated != (world is not None):
        # Answers in virtual time do not name their world themselves; the first event does for all.
        then, now = ("virtual", "real") if start.simulated else ("real", "virtual")
        raise ConfigError(
            f"{what}: expected models that answer in {then} time, as when it was made, found "
            f"models in {now} time. Restore the models ([model], base_url), or start anew"
        )
    if world is not None:
        from flashevolve.simulate.world import check_same_world

        if not start.world:
            raise ConfigError(
                f"{what}: expected a simulated run that recorded its world, found none recorded. "
                f"Whether it was {world.hash}, the world of now, is unknown: start anew"
            )
        check_same_world(what, start.world, world)


def _read_records(run_dir: Path, seen: int) -> list[Record]:
    return list(rundir.read_records(run_dir, seen))


def _virtual(main: Coroutine[Any, Any, None]) -> None:
    from flashevolve.simulate.loop import run_virtual

    run_virtual(main)
