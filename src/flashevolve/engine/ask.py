"""Ask: one origin's way to models, for chats and for embeddings."""

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from flashevolve.llm.calls import CallService, Origin
from flashevolve.llm.embeddings import Embeddings, Inputs
from flashevolve.llm.messages import Message, Reply


class EmbedAsk(Protocol):
    """The journaled, metered way to models that belongs to one evaluation."""

    def __call__(
        self, role: str, messages: Sequence[Message], **parameters: Any
    ) -> Coroutine[Any, Any, Reply]:
        """Asks a model of `role`; see `CallService.chat`."""
        ...

    def embed(
        self, role: str, inputs: Inputs, **parameters: Any
    ) -> Coroutine[Any, Any, Embeddings]:
        """Returns the vectors of texts; see `CallService.embed`."""
        ...


class OriginAsk:
    """The way that goes straight to the calls of a run."""

    def __init__(self, calls: CallService, origin: Origin) -> None:
        self._calls = calls
        self._origin = origin

    async def __call__(self, role: str, messages: Sequence[Message], **parameters: Any) -> Reply:
        """Asks a model of `role`; see `CallService.chat`."""
        return await self._calls.chat(self._origin, role, messages, **parameters)

    async def embed(self, role: str, inputs: Inputs, **parameters: Any) -> Embeddings:
        """Returns the vectors of texts; see `CallService.embed`."""
        return await self._calls.embed(self._origin, role, inputs, **parameters)
