"""A log in memory: what a session needs of a store, for runs that nobody will resume."""

from collections.abc import Mapping
from typing import Any

from flashevolve.events import Event, Record


class MemoryLog:
    """Keeps a run's records and nothing else."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    @property
    def seq(self) -> int:
        """The last sequence number given out."""
        return len(self.records)

    def append(self, events: list[Event], t_s: float) -> int:
        """Takes one transaction."""
        first = len(self.records) + 1
        self.records += [Record(seq=n, t_s=t_s, event=e) for n, e in enumerate(events, first)]
        return len(self.records)

    async def durable(self) -> None:
        """Returns at once: nothing here outlives the process."""

    def snapshot(self, seq: int, state: Mapping[str, Any]) -> int:
        """Keeps none, and says that the state is large, so that few are asked for."""
        return 10**12
