"""The model protocol: one async method. Everything that answers chat requests implements it.

An implementation neither retries nor limits nor counts: `llm.calls` does that once, for all.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from flashevolve.llm.messages import Reply, Request

Relay = Callable[[Mapping[str, Any]], None]
"""Takes a chunk of an answer, in the shape of OpenAI's, at the moment it arrives."""


class ChatModel(Protocol):
    """Something that answers chat requests. Called concurrently from one event loop."""

    async def complete(self, request: Request) -> Reply:
        """Answers one request, or raises an `LLMError` of the fitting kind."""
        ...

    async def close(self) -> None:
        """Frees connections. Called once, after the last request."""
        ...


@runtime_checkable
class StreamingModel(Protocol):
    """What a `ChatModel` may do besides."""

    async def stream(self, request: Request, relay: Relay) -> Reply:
        """Answers as `complete` does, and gives each chunk to `relay` as it arrives.

        Raises what `relay` raises, as it is. An endpoint that does not stream gives no chunk.
        """
        ...
