"""A model that answers by a function, after a latency, and may fail on purpose."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from flashevolve.llm.errors import LLMError
from flashevolve.llm.messages import Reply, Request


@dataclass
class ScriptedModel:
    """Answers each request with `answer(request, rng)`; the rng derives from the request's seed."""

    answer: Callable[[Request, Random], str | LLMError]
    latency_s: Callable[[Random], float] = field(default=lambda rng: 1.0)
    in_flight: int = 0
    peak: int = 0
    n_requests: int = 0
    seen: list[tuple[str, int | None]] = field(default_factory=list)
    closed: bool = False

    async def complete(self, request: Request) -> Reply:
        rng = Random(request.seed)
        self.n_requests += 1
        self.seen.append((request.messages[-1].text, request.seed))
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(self.latency_s(rng))
        finally:
            self.in_flight -= 1
        answer = self.answer(request, rng)
        if isinstance(answer, LLMError):
            raise answer
        return Reply(text=answer, tokens_in=10, tokens_out=len(answer))

    async def close(self) -> None:
        self.closed = True
