"""Queries: reading the log, the journal and the cache from an open database.

Shared by reader and writer. Invariants: records come in order of their sequence number, over the
three tables that hold them, and are streamed: memory does not grow with the log.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from flashevolve.errors import StoreError
from flashevolve.events import CallReserved, CallSettled, Event, OutcomeRecorded, Record
from flashevolve.outcome import Scored
from flashevolve.store.codec import decode, restore_json
from flashevolve.store.schema import boundary

E = TypeVar("E", CallReserved, CallSettled, OutcomeRecorded)

FETCH_ROWS = 256
"""Enough to make the cost per query vanish; a few MB with the largest events."""

CACHED_TEXTS = 256
"""Neighbouring events share prompts; beyond a few hundred texts the hits no longer grow."""

RECORDS = """
    SELECT seq, t_s, event FROM events WHERE seq > :after
    UNION ALL SELECT reserved_seq, reserved_t_s, reserved FROM calls WHERE reserved_seq > :after
    UNION ALL SELECT settled_seq, settled_t_s, settled FROM calls WHERE settled_seq > :after
    UNION ALL SELECT seq, t_s, event FROM outcomes WHERE seq > :after
    ORDER BY 1"""
"""Each part is in the order of an index, so SQLite merges them without sorting."""

LAST_SEQ = """
    SELECT max(coalesce((SELECT max(seq) FROM events), 0),
               coalesce((SELECT max(reserved_seq) FROM calls), 0),
               coalesce((SELECT max(settled_seq) FROM calls), 0),
               coalesce((SELECT max(seq) FROM outcomes), 0))"""


class Queries(ABC):
    """What can be asked of a run's store. Everything raises `StoreError` on a damaged one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """The run's database; named in errors."""
        self._cached_text = lru_cache(maxsize=CACHED_TEXTS)(self._find_text)

    @abstractmethod
    def _reading(self) -> sqlite3.Connection:
        """Returns a connection that sees everything the caller may expect to see."""

    def records(self, after: int = 0) -> Iterator[Record]:
        """Yields the records with `seq > after`, in order."""
        for seq, t_s, body in self._rows(RECORDS, {"after": after}):
            yield Record(seq=seq, t_s=t_s, event=self._event(body))

    def latest_snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """Returns the last folded state and the number of the event after which it holds."""
        for seq, body in self._rows("SELECT seq, state FROM snapshots ORDER BY seq DESC LIMIT 1"):
            with self._decoding():
                return seq, restore_json(body, self._cached_text)
        return None

    def journal_calls(self, ticket: int) -> list[tuple[CallReserved, CallSettled | None]]:
        """Returns an item's calls in order of reservation; None = not settled."""
        rows = self._rows(
            "SELECT reserved, settled FROM calls WHERE ticket = ? ORDER BY reserved_seq", (ticket,)
        )
        return [
            (self._event_of(CallReserved, r), None if s is None else self._event_of(CallSettled, s))
            for r, s in rows
        ]

    def journal_outcomes(self, ticket: int) -> list[OutcomeRecorded]:
        """Returns the outcomes that were recorded for an item, in order."""
        rows = self._rows("SELECT event FROM outcomes WHERE ticket = ? ORDER BY seq", (ticket,))
        return [self._event_of(OutcomeRecorded, body) for (body,) in rows]

    def shared_artifacts(self) -> Iterator[str]:
        """Yields the hashes of all artifacts with shared outcomes."""
        yield from (
            artifact
            for (artifact,) in self._rows("SELECT DISTINCT artifact FROM outcomes WHERE NOT fresh")
        )

    def shared_scores(self, artifact: str) -> Iterator[tuple[tuple[str, str, int], Scored]]:
        """Yields (split, example id, replica) and the scores of an artifact's shared outcomes."""
        for split, example, replica, score, objectives in self._rows(
            "SELECT split, example, replica, json_extract(event, '$.score'), "
            "json_extract(event, '$.objectives') "
            "FROM outcomes WHERE artifact = ? AND NOT fresh ORDER BY seq",
            (artifact,),
        ):
            with self._decoding():
                named = restore_json(objectives, self._cached_text) if objectives else {}
            yield (split, example, replica), Scored(score, named)

    def answered(self, content: str) -> CallSettled | None:
        """Returns the first successful answer to a call with this content."""
        rows = self._rows(
            "SELECT settled FROM calls WHERE content = ? AND settled IS NOT NULL "
            "AND json_extract(settled, '$.status') = 'ok' ORDER BY call LIMIT 1",
            (content,),
        )
        return next((self._event_of(CallSettled, body) for (body,) in rows), None)

    def text(self, key: str) -> str:
        """Returns an interned text by its hash; raises `StoreError` if there is none."""
        return self._cached_text(key)

    def _find_text(self, key: str) -> str:
        for (found,) in self._rows("SELECT text FROM texts WHERE hash = ?", (key,)):
            return found if isinstance(found, str) else found.decode("utf-8", "surrogatepass")
        raise StoreError(f"{self.path} refers to text {key}, which it does not hold.")

    def _rows(self, sql: str, parameters: Any = ()) -> Iterator[Any]:
        with boundary(self.path, "read"):
            cursor = self._reading().execute(sql, parameters)
        while True:
            with boundary(self.path, "read"):
                rows = cursor.fetchmany(FETCH_ROWS)
            if not rows:
                return
            yield from rows

    def _event(self, body: str) -> Event:
        with self._decoding():
            return decode(body, self._cached_text)

    def _event_of(self, kind: type[E], body: str) -> E:
        event = self._event(body)
        if not isinstance(event, kind):
            raise StoreError(f"{self.path} holds {event.kind} where {kind.__name__} belongs.")
        return event

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, KeyError, TypeError) as error:
            line = " ".join(str(error).split())[:200]
            raise StoreError(
                f"{self.path} holds a row that cannot be read: {line}. The file is damaged: "
                "restore a copy or start a new directory."
            ) from error


def last_seq(connection: sqlite3.Connection) -> int:
    """Returns the number of the last event in a database; 0 if there is none."""
    (seq,) = connection.execute(LAST_SEQ).fetchone()
    return int(seq)
