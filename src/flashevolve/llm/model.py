"""The model protocol: one async method. Everything that answers chat requests implements it.

An implementation neither retries nor limits nor counts: `llm.calls` does that once, for all.
"""

from typing import Protocol

from flashevolve.llm.messages import Reply, Request


class ChatModel(Protocol):
    """Something that answers chat requests. Called concurrently from one event loop."""

    async def complete(self, request: Request) -> Reply:
        """Answers one request, or raises an `LLMError` of the fitting kind."""
        ...

    async def close(self) -> None:
        """Frees connections. Called once, after the last request."""
        ...
