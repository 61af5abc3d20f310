"""Schema of `run.sqlite`: tables, version, and the checks made whenever one is opened.

Invariants: `PRAGMA user_version` is the schema version and `PRAGMA application_id` marks the file
as ours. A database of an older version is brought up to date when it is opened; one of a newer
version is refused untouched. Every connection of a writer is in WAL mode with `synchronous=FULL`.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flashevolve.errors import StoreError
from flashevolve.events import SCHEMA_VERSION

DATABASE = "run.sqlite"
"""Name of the store's file in a run directory."""

APPLICATION_ID = 0x466C4576
"""`FlEv` in ASCII; tells our files from any other SQLite database."""

BUSY_TIMEOUT_S = 30.0
"""Only a foreign program can make us wait; half a minute outlasts a careless query."""

DDL = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE texts (hash TEXT PRIMARY KEY, text NOT NULL)",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY, t_s REAL NOT NULL, kind TEXT NOT NULL, ticket INTEGER,
        event TEXT NOT NULL)""",
    """CREATE TABLE calls (
        call INTEGER PRIMARY KEY, ticket INTEGER NOT NULL, content TEXT NOT NULL,
        reserved_seq INTEGER NOT NULL UNIQUE, reserved_t_s REAL NOT NULL, reserved TEXT NOT NULL,
        settled_seq INTEGER UNIQUE, settled_t_s REAL, settled TEXT)""",
    "CREATE INDEX calls_by_ticket ON calls (ticket)",
    "CREATE INDEX calls_by_content ON calls (content)",
    "CREATE INDEX calls_unsettled ON calls (call) WHERE settled_seq IS NULL",
    """CREATE TABLE outcomes (
        seq INTEGER PRIMARY KEY, t_s REAL NOT NULL, ticket INTEGER NOT NULL, stage TEXT NOT NULL,
        visit INTEGER NOT NULL, artifact TEXT NOT NULL, split TEXT NOT NULL, example TEXT NOT NULL,
        replica INTEGER NOT NULL, fresh INTEGER NOT NULL, event TEXT NOT NULL,
        UNIQUE (ticket, stage, visit, artifact, example, replica))""",
    "CREATE INDEX outcomes_shared ON outcomes (artifact, split, example, replica) WHERE NOT fresh",
    "CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, state TEXT NOT NULL)",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = ()
"""`MIGRATIONS[v - 1]` are the statements that turn version v into v + 1."""

_STAMP = "INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', ?)"


@contextmanager
def boundary(path: Path, action: str) -> Iterator[None]:
    """Turns whatever SQLite or the file system says into one line that names the path."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot {action} {path}: {error}.{_next_step(error)}") from error


def _next_step(error: sqlite3.Error | OSError) -> str:
    # ENOSPC and the like come as OSError when a directory is made, as sqlite3.Error afterwards.
    text = str(error).lower()
    if "full" in text or "no space" in text or "disk i/o" in text:
        return " Free space (or check the disk), then start again: the run resumes."
    if "not a database" in text or "malformed" in text:
        return " The file is damaged or not a run's store: restore a copy or start a new directory."
    if "unable to open" in text or "not a directory" in text or "file exists" in text:
        return " Check that the directory exists and can be written to."
    if "readonly" in text or "permission" in text or "read-only" in text:
        return " Choose a directory that this user can write to."
    return ""


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Opens an existing or new database file, without looking at what is in it."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}",
        uri=True,
        isolation_level=None,  # transactions are written out: the module must not begin its own
        timeout=BUSY_TIMEOUT_S,
        check_same_thread=False,
    )


def use_wal(connection: sqlite3.Connection, path: Path) -> None:
    """Switches a writer's connection to WAL with full synchronisation."""
    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise StoreError(
            f"cannot use a write-ahead log for {path}: SQLite offers {mode!r} there. "
            "Network disks are the usual cause; put the run directory on a local disk."
        )
    connection.execute("PRAGMA synchronous=FULL")


def create_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Writes the schema into an empty database; refuses one that holds anything."""
    connection.execute("BEGIN IMMEDIATE")
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if n_tables:
        raise StoreError(f"{path} already holds a run. Resume it, or choose another directory.")
    for statement in DDL:
        connection.execute(statement)
    _stamp(connection)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute("COMMIT")


def check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses what is not a store or is too new; brings an older version up to date."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise StoreError(f"{path} is not a run's store. Check the path of the run directory.")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}, this flashevolve reads up to {SCHEMA_VERSION}. "
            "Upgrade flashevolve."
        )
    if version < SCHEMA_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        for statements in MIGRATIONS[version - 1 :]:
            for statement in statements:
                connection.execute(statement)
        _stamp(connection)
        connection.execute("COMMIT")


def _stamp(connection: sqlite3.Connection) -> None:
    """Writes the schema version where SQLite keeps it and where a person looks for it."""
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    connection.execute(_STAMP, (str(SCHEMA_VERSION),))


def require_run(run_dir: Path) -> Path:
    """Returns the path of the directory's database; raises `StoreError` if there is none."""
    path = run_dir / DATABASE
    if not path.is_file():
        raise StoreError(f"no run in {run_dir}: {DATABASE} not found. Check the path.")
    return path
