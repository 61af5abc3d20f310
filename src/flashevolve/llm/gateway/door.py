"""Doors: the way into the gateway that one call of a user function has.

A door is opened by whoever asks for its token or address, has a token of its own, and lets through
what belongs to that call alone. When the call is over, the token is worth nothing and what is still
under way is cancelled, and settled before the door is closed.
"""

import asyncio
import os
import secrets
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from flashevolve.errors import ConfigError
from flashevolve.llm.embeddings import Embeddings, Inputs
from flashevolve.llm.gateway.environment import child_environment
from flashevolve.llm.messages import Message, Reply

if TYPE_CHECKING:
    from flashevolve.llm.gateway.gateway import Gateway

T = TypeVar("T")
Port = Callable[[Coroutine[Any, Any, Any]], Any]
"""Waits in a thread for a coroutine of a loop in virtual time."""

TOKEN_PREFIX = "fe-"
"""So that a token found somewhere tells whose it is; other clients insist on no prefix."""
TOKEN_BYTES = 24
"""Of randomness; nobody guesses 192 bits."""


class Asking(Protocol):
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


class Ended(Exception):
    """The call of the user function that a request belonged to is over."""


class Door:
    """One call's way into the gateway; `token` and `base_url` may be read in any thread."""

    def __init__(self, gateway: "Gateway", ask: Asking) -> None:
        self.ask = ask
        self._gateway = gateway
        self._lock = threading.Lock()
        self._token: str | None = None
        self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._port: Port | None = None
        self.is_async = False
        """Whether the door is for an `async def`, which must not stop the loop."""
        self.broken: ConfigError | None = None
        """What the run must not go on with, also if the user function swallowed it."""

    def sit(self) -> None:
        """Called in the thread in which user code is about to run."""
        self._port = self._gateway.port_of_thread()

    @property
    def relays(self) -> bool:
        """Whether chunks may be relayed: where requests are answered, and not in their name."""
        return self._port is None

    @property
    def base_url(self) -> str:
        """Where the gateway listens; opens it if nobody has. Raises `ConfigError` if it cannot."""
        if self._gateway.is_virtual and self._port is None:
            self.broken = ConfigError(
                "ctx.base_url: expected a function that is no `async def` or models in real time, "
                "found an async one in virtual time, in which its client cannot wait. Use "
                "ctx.chat, a plain def, or `flashevolve sim serve` and its address as base_url"
            )
            raise self.broken
        try:
            return self._gateway.address()
        except ConfigError as error:
            self.broken = error
            raise

    @property
    def environment(self) -> dict[str, str]:
        """The environment for a child process that is to ask here, without our keys."""
        kept = child_environment(os.environ, self._gateway.key_envs)
        named = {"OPENAI_BASE_URL": self.base_url, "OPENAI_API_BASE": self.base_url}
        return {**kept, **named, "OPENAI_API_KEY": self.token}

    @property
    def token(self) -> str:
        """What a client gives as its API key."""
        with self._lock:
            if self._token is None:
                self._token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
                if not self._closed:
                    self._gateway.doors[self._token] = self
            return self._token

    async def through(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs what a client asked for; cancels it if the client leaves.

        In virtual time an answer takes no real time: what has begun there is not cancelled.
        Raises `Ended` if the call that the door belongs to is over, or ends meanwhile.
        """
        if self._closed:
            raise Ended
        if self._port is not None:
            return cast(T, await self._gateway.ported(self._port, work))
        task = asyncio.ensure_future(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await asyncio.wait([task])
        finally:
            if not task.done():
                task.cancel()
                # It is settled before anything else happens to the call.
                await asyncio.wait([task])
        if task.cancelled():
            raise Ended
        return task.result()

    async def close(self) -> None:
        """Makes the token worthless and cancels what is under way; returns when it is settled."""
        with self._lock:
            self._closed = True
            token = self._token
        if token is not None:
            self._gateway.doors.pop(token, None)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
