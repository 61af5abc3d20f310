"""One request at the simulated endpoint: its first token, its reply, what was cached of it."""

import asyncio
from dataclasses import replace
from typing import Protocol

from flashevolve.llm.errors import Empty, Refused, Truncated
from flashevolve.llm.messages import Reply, Request
from flashevolve.simulate.batching import FirstToken
from flashevolve.simulate.bodies import Asked
from flashevolve.simulate.completions import Head, until_stop


class ObservableModel(Protocol):
    """A chat model that tells when an answer begins."""

    async def complete(self, request: Request, on_first_token: FirstToken | None = None) -> Reply:
        """Answers one request, or raises an `LLMError`."""
        ...


class Answering:
    """One request while it is answered."""

    def __init__(self, model: ObservableModel, asked: Asked, request: Request, head: Head) -> None:
        self.asked = asked
        self.head = head
        self.cached_tokens = 0
        self.failed = False
        """An error was told within a stream, since the status had been sent."""
        self._model = model
        self._request = request
        self._first_token = asyncio.Event()

    async def reply(self) -> Reply:
        """Returns the whole reply when its last token is there; raises `LLMError`."""
        try:
            reply = await self._model.complete(self._request, self._begin)
        except (Truncated, Refused, Empty) as error:
            if error.reply is None:
                raise
            reply = error.reply
        return replace(reply, text=until_stop(reply.text, self.asked.stops))

    def _begin(self, cached_tokens: int) -> None:
        self.cached_tokens = cached_tokens
        self._first_token.set()

    async def begun(self, task: "asyncio.Task[Reply]") -> None:
        """Returns when the first token is there; raises what `task`, the reply, raises before."""
        first = asyncio.ensure_future(self._first_token.wait())
        try:
            await asyncio.wait((task, first), return_when=asyncio.FIRST_COMPLETED)
        finally:
            first.cancel()
        if not self._first_token.is_set():
            task.result()
