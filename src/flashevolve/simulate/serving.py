"""Servers on the running event loop, in virtual or in real time: accelerators, or a hosted API.

Invariants: a cancelled request frees what it held at once; an instance belongs to one event loop;
each accelerator has one timer, always at the batch's next event; what a server computes is the
simulation's own work, which a loop that charges CPU does not charge.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flashevolve.llm.errors import Fatal, RateLimited
from flashevolve.simulate.batching import Batch, Entry, FirstToken, ServingSettings, Timing
from flashevolve.simulate.charged import free
from flashevolve.simulate.hosted import Account, HostedSettings
from flashevolve.simulate.replicated import LeastLoaded, ReplicatedSettings

Preset = ServingSettings | ReplicatedSettings | HostedSettings
"""What answers: accelerators that batch, one or several, or one account at a hosted API."""


@dataclass(frozen=True)
class Job:
    """What one request asks of a server."""

    input_tokens: int
    output_tokens: int
    prefix_blocks: Sequence[int] = ()
    """As `simulate.prefix.prefix_blocks` gives them; without them every prompt is read whole."""
    max_output_tokens: int | None = None
    """What the request allows, which counts against a hosted account; None = its output."""
    draw: int = 0
    """The request's own source of chance, below 2^64."""

    @property
    def used_tokens(self) -> int:
        """What was read and written in the end."""
        return self.input_tokens + self.output_tokens

    @property
    def reserved_tokens(self) -> int:
        """What may be read and written at most."""
        return self.input_tokens + (self.max_output_tokens or self.output_tokens)


class Server(Protocol):
    """Something that takes the time of an answer."""

    async def serve(self, job: Job, on_first_token: FirstToken | None = None) -> Timing:
        """Returns when the last token is there; cancellation frees the request.

        Raises `RateLimited` if there is a limit and it is reached.
        """
        ...


def server_of(preset: Preset) -> Server:
    """Returns a server with nothing to do yet."""
    match preset:
        case HostedSettings():
            return HostedModel(preset)
        case ReplicatedSettings():
            return ReplicatedModel(preset)
        case ServingSettings():
            return ServingModel(preset)


class HostedModel:
    """Serves requests as a hosted API does: each at its own speed, within the account's limits."""

    def __init__(self, settings: HostedSettings) -> None:
        self._account = Account(settings)
        self.n_running = 0
        """The number of requests under way."""

    async def serve(self, job: Job, on_first_token: FirstToken | None = None) -> Timing:
        """Returns when the last token is there; see `Server`. Nothing is ever cached."""
        loop = asyncio.get_running_loop()
        admitted_s = loop.time()
        self._admit(job.reserved_tokens, admitted_s)
        used_tokens = job.used_tokens
        speed = self._account.settings.speed(job.draw)
        decode_s = job.output_tokens / speed.tokens_per_s
        self.n_running += 1
        try:
            if on_first_token is not None:
                await asyncio.sleep(speed.first_token_s)
                on_first_token(0)
            await asyncio.sleep(admitted_s + speed.first_token_s + decode_s - loop.time())
        except asyncio.CancelledError:
            written_tokens = speed.written_tokens(loop.time() - admitted_s)
            used_tokens = job.input_tokens + min(job.output_tokens, written_tokens)
            raise
        finally:
            self.n_running -= 1
            self._account.settle(job.reserved_tokens, used_tokens, loop.time())
        return Timing(queued_s=0.0, prefill_s=speed.first_token_s, decode_s=decode_s)

    def _admit(self, reserved_tokens: int, now_s: float) -> None:
        try:
            wait_s = self._account.admit(reserved_tokens, now_s)
        except ValueError as error:
            raise Fatal(f"{error}. Lower max_output_tokens") from None
        if wait_s:
            limits = self._account.settings
            # Whole seconds, as the header has them.
            retry_after_s = math.ceil(wait_s)
            raise RateLimited(
                f"expected at most {limits.requests_per_min} requests and {limits.tokens_per_min} "
                f"tokens a minute, found more (simulated 429); retry after {retry_after_s} s",
                retry_after_s=retry_after_s,
            )


class ServingModel:
    """Serves requests with the timing of continuous batching."""

    def __init__(self, settings: ServingSettings) -> None:
        self._batch = Batch(settings)
        self._timer: asyncio.TimerHandle | None = None
        self._due_s: float | None = None

    @property
    def n_running(self) -> int:
        """The number of sequences that hold a slot."""
        return self._batch.n_running

    @property
    def n_queued(self) -> int:
        """The number of sequences that wait for a slot."""
        return self._batch.n_queued

    async def serve(self, job: Job, on_first_token: FirstToken | None = None) -> Timing:
        """Returns when the last token is there; cancellation frees the sequence."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Timing] = loop.create_future()
        with free():
            self._settle(self._batch.advance(loop.time()))
            entry = self._batch.submit(
                job.input_tokens, job.output_tokens, job.prefix_blocks, future, on_first_token
            )
            self._arm(loop)
        try:
            return await future
        except asyncio.CancelledError:
            with free():
                self._settle(self._batch.advance(loop.time()))
                self._batch.drop(entry)
                self._arm(loop)
            raise

    def _settle(self, finished: list[Entry]) -> None:
        for entry in finished:
            future = entry.tag
            assert isinstance(future, asyncio.Future)
            if not future.done():
                future.set_result(entry.timing)

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        due_s = self._batch.due_s()
        if due_s == self._due_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due_s = due_s
        self._timer = None if due_s is None else loop.call_at(due_s, self._tick, loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        with free():
            self._timer = self._due_s = None
            self._settle(self._batch.advance(loop.time()))
            self._arm(loop)


class ReplicatedModel:
    """Serves requests on several accelerators, each on the least loaded one."""

    def __init__(self, settings: ReplicatedSettings) -> None:
        self._replicas = [ServingModel(settings.each) for _ in range(settings.n_replicas)]
        self._routing = LeastLoaded(settings.n_replicas)

    @property
    def n_running(self) -> int:
        """The number of sequences that hold a slot somewhere."""
        return sum(replica.n_running for replica in self._replicas)

    @property
    def in_flight(self) -> Sequence[int]:
        """The number of requests under way on each replica."""
        return self._routing.in_flight

    async def serve(self, job: Job, on_first_token: FirstToken | None = None) -> Timing:
        """Returns when the last token is there; cancellation frees the sequence."""
        with free():
            index = self._routing.take()
        try:
            return await self._replicas[index].serve(job, on_first_token)
        finally:
            self._routing.leave(index)
