"""Reader: looks at a run without touching it.

Invariants: `run.sqlite` and its write-ahead log are copied to a temporary directory and only the
copy is opened, so a reader works beside a running writer, after a crash and on a read-only
directory, and can neither block nor damage a run. It sees the run as it was when it was opened:
a prefix of the log that ends between two transactions.

Hazard: POSIX drops a process's locks on a file when any descriptor of it is closed. A process that
writes a run must ask its `StoreWriter`, and not open a reader on the same run.
"""

import shutil
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from flashevolve.errors import StoreError
from flashevolve.store.queries import Queries
from flashevolve.store.schema import DATABASE, boundary, check_tables, connect, require_run

WAL_SUFFIX = "-wal"

WAL_HEADER_BYTES = 32
"""Holds the two salts, which change whenever SQLite starts the log over."""

COPY_ATTEMPTS = 50
"""A busy writer starts its log over every few thousand rows; copying takes milliseconds."""


class StoreReader(Queries):
    """A read-only view of one run. Close it, or use it in a `with` statement.

    Raises `StoreError` if the directory holds no run, or one that cannot be read.
    """

    def __init__(self, run_dir: Path | str) -> None:
        super().__init__(require_run(Path(run_dir)))
        with boundary(self.path, "copy for reading"):
            self._directory = tempfile.TemporaryDirectory(prefix="flashevolve-read-")
        self._connection: sqlite3.Connection | None = None
        try:
            copy = Path(self._directory.name) / DATABASE
            with boundary(self.path, "copy for reading"):
                _copy_consistently(self.path, copy)
            with boundary(self.path, "read"):
                self._connection = connect(copy)
                check_tables(self._connection, self.path)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes and removes the copy; a second call does nothing."""
        if self._connection is not None:
            self._connection.close()
        self._directory.cleanup()

    def __enter__(self) -> "StoreReader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _reading(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection


def _copy_consistently(source: Path, target: Path) -> None:
    """Copies database and log such that the copies belong together.

    Pages that a checkpoint moves into the database while we copy are still in the log, unless the
    log is started over meanwhile: then its header has new salts, and we try again.
    """
    wal, wal_copy = Path(f"{source}{WAL_SUFFIX}"), Path(f"{target}{WAL_SUFFIX}")
    for _ in range(COPY_ATTEMPTS):
        before = _generation(source, wal)
        shutil.copyfile(source, target)
        wal_copy.unlink(missing_ok=True)
        # A missing log was moved into the database by a writer that closed; it counts as changed.
        with suppress(FileNotFoundError):
            shutil.copyfile(wal, wal_copy)
        if _generation(source, wal) == before:
            return
    raise StoreError(f"{source} changes faster than it can be copied. Try again in a moment.")


def _generation(source: Path, wal: Path) -> bytes | tuple[int, int]:
    """Returns what changes when the log starts over: its header, or the database's own stamp."""
    with suppress(FileNotFoundError), wal.open("rb") as file:
        if header := file.read(WAL_HEADER_BYTES):
            return header
    found = source.stat()
    return found.st_mtime_ns, found.st_size
