"""A serving engine on the running event loop, in virtual or in real time.

Invariants: one timer, always at the batch's next event; a cancelled request frees its slot at once.
An instance belongs to one event loop.
"""

import asyncio
from collections.abc import Sequence

from flashevolve.simulate.batching import Batch, Entry, FirstToken, ServingSettings, Timing


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

    async def serve(
        self,
        input_tokens: int,
        output_tokens: int,
        prefix_blocks: Sequence[int] = (),
        on_first_token: FirstToken | None = None,
    ) -> Timing:
        """Returns when the last token is there; cancellation frees the sequence."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Timing] = loop.create_future()
        self._settle(self._batch.advance(loop.time()))
        entry = self._batch.submit(
            input_tokens, output_tokens, prefix_blocks, future, on_first_token
        )
        self._arm(loop)
        try:
            return await future
        except asyncio.CancelledError:
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
        self._timer = self._due_s = None
        self._settle(self._batch.advance(loop.time()))
        self._arm(loop)
