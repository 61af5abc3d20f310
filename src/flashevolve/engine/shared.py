"""Shared scores: what later evaluations of the same artifact need not pay for again.

Memory is bounded however long a run gets: the scores of artifacts under evaluation and of those
used last are at hand, all others are read back from the store when they are asked for. Nothing that
was recorded is forgotten, since only what nobody uses leaves, and reading waits until all that was
recorded is durable. What stays of every artifact that was ever evaluated is its hash. Without a
store everything stays.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from flashevolve.outcome import Scored

ScoreKey = tuple[str, str, int]
"""Split, example id, replica."""
Scores = dict[ScoreKey, Scored]

N_KEPT = 64
"""Artifacts kept after their last use: an artifact asked for again is mostly a recent one."""


class Stored(Protocol):
    """What is read of the store."""

    def shared_artifacts(self) -> Iterable[str]:
        """Yields the hashes of all artifacts with outcomes that later evaluations may share."""
        ...

    def shared_scores(self, artifact: str) -> Iterable[tuple[ScoreKey, Scored]]:
        """Yields the scores of an artifact's shared outcomes."""
        ...


@dataclass
class _InUse:
    scores: Scores
    n_users: int = 0


class SharedScores:
    """The shared scores of a run, by artifact."""

    def __init__(
        self,
        durable: Callable[[], Awaitable[None]],
        stored: Stored | None = None,
        n_kept: int = N_KEPT,
    ) -> None:
        """`durable` returns once everything recorded so far can be read from `stored`."""
        self._durable = durable
        self._stored = stored
        self._n_kept = n_kept
        self._in_use: dict[str, _InUse] = {}
        self._idle: OrderedDict[str, Scores] = OrderedDict()
        """In order of last use."""
        self._elsewhere: set[str] = set()
        """Hashes of the artifacts that have scores in the store and perhaps none here."""
        self._n_left = 0
        """How often an artifact's scores left the memory."""

    def resume(self) -> bool:
        """Takes note of what earlier processes recorded; says whether there is anything."""
        if self._stored is not None:
            self._elsewhere.update(self._stored.shared_artifacts())
        return bool(self._elsewhere)

    @asynccontextmanager
    async def of(self, artifact: str) -> AsyncIterator[Scores]:
        """Gives an artifact's scores; what is added to them while in use is kept."""
        while artifact in self._elsewhere and not self._at_hand(artifact):
            n_left = self._n_left
            await self._durable()
            # Meanwhile it may have come, got more scores and left again: those must be durable too.
            if n_left == self._n_left:
                break
        # No await from here on: whoever came first meanwhile is joined.
        if artifact not in self._in_use:
            self._in_use[artifact] = _InUse(self._fetched(artifact))
        used = self._in_use[artifact]
        used.n_users += 1
        try:
            yield used.scores
        finally:
            used.n_users -= 1
            if not used.n_users:
                del self._in_use[artifact]
                self._idle[artifact] = used.scores
                self._let_go()

    def _at_hand(self, artifact: str) -> bool:
        return artifact in self._in_use or artifact in self._idle

    def _fetched(self, artifact: str) -> Scores:
        if artifact in self._idle:
            return self._idle.pop(artifact)
        if self._stored is None or artifact not in self._elsewhere:
            return {}
        return dict(self._stored.shared_scores(artifact))

    def _let_go(self) -> None:
        while self._stored is not None and len(self._idle) > self._n_kept:
            artifact, scores = self._idle.popitem(last=False)
            self._n_left += 1
            if scores:
                self._elsewhere.add(artifact)
