"""Group: the rows that one commit writes.

Invariants: a group holds whole transactions in the order in which they were appended, and is
written whole or not at all. Both events of a call share one row, so a settlement is an update,
which must find exactly one reserved and unsettled row.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from flashevolve.errors import StoreError
from flashevolve.events import CallReserved, CallSettled, Event, OutcomeRecorded, RunStarted
from flashevolve.store.codec import encode, intern_json

Row = tuple[Any, ...]

META = "INSERT INTO meta VALUES (?, ?)"
TEXTS = "INSERT OR IGNORE INTO texts VALUES (?, ?)"
EVENTS = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"
CALLS = "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)"
OUTCOMES = "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SETTLEMENTS = (
    "UPDATE calls SET settled_seq = ?, settled_t_s = ?, settled = ? "
    "WHERE call = ? AND settled_seq IS NULL"
)
SNAPSHOTS = "INSERT OR REPLACE INTO snapshots VALUES (?, ?)"
INSERTS = (META, TEXTS, EVENTS, CALLS, OUTCOMES, SNAPSHOTS)


class Group:
    """Rows waiting for one commit, by the statement that writes them."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, list[Row]] = defaultdict(list)
        self.n_rows = 0

    def add_event(self, event: Event, seq: int, t_s: float) -> None:
        """Adds one event; raises `TypeError` if it holds what JSON does not know."""
        body, texts = encode(event)
        self._add_texts(texts)
        match event:
            case CallReserved():
                self._add(CALLS, (event.call, event.ticket, event.content, seq, t_s, body))
            case CallSettled():
                self._add(SETTLEMENTS, (seq, t_s, body, event.call))
            case OutcomeRecorded():
                key = (event.ticket, event.stage, event.visit, event.artifact, event.split)
                rest = (event.example, event.replica, event.fresh, body)
                self._add(OUTCOMES, (seq, t_s, *key, *rest))
            case _:
                ticket = getattr(event, "ticket", None)
                self._add(EVENTS, (seq, t_s, event.kind, ticket, body))
        if isinstance(event, RunStarted):
            self._add(META, ("run_id", event.run_id))

    def add_snapshot(self, seq: int, state: Mapping[str, Any]) -> int:
        """Adds the folded state after event `seq`; returns its size in bytes, texts included."""
        body, texts = intern_json(state)
        self._add_texts(texts)
        self._add(SNAPSHOTS, (seq, body))
        return len(body) + sum(map(len, texts.values()))

    def extend(self, other: "Group") -> None:
        """Adds all rows of `other` after this group's own."""
        for sql, rows in other._rows.items():
            self._rows[sql] += rows
        self.n_rows += other.n_rows

    def write(self, connection: sqlite3.Connection) -> None:
        """Commits all rows in one transaction, or none of them and raises."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            for sql in INSERTS:
                if rows := self._rows[sql]:
                    connection.executemany(sql, rows)
            self._settle(connection)
            if self._rows[SNAPSHOTS]:
                connection.execute(
                    "DELETE FROM snapshots WHERE seq < (SELECT max(seq) FROM snapshots)"
                )
            connection.execute("COMMIT")
        except BaseException:
            # A full disk may have rolled back already; a second ROLLBACK would hide the cause.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _settle(self, connection: sqlite3.Connection) -> None:
        if not (rows := self._rows[SETTLEMENTS]):
            return
        found = connection.executemany(SETTLEMENTS, rows).rowcount
        if found != len(rows):
            calls = sorted({row[3] for row in rows})
            raise StoreError(
                f"expected {len(rows)} unsettled calls to settle, found {found}, among calls "
                f"{calls[:20]}. A call was settled twice or never reserved; please report this."
            )

    def _add(self, sql: str, row: Row) -> None:
        self._rows[sql].append(row)
        self.n_rows += 1

    def _add_texts(self, texts: Mapping[str, str]) -> None:
        for key, text in texts.items():
            self._add(TEXTS, (key, _storable(text)))


def _storable(text: str) -> str | bytes:
    """Returns the text, or its bytes where it holds half a surrogate pair (SQLite refuses it)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text
