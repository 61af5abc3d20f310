"""Writer: appends events to a run's store, in order, in groups, durably.

Invariants: sequence numbers are consecutive from 1 over all tables; what one `append` was given is
stored whole or not at all; what is stored is a prefix of what was appended; nothing that `durable`
has reported is lost. After a failure every later call fails with the same line.

Two modes. `threaded`, for real time: one thread owns the one writing connection; while it commits
a group, the next gathers, and each commit wakes the event loop once, however many wait. `inline`,
for virtual time: the caller commits every `INLINE_GROUP_ROWS` rows or `INLINE_INTERVAL_S` seconds,
and `durable` returns at once, since nothing leaves a simulated process.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from flashevolve.errors import StoreError
from flashevolve.events import Event
from flashevolve.store.group import Group
from flashevolve.store.lock import RunLock
from flashevolve.store.queries import Queries, last_seq
from flashevolve.store.schema import (
    DATABASE,
    boundary,
    check_tables,
    connect,
    create_tables,
    require_run,
    use_wal,
)

Mode = Literal["threaded", "inline"]

INLINE_GROUP_ROWS = 2000
"""Beyond some hundred rows the cost per row no longer falls; this bounds the memory held."""

INLINE_INTERVAL_S = 0.5
"""Real seconds that a killed simulation may lose; commits stay invisible in its speed."""

PATIENCE_S = 0.005
"""How long a waiter waits before the event loop steps aside for the writer thread."""

YIELD_S = 0.001
"""How long it steps aside: time to write 60 rows, and at most a sixth of the loop's time."""


class StoreWriter(Queries):
    """The one writer of a run. Made by `create` or `open`; holds the run's lock until `close`.

    `append` and `snapshot` may be called from any thread, `durable` from one event loop. Queries
    see all that was appended in `inline` mode, and what is durable in `threaded` mode.
    """

    def __init__(
        self, path: Path, lock: RunLock, connection: sqlite3.Connection, mode: Mode
    ) -> None:
        super().__init__(path)
        self._lock = lock
        self._connection = connection
        self._read_connection: sqlite3.Connection | None = None
        self._changed = threading.Condition()  # guards all that follows
        self._gathering = Group()
        self._last_commit_s = time.monotonic()
        self._failure: StoreError | None = None
        self._closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._patience: asyncio.TimerHandle | None = None
        self._seq = self._durable_seq = last_seq(connection)
        self._thread: threading.Thread | None = None
        if mode == "threaded":
            # A daemon: a process that forgets to close must end, as if it had been killed.
            self._thread = threading.Thread(
                target=self._commit_groups, name="flashevolve-store", daemon=True
            )
            self._thread.start()

    @classmethod
    def create(cls, run_dir: Path | str, mode: Mode = "threaded") -> "StoreWriter":
        """Makes the directory if need be and an empty store in it.

        Raises `StoreError` if it holds a run, is being written, or cannot be written.
        """
        directory = Path(run_dir)
        with boundary(directory, "create"):
            directory.mkdir(parents=True, exist_ok=True)
        return cls._open(directory / DATABASE, create_tables, mode)

    @classmethod
    def open(cls, run_dir: Path | str, mode: Mode = "threaded") -> "StoreWriter":
        """Opens an existing run to append to it; an older schema is brought up to date.

        Raises `StoreError` if there is none, or it is being written or cannot be written.
        """
        return cls._open(require_run(Path(run_dir)), check_tables, mode)

    @classmethod
    def _open(
        cls, path: Path, prepare: Callable[[sqlite3.Connection, Path], None], mode: Mode
    ) -> "StoreWriter":
        lock = RunLock(path.parent)
        connection = None
        try:
            with boundary(path, "open"):
                connection = connect(path)
                prepare(connection, path)
                use_wal(connection, path)
                return cls(path, lock, connection, mode)
        except BaseException:
            if connection is not None:
                connection.close()
            lock.release()
            raise

    @property
    def seq(self) -> int:
        """Number of the last event appended; 0 if there is none."""
        return self._seq

    def append(self, events: Sequence[Event], t_s: float) -> int:
        """Appends one transaction's events and returns the number of the last. Never waits.

        (`inline` mode may commit.) Raises `StoreError` if the writer failed, `TypeError` if an
        event holds what JSON does not know; then nothing was appended.
        """
        with self._changed:
            self._check()
            group = Group()
            for seq, event in enumerate(events, self._seq + 1):
                group.add_event(event, seq, t_s)
            self._seq += len(events)
            self._hand_over(group)
            return self._seq

    def snapshot(self, seq: int, state: Mapping[str, Any]) -> int:
        """Stores the folded state after event `seq`, in place of earlier snapshots.

        Returns its size in bytes, texts included.
        """
        with self._changed:
            self._check()
            group = Group()
            n_bytes = group.add_snapshot(seq, state)
            self._hand_over(group)
            return n_bytes

    async def durable(self) -> None:
        """Returns when all that was appended so far is on disk; at once in `inline` mode.

        Raises `StoreError` if it never will be.
        """
        with self._changed:
            self._check()
            if self._thread is None or self._durable_seq >= self._seq:
                return
            self._loop = asyncio.get_running_loop()
            done: asyncio.Future[None] = self._loop.create_future()
            self._waiters.append((self._seq, done))
            if self._patience is None:
                self._patience = self._loop.call_later(PATIENCE_S, self._step_aside)
        await done

    def close(self) -> None:
        """Commits what was appended and gives the run free; a second call does nothing.

        Raises `StoreError` if something that was appended could not be stored.
        """
        with self._changed:
            if self._closing:
                return
            if self._thread is None and self._failure is None:
                with suppress(StoreError):  # raised below, after everything is closed
                    self._commit_inline()
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        if self._read_connection is not None:
            self._read_connection.close()
        self._connection.close()
        self._lock.release()
        if self._failure is not None:
            raise StoreError(str(self._failure))

    def _reading(self) -> sqlite3.Connection:
        with self._changed:
            self._check()
            if self._thread is None:
                self._commit_inline()
                return self._connection
            if self._read_connection is None:
                self._read_connection = connect(self.path, read_only=True)
            return self._read_connection

    def _check(self) -> None:
        if self._failure is not None:
            raise StoreError(str(self._failure))
        if self._closing:
            raise StoreError(f"{self.path} is closed. Open the run again to go on.")

    def _hand_over(self, group: Group) -> None:
        self._gathering.extend(group)
        if self._thread is not None:
            self._changed.notify_all()
        elif (
            self._gathering.n_rows >= INLINE_GROUP_ROWS
            or time.monotonic() - self._last_commit_s >= INLINE_INTERVAL_S
        ):
            self._commit_inline()

    def _commit_inline(self) -> None:
        group, self._gathering = self._gathering, Group()
        self._last_commit_s = time.monotonic()
        if group.n_rows:
            self._write(group)
            self._check()

    def _commit_groups(self) -> None:
        """The writer thread: commits what gathered, until closed and empty, or failed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._gathering.n_rows or self._closing)
                group, self._gathering = self._gathering, Group()
                upto = self._seq
            if not group.n_rows:
                return
            self._write(group)
            with self._changed:
                if self._failure is None:
                    self._durable_seq = upto
                self._changed.notify_all()
                if self._waiters and self._loop is not None:
                    # A closed loop has nobody left to wake.
                    with suppress(RuntimeError):
                        self._loop.call_soon_threadsafe(self._wake)
                if self._failure is not None:
                    return

    def _write(self, group: Group) -> None:
        try:
            with boundary(self.path, "write"):
                group.write(self._connection)
        except StoreError as failure:
            self._failure = failure
        except Exception as error:  # a thread that died silently would leave waiters hanging
            self._failure = StoreError(f"cannot write {self.path}: {error!r}. Please report this.")

    def _wake(self) -> None:
        """Resolves, in the event loop, all who wait for what is now durable."""
        with self._changed:
            reached, failure, waiters = self._durable_seq, self._failure, self._waiters
            self._waiters = [w for w in waiters if w[0] > reached and failure is None]
        for seq, done in waiters:
            if done.done():
                continue
            if seq <= reached:
                done.set_result(None)
            elif failure is not None:
                done.set_exception(StoreError(str(failure)))

    def _step_aside(self) -> None:
        """Blocks the event loop for a moment if a commit takes long.

        A loop that is never idle gives up the interpreter only for microseconds at a time, which a
        waking thread always misses: without this, commits were seen to starve for 20 seconds.
        """
        with self._changed:
            self._patience = None
            if not self._waiters or self._loop is None:
                return
            first = self._waiters[0][0]
            self._changed.wait_for(
                lambda: self._durable_seq >= first or self._failure is not None, YIELD_S
            )
            self._patience = self._loop.call_later(PATIENCE_S, self._step_aside)
