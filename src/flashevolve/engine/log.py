"""EventLog: the one door through which a run changes.

Events are handed to the store and folded into the state in the same breath, in one order. What is
visible outside the process waits for `durable`; so a killed process loses only a suffix of events
of which nothing could be seen. Observers are told of events only once they are durable.
"""

import asyncio
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from flashevolve import events as ev
from flashevolve.engine.state import Codec, RunState

Observer = Callable[[ev.Record], None]

SNAPSHOT_EVERY = 5000
"""Events between snapshots, at least: folding them takes a fraction of a second on opening."""
SNAPSHOT_CHARS_PER_EVENT = 300
"""A large state waits for more events. Its size counts all its texts, since they are read anew each
time, though the store writes each only once: so all snapshots of a run together take a small share
of what its events take, however long it gets."""
SNAPSHOT_EVERY_AT_MOST = 200_000
"""Bounds that wait to some seconds of folding. Where a state has more than 60 million characters,
snapshots then take a larger share."""


class Writer(Protocol):
    """What the log needs of a store."""

    @property
    def seq(self) -> int:
        """The last sequence number given out."""
        ...

    def append(self, events: list[ev.Event], t_s: float) -> int:
        """Takes one transaction's worth of events; returns the last sequence number."""
        ...

    async def durable(self) -> None:
        """Returns when everything appended so far is committed."""
        ...

    def snapshot(self, seq: int, state: Mapping[str, Any]) -> int:
        """Stores the folded state at `seq`; returns its characters, texts included."""
        ...


class EventLog:
    """Appends events, folds them, and tells observers."""

    def __init__(
        self, writer: Writer, state: RunState, clock: Callable[[], float], encode: Codec
    ) -> None:
        self.state = state
        self._writer = writer
        self._clock = clock
        self._encode = encode
        self._next_snapshot = writer.seq + SNAPSHOT_EVERY
        self._observers: list[Observer] = []
        self._failed: list[Observer] = []
        self._unseen: deque[ev.Record] = deque()
        self._teller: asyncio.Task[None] | None = None

    def now_s(self) -> float:
        """Returns seconds since the run began."""
        return self._clock()

    def observe(self, observer: Observer) -> None:
        """Adds an observer; it must return quickly. One that raises is warned of once."""
        self._observers.append(observer)

    def append(self, *events: ev.Event) -> None:
        """Records events as one transaction."""
        t_s = self._clock()
        last = self._writer.append(list(events), t_s)
        for seq, event in enumerate(events, last - len(events) + 1):
            record = ev.Record(seq=seq, t_s=t_s, event=event)
            self.state.apply(record)
            if self._observers:
                self._unseen.append(record)
        if last >= self._next_snapshot:
            self.snapshot()
        if self._unseen and self._teller is None:
            self._teller = asyncio.ensure_future(self._tell())

    def drain(self, reason: str, detail: str = "") -> None:
        """Records that nothing is started from here on, unless that is so already."""
        if self.state.drain is None:
            self.append(ev.DrainStarted(reason=reason, detail=detail))

    async def durable(self) -> None:
        """Returns when everything appended so far would survive a kill."""
        await self._writer.durable()

    def snapshot(self) -> None:
        """Stores the folded state, so that opening the run replays little."""
        seq = self._writer.seq
        n_chars = self._writer.snapshot(seq, self.state.dump(self._encode))
        wait = max(SNAPSHOT_EVERY, n_chars // SNAPSHOT_CHARS_PER_EVENT)
        self._next_snapshot = seq + min(wait, SNAPSHOT_EVERY_AT_MOST)

    async def _tell(self) -> None:
        try:
            while self._unseen:
                n_now = len(self._unseen)
                await self._writer.durable()
                for _ in range(n_now):
                    record = self._unseen.popleft()
                    for observer in self._observers:
                        self._show(record, observer)
        finally:
            self._teller = None

    def _show(self, record: ev.Record, observer: Observer) -> None:
        try:
            observer(record)
        except Exception as error:  # the boundary to user code: the run and the others go on
            if observer not in self._failed:
                self._failed.append(observer)
                warnings.warn(
                    f"an observer failed on event {record.seq} ({record.event.kind}) and may miss "
                    f"more: {type(error).__name__}: {error}",
                    RuntimeWarning,
                    stacklevel=1,
                )

    async def flush(self) -> None:
        """Returns when everything is durable and every observer has been told."""
        await self.durable()
        while self._teller is not None:
            await asyncio.shield(self._teller)
