"""A store in memory: what the engine needs of one, and nothing of SQLite."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flashevolve import events as ev
from flashevolve.engine.shared import ScoreKey
from flashevolve.outcome import Scored


class MemoryStore:
    """Keeps records in a list; implements the log's `Writer` and the session's `Past`."""

    def __init__(self, records: Sequence[ev.Record] = ()) -> None:
        self.records = list(records)
        self.boundaries: list[int] = []
        """Numbers of records after each transaction: where a killed process may have stopped."""
        self.snapshots: list[tuple[int, Mapping[str, Any]]] = []

    @property
    def seq(self) -> int:
        return self.records[-1].seq if self.records else 0

    def append(self, events: list[ev.Event], t_s: float) -> int:
        for event in events:
            self.records.append(ev.Record(seq=self.seq + 1, t_s=t_s, event=event))
        self.boundaries.append(len(self.records))
        return self.seq

    async def durable(self) -> None:
        return None

    def snapshot(self, seq: int, state: Mapping[str, Any]) -> int:
        self.snapshots.append((seq, state))
        return 0

    def events(self, *kinds: type) -> list[Any]:
        return [r.event for r in self.records if isinstance(r.event, kinds)]

    def journal_calls(self, ticket: int) -> list[tuple[ev.CallReserved, ev.CallSettled | None]]:
        settled = {e.call: e for e in self.events(ev.CallSettled)}
        return [
            (e, settled.get(e.call)) for e in self.events(ev.CallReserved) if e.ticket == ticket
        ]

    def journal_outcomes(self, ticket: int) -> list[ev.OutcomeRecorded]:
        return [e for e in self.events(ev.OutcomeRecorded) if e.ticket == ticket]

    def shared_artifacts(self) -> Iterable[str]:
        return {e.artifact for e in self.events(ev.OutcomeRecorded) if not e.fresh}

    def shared_scores(self, artifact: str) -> Iterable[tuple[ScoreKey, Scored]]:
        return [
            ((e.split, e.example, e.replica), Scored(e.score, e.objectives))
            for e in self.events(ev.OutcomeRecorded)
            if e.artifact == artifact and not e.fresh
        ]
