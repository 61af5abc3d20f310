"""Server: the gateway's HTTP side, in OpenAI's shape.

Invariants:

- A request is answered for the holder of an open door's token, and for nobody else; what it asks
  goes through that door.
- The status is sent when the answer is known, or its first chunk is: an error before has its own.
- A chunk is sent on when it arrives; those that wait for a slow client are sent together.
- A client that leaves cancels what it asked for, which is settled; in virtual time only what has
  not begun, since an answer takes no real time there.
- We have tried again what can be tried again: clients are told not to.
"""

import asyncio
import json
import logging
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from flashevolve.engine.together import together
from flashevolve.llm.errors import CutShort, Empty, Refused, Truncated
from flashevolve.llm.gateway.answers import (
    Head,
    chunks,
    completion,
    failure_of,
    reply_of,
    usage_chunk,
    vectors,
)
from flashevolve.llm.gateway.bodies import Asked, Known, read_chat, read_embed
from flashevolve.llm.gateway.door import Door, Ended
from flashevolve.llm.messages import Reply
from flashevolve.llm.served import BadRequest, error_body, event

_LOG = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Chunk = Mapping[str, Any]

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Far above any prompt; below what would hurt a laptop."""
KEEP_ALIVE_S = 75.0
"""Longer than clients keep a connection, so that none sends into a closing one."""
SHUTDOWN_S = 0.2
"""That answers under way get when the run ends; all doors are closed by then."""
ROUTES = "POST /v1/chat/completions, POST /v1/embeddings, GET /v1/models"
NO_RETRY = {"x-should-retry": "false"}
"""Read by OpenAI's own clients."""


class Server:
    """Answers on a socket that listens already."""

    def __init__(self, doors: Mapping[str, Door], known: Known, listener: socket.socket) -> None:
        self._doors = doors
        self._known = known
        self._listener = listener
        self._runner: web.AppRunner | None = None
        self._starting: asyncio.Task[None] | None = None
        self._adopting: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begins to answer; called on the loop."""
        self._starting = asyncio.ensure_future(self._start())

    def adopt(self, connection: socket.socket) -> None:
        """Serves a connection that was taken in another thread; called on the loop."""
        task = asyncio.ensure_future(self._adopt(connection))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    async def _adopt(self, connection: socket.socket) -> None:
        if self._starting is not None:
            await self._starting
        assert self._runner is not None
        assert self._runner.server is not None
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(self._runner.server, connection)

    async def stop(self) -> None:
        """Closes the socket and all connections."""
        if self._starting is not None:
            await self._starting
        if self._adopting:
            await asyncio.wait(self._adopting)
        if self._runner is not None:
            await self._runner.cleanup()
        self._listener.close()

    async def _start(self) -> None:
        app = web.Application(middlewares=[self._told_in_json], client_max_size=MAX_BODY_BYTES)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embed)
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            keepalive_timeout=KEEP_ALIVE_S,
            shutdown_timeout=SHUTDOWN_S,
        )
        await self._runner.setup()
        await web.SockSite(self._runner, self._listener).start()

    @web.middleware
    async def _told_in_json(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except BadRequest as error:
            body = error_body(
                str(error), "invalid_request_error", param=error.param, code=error.code
            )
            return web.json_response(body, status=error.status)
        except Ended:
            return _unauthorized("the evaluation that this token was for has ended")
        except web.HTTPException as error:
            problem = f"expected one of {ROUTES}, found {request.method} {request.path}"
            if error.status == 413:
                problem = f"expected a body of at most {MAX_BODY_BYTES} bytes"
            body = error_body(problem, "invalid_request_error")
            return web.json_response(body, status=error.status)
        except Exception as error:  # the boundary of the server: the client hears of a bug as well
            # An answer of which a part was passed on is the client's own to ask for again.
            headers = {} if isinstance(error, CutShort) else NO_RETRY
            status = failure_of(error).status
            return web.json_response(_failed(error), status=status, headers=headers)

    def _door(self, request: web.Request) -> Door:
        """Returns the door that the request's token opens. Raises `Ended` if there is none."""
        sent = request.headers.get("authorization", "")
        token = sent[7:].strip() if sent[:7].lower() == "bearer " else ""
        door = self._doors.get(token or request.headers.get("api-key", ""))
        if door is None:
            raise Ended
        return door

    async def _models(self, request: web.Request) -> web.Response:
        self._door(request)
        cards = [
            {"id": role, "object": "model", "created": 0, "owned_by": "flashevolve"}
            for role in self._known.limits
        ]
        return web.json_response({"object": "list", "data": cards})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        door = self._door(request)
        asked = read_chat(await request.read(), self._known)
        head = Head(
            id=f"chatcmpl-{secrets.token_hex(12)}", created_s=int(time.time()), model=asked.model
        )
        if asked.stream:
            return await _Stream(request, door, asked, head).response()
        replies = await door.through(partial(_replies, door, asked))
        return web.json_response(completion(head, replies))

    async def _embed(self, request: web.Request) -> web.StreamResponse:
        door = self._door(request)
        asked = read_embed(await request.read(), self._known)
        embed = partial(door.ask.embed, asked.role, asked.inputs, options=asked.options)
        found = await door.through(embed)
        return web.json_response(vectors(asked.model, found, asked.as_base64))


class _Stream:
    """An answer in chunks."""

    def __init__(self, request: web.Request, door: Door, asked: Asked, head: Head) -> None:
        self._request, self._door, self._asked, self._head = request, door, asked, head
        self._chunks: asyncio.Queue[Chunk | None] = asyncio.Queue()
        """Those that arrived and are to be sent; None = no more will come."""
        self._relayed: set[int] = set()
        """Choices of which chunks came."""

    async def response(self) -> web.StreamResponse:
        relay = self._relay if self._door.relays else None
        replies = partial(_replies, self._door, self._asked, relay)
        task = asyncio.ensure_future(self._door.through(replies))
        task.add_done_callback(lambda _: self._chunks.put_nowait(None))
        try:
            chunk = await self._chunks.get()
            if chunk is None:
                told = await task  # Raises what went wrong while a status can still tell it.
                response = await self._begun()
                await response.write(self._rest(told))
            else:
                response = await self._begun()
                await self._pass_on(response, chunk)
                await response.write(await self._end(task))
            await response.write_eof()
            return response
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    async def _begun(self) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"content-type": "text/event-stream", "cache-control": "no-cache"}
        )
        await response.prepare(self._request)
        return response

    async def _pass_on(self, response: web.StreamResponse, first: Chunk) -> None:
        chunk: Chunk | None = first
        while chunk is not None:
            ready = [chunk]
            while not self._chunks.empty() and (chunk := self._chunks.get_nowait()) is not None:
                ready.append(chunk)
            await response.write(b"".join(event(json.dumps(c)) for c in ready))
            if chunk is None:
                return
            chunk = await self._chunks.get()

    async def _end(self, task: "asyncio.Task[Sequence[Reply]]") -> bytes:
        """Returns what follows the relayed chunks; an error too, since the status has been sent."""
        try:
            return self._rest(await task)
        except Ended:
            problem = "the evaluation that this token was for has ended"
            return event(json.dumps(error_body(problem, "invalid_request_error")))
        except Exception as error:  # the boundary of the server: the client hears of a bug as well
            return event(json.dumps(_failed(error)))

    def _rest(self, replies: Sequence[Reply]) -> bytes:
        """Returns the choices that came whole, the usage if it was asked for, and the end."""
        whole = [(i, reply) for i, reply in enumerate(replies) if i not in self._relayed]
        lines = [json.dumps(c) for i, reply in whole for c in chunks(self._head, i, reply)]
        if self._asked.include_usage:
            lines.append(json.dumps(usage_chunk(self._head, replies)))
        return b"".join(map(event, [*lines, "[DONE]"]))

    def _relay(self, index: int, chunk: Chunk) -> None:
        if not chunk.get("choices"):
            return  # The usage, which we tell ourselves.
        self._relayed.add(index)
        choices = [{**choice, "index": index} for choice in chunk["choices"]]
        # One answer has one id, also when several models' chunks are in it.
        told = {k: v for k, v in chunk.items() if k != "usage"}
        self._chunks.put_nowait({**told, "id": self._head.id, "choices": choices})


async def _replies(
    door: Door, asked: Asked, relay: Callable[[int, Chunk], None] | None = None
) -> Sequence[Reply]:
    """Asks once for each choice."""

    async def one(index: int) -> Reply:
        relayed = {} if relay is None else {"relay": partial(relay, index)}
        try:
            return await door.ask(asked.role, asked.messages, **asked.fields, **relayed)
        except (Refused, Truncated, Empty) as error:
            return reply_of(error)

    return [await one(0)] if asked.n == 1 else await together(map(one, range(asked.n)))


def _unauthorized(problem: str) -> web.Response:
    body = error_body(
        f"expected a token of an evaluation under way (ctx.api_key): {problem}, or it never was "
        "one. Read ctx.api_key anew in each call of your function",
        "invalid_request_error",
        code="invalid_api_key",
    )
    return web.json_response(body, status=401)


def _failed(error: Exception) -> dict[str, Any]:
    """Returns what the client is told; logs what should not have happened."""
    failure = failure_of(error)
    if failure.status == 500:
        _LOG.error("a request through the gateway failed", exc_info=error)
    return failure.body
