"""Slots: a server of so many requests at once, whose answers take lognormal times.

Invariants:

- At most `n` requests are served at a time; the others wait in the order in which they came.
- How long a request takes depends on the run's seed, its messages and on how often they were asked
  before, never on when: all clients draw from one distribution, of the same means at every spread.
- Every request that was served is in the log, those given up by their clients too.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from flashevolve.llm.messages import Reply, Request
from flashevolve.simulate.answering import ObservableModel
from flashevolve.simulate.batching import FirstToken, Timing
from flashevolve.simulate.lengths import digest, normal
from flashevolve.simulate.prefix import text_of
from flashevolve.simulate.serving import Job


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How long answers take."""

    means_s: Mapping[str, float]
    """Role -> mean seconds of an answer."""
    sigma: float
    """Standard deviation of ln(seconds); 0 = all take the mean."""
    slots: int
    """Requests served at once, at most."""

    def draw_s(self, role: str, bits: int) -> float:
        """Returns the seconds of one answer from 64 bits of a digest."""
        return self.means_s[role] * math.exp(self.sigma * normal(bits) - self.sigma**2 / 2)


@dataclass(frozen=True)
class Served:
    """One request at a slot; times are seconds of the machine's monotonic clock."""

    role: str
    arrived_s: float
    began_s: float
    ended_s: float
    service_s: float
    """What its answer takes, whatever the machine added."""
    left: bool
    """Given up by its client."""
    cpu_s: float
    """Processor time of the endpoint's process so far."""


class Slots:
    """The server behind all roles; belongs to one event loop."""

    def __init__(self, pace: Pace, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = pace
        self._clock = clock
        self._free = asyncio.Semaphore(pace.slots)
        self.log: list[Served] = []

    def of(self, role: str) -> "Door":
        """Returns where the requests of one role come in."""
        return Door(self, role)

    async def serve(self, role: str, bits: int) -> float:
        """Returns, in seconds, how long the request waited, when its time is over."""
        arrived_s = self._clock()
        service_s = self._pace.draw_s(role, bits)
        async with self._free:
            began_s, left = self._clock(), True
            try:
                await asyncio.sleep(service_s)
                left = False
            finally:
                ended_s = self._clock()
                spent_s = ended_s - began_s if left else service_s
                cpu_s = time.process_time()
                self.log.append(Served(role, arrived_s, began_s, ended_s, spent_s, left, cpu_s))
        return began_s - arrived_s


class Door:
    """A server of the simulation, whose time is that of the shared slots."""

    def __init__(self, slots: Slots, role: str) -> None:
        self._slots = slots
        self._role = role

    async def serve(self, job: Job, on_first_token: FirstToken | None = None) -> Timing:
        """Returns when the answer is there."""
        queued_s = await self._slots.serve(self._role, job.draw)
        if on_first_token is not None:
            on_first_token(0)
        return Timing(queued_s=queued_s, prefill_s=0.0, decode_s=0.0)


class Numbered:
    """A model that tells repeated requests apart by their number, not by when they came.

    So the first answer to the same messages is the same whoever asks, and the second is another
    sample. What seed a client sends has no effect.
    """

    def __init__(self, model: ObservableModel, seed: int) -> None:
        self._model = model
        self._seed = seed
        self._asked: Counter[int] = Counter()

    async def complete(self, request: Request, on_first_token: FirstToken | None = None) -> Reply:
        """Answers one request, or raises an `LLMError`."""
        messages = digest(b"messages", text_of(request.messages))
        number = self._asked[messages]
        self._asked[messages] += 1
        parts = (str(part).encode() for part in (self._seed, messages, number))
        seed = digest(b"bench", *parts)
        return await self._model.complete(replace(request, seed=seed), on_first_token)
