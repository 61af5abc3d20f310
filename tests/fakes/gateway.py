"""A gateway in real time, with doors to a scripted way to a model."""

import asyncio
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from flashevolve.llm.embeddings import Embeddings, Inputs
from flashevolve.llm.gateway.bodies import Known
from flashevolve.llm.gateway.door import Door
from flashevolve.llm.gateway.gateway import Gateway
from flashevolve.llm.messages import Message, Reply

NAMES = {"openai/gpt-x": "task", "gpt-x": "task"}
KNOWN = Known(limits={"task": 100, "reflect": 8192}, names=NAMES)
HELLO = [{"role": "user", "content": "hello"}]


@dataclass
class Ask:
    """Answers as `say` does and remembers what it was asked."""

    say: Callable[..., Awaitable[Reply]] | None = None
    asked: list[tuple[str, Sequence[Message], dict[str, Any]]] = field(default_factory=list)
    embedded: list[tuple[str, Inputs, dict[str, Any]]] = field(default_factory=list)
    n_cancelled: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, role: str, messages: Sequence[Message], **parameters: Any) -> Reply:
        self.asked.append((role, messages, parameters))
        self.begun.set()
        try:
            if self.say is not None:
                return await self.say(role, messages, **parameters)
        except asyncio.CancelledError:
            self.n_cancelled += 1
            raise
        return Reply(text=f"{role}: {messages[-1].text}", tokens_in=3, tokens_out=2, model="m-1")

    async def embed(self, role: str, inputs: Inputs, **parameters: Any) -> Embeddings:
        self.embedded.append((role, inputs, dict(parameters["options"])))
        return Embeddings(
            vectors=tuple(array("f", [0.5, i]) for i, _ in enumerate(inputs)),
            tokens_in=4,
            model="e-1",
        )


@dataclass
class Open:
    """An open door and a client before it."""

    gateway: Gateway
    door: Door
    ask: Ask
    http: aiohttp.ClientSession

    def post(self, path: str = "/chat/completions", token: str | None = None, **body: Any) -> Any:
        return self.http.post(
            self.door.base_url + path,
            json={"model": "task", "messages": HELLO, **body},
            headers={"authorization": f"Bearer {token or self.door.token}"},
        )

    async def said(self, **body: Any) -> tuple[int, Any]:
        async with self.post(**body) as response:
            return response.status, await response.json()


@asynccontextmanager
async def opened(say: Callable[..., Awaitable[Reply]] | None = None) -> AsyncIterator[Open]:
    """Opens a gateway with one door."""
    ask = Ask(say)
    gateway = Gateway(KNOWN)
    door = gateway.door(ask)
    try:
        async with aiohttp.ClientSession() as http:
            yield Open(gateway, door, ask, http)
    finally:
        await door.close()
        await gateway.close()
