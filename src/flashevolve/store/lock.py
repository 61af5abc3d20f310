"""Run lock: at most one process writes to a run directory.

Invariants: the lock is an exclusive transaction on `lock.sqlite`, so the operating system releases
it with the process, however that ends. Nothing is ever written to `lock.sqlite`. `lock.pid` only
helps to word the refusal; a stale one does no harm.

Hazard: POSIX drops a process's file locks when it closes any descriptor of the file, so nothing in
a writing process may open `lock.sqlite` other than through SQLite.
"""

import errno
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from flashevolve.errors import StoreError
from flashevolve.store.schema import boundary

LOCK_DATABASE = "lock.sqlite"
LOCK_PID = "lock.pid"

PROBE_S = 0.2
"""A look by `is_locked` holds a shared lock for microseconds; a writer that starts waits it out."""


class RunLock:
    """The right to write to a run directory, held from construction to `release`.

    Raises `StoreError` if another process (or another lock in this one) holds it.
    """

    def __init__(self, run_dir: Path) -> None:
        path = run_dir / LOCK_DATABASE
        with boundary(path, "lock"):
            self._connection = sqlite3.connect(
                path, isolation_level=None, timeout=PROBE_S, check_same_thread=False
            )
            try:
                _require_writable(path)
                self._connection.execute("BEGIN EXCLUSIVE")
            except (sqlite3.Error, OSError) as error:
                self._connection.close()
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                    raise StoreError(
                        f"{run_dir} is being written by another process{_holder(run_dir)}. "
                        "Wait until it ends or stop it, or choose another directory."
                    ) from None
                raise
        with suppress(OSError):  # the lock holds without it
            (run_dir / LOCK_PID).write_text(f"{os.getpid()}\n")

    def release(self) -> None:
        """Gives the lock back; a second call does nothing."""
        self._connection.close()

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def is_locked(run_dir: Path) -> bool:
    """Says whether a process is writing to a run directory; the directory is left as it is."""
    path = run_dir / LOCK_DATABASE
    with boundary(run_dir, "look into"):
        if not path.is_file():
            return False
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.0)
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return False


def _require_writable(path: Path) -> None:
    """Raises `PermissionError` if SQLite could take no more than a shared lock, in silence."""
    effective = os.access in os.supports_effective_ids
    if path.exists() and not os.access(path, os.W_OK, effective_ids=effective):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _holder(run_dir: Path) -> str:
    with suppress(OSError, ValueError):
        return f" (pid {int((run_dir / LOCK_PID).read_text())})"
    return ""
