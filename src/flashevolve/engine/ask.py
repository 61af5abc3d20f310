"""Ask: one origin's way to models, for chats and for embeddings, and what guards it.

User code is free to catch what goes wrong with a call. What no score can express is raised all the
same, once that code is done.
"""

from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from flashevolve.engine.funds import BudgetExhausted
from flashevolve.errors import FlashEvolveError
from flashevolve.llm.calls import CallService, Origin
from flashevolve.llm.embeddings import Embeddings, Inputs
from flashevolve.llm.errors import CutShort, Empty, LLMError, ModelBug, Refused, Truncated
from flashevolve.llm.messages import Message, Reply

Answer = TypeVar("Answer")


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


class GuardedAsk:
    """Remembers what user code must not swallow: an exhausted budget, a dead endpoint, a bug."""

    def __init__(self, ask: EmbedAsk) -> None:
        self._ask = ask
        self._interrupted: Exception | None = None
        self._cut: list[tuple[str, list[Message], CutShort]] = []
        """What was asked in streams that were cut, and has not been answered since."""

    async def __call__(self, role: str, messages: Sequence[Message], **parameters: Any) -> Reply:
        """Asks a model of `role`; see `CallService.chat`."""
        asked = list(messages)
        try:
            reply = await self._noted(self._ask(role, messages, **parameters))
        except CutShort as error:
            self._cut.append((role, asked, error))
            raise
        # Nobody but its caller can try a stream again of which a part was passed on. It did.
        self._cut = [cut for cut in self._cut if cut[:2] != (role, asked)]
        return reply

    async def embed(self, role: str, inputs: Inputs, **parameters: Any) -> Embeddings:
        """Returns the vectors of texts; see `CallService.embed`."""
        return await self._noted(self._ask.embed(role, inputs, **parameters))

    async def _noted(self, answer: Awaitable[Answer]) -> Answer:
        try:
            return await answer
        except (Refused, Truncated, Empty, CutShort):
            raise
        except (LLMError, BudgetExhausted, FlashEvolveError, ModelBug) as error:
            self._interrupted = error
            raise

    def raise_if_interrupted(self) -> None:
        """Raises what was swallowed; a stream that was cut only if no later answer made it good."""
        if self._interrupted is not None:
            raise self._interrupted
        if self._cut:
            raise self._cut[0][2]
