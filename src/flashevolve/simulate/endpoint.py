"""A preset of the simulated world behind an OpenAI-compatible endpoint, in the loop's time.

Invariants:

- Whoever connects shares one server. Every reply's headers say that it is simulated and by which
  world, and an answer's model is `sim/` and the preset.
- The same messages and seed give the same answer; a request without a seed gets one of its own,
  derived from the endpoint's seed and the request's number.
- A client that leaves frees its sequence at once.
- Every request for an answer is counted once, and whatever goes wrong with it is told in OpenAI's
  shape: also what is a bug of ours, which is logged too.
- Times that are told to clients (Retry-After) are real seconds, whatever the loop's scale.

The text of a streamed answer comes at its end, since the tokens before it stand for reasoning that
is not shown; the first chunk comes with the first token.
"""

import asyncio
import errno
import json
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from flashevolve.errors import ConfigError
from flashevolve.llm.errors import Fatal, LLMError, RateLimited
from flashevolve.llm.messages import Reply
from flashevolve.llm.served import BadRequest, error_body, event
from flashevolve.llm.wire import SIMULATED_FINGERPRINT, WORLD_HEADER
from flashevolve.simulate.answering import Answering, ObservableModel
from flashevolve.simulate.bodies import Asked, read_body
from flashevolve.simulate.completions import (
    Head,
    completion,
    first_chunk,
    later_chunks,
)
from flashevolve.simulate.lengths import digest
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.pace import running_scale
from flashevolve.simulate.world import World, load_world

_LOG = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Far above any prompt; below what would hurt a laptop."""
KEEP_ALIVE_S = 75.0
"""Real seconds; longer than clients keep a connection, so that none sends into a closing one."""
SHUTDOWN_S = 0.2
"""Real seconds that answers under way get when the endpoint stops."""
BACKLOG = 2048
"""Connections that may wait to be accepted: a run opens hundreds in one instant."""
ROUTES = "POST /v1/chat/completions, GET /v1/models, GET /health"


@dataclass
class Tally:
    """What became of the requests for an answer so far."""

    answered: int = 0
    refused: int = 0
    """Answered with an error, 429 and the server's own included."""
    left: int = 0
    """Given up by their clients."""

    def __str__(self) -> str:
        """Returns the counts in words."""
        counts = f"answered {self.answered}, refused {self.refused}"
        return f"{counts}, left by their clients {self.left}"


class Endpoint:
    """The endpoint of one model, named by its preset. Belongs to the loop that serves it."""

    def __init__(self, model: ObservableModel, preset: str, *, world: World, seed: int = 0) -> None:
        """`seed` is where the seeds of requests without one derive from."""
        self.preset = preset
        self.world = world
        self.tally = Tally()
        self._model = model
        self._seed = seed
        self._n_received = self._n_asked = 0

    @classmethod
    def from_preset(cls, preset: str, *, world: World | None = None, seed: int = 0) -> "Endpoint":
        """Returns the endpoint of a preset, None = of the built-in world.

        Raises `ConfigError` for an unknown preset.
        """
        world = world or load_world()
        model = SimulatedModel.from_preset(preset, {}, world=world)
        return cls(model, preset, world=world, seed=seed)

    def app(self) -> web.Application:
        """Returns the application that answers."""
        app = web.Application(middlewares=[self._told_in_json], client_max_size=MAX_BODY_BYTES)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/v1/models/{name:.+}", self._one_model)
        app.router.add_get("/health", self._health)
        app.on_response_prepare.append(self._label)
        return app

    async def _label(self, request: web.Request, response: web.StreamResponse) -> None:
        self._n_received += 1
        response.headers["x-request-id"] = f"sim-{self._n_received}"
        response.headers["x-flashevolve-simulated"] = self.preset
        response.headers[WORLD_HEADER] = self.world.hash
        response.headers["x-flashevolve-time-scale"] = f"{running_scale():g}"

    @web.middleware
    async def _told_in_json(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except BadRequest as error:
            return _refusal(error.status, str(error), param=error.param, code=error.code)
        except web.HTTPException as error:
            if error.status == 413:
                return _refusal(413, f"expected a body of at most {MAX_BODY_BYTES} bytes")
            return _refusal(
                error.status, f"expected one of {ROUTES}, found {request.method} {request.path}"
            )

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "simulated": True, "preset": self.preset})

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [self._card()]})

    async def _one_model(self, request: web.Request) -> web.Response:
        self._check_model(request.match_info["name"])
        return web.json_response(self._card())

    def _card(self) -> dict[str, Any]:
        owner = f"flashevolve (simulated, world {self.world.hash})"
        return {"id": self.preset, "object": "model", "created": 0, "owned_by": owner}

    def _check_model(self, name: str) -> None:
        if name != self.preset:
            raise BadRequest(
                f"expected model {self.preset!r} (simulated), found {name!r}",
                param="model",
                status=404,
                code="model_not_found",
            )

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = read_body(await request.read(), self.world.lengths.max_tokens)
            self._check_model(asked.model)
            answering = self._answering(asked)
            response = await (self._stream if asked.stream else self._whole)(request, answering)
        except LLMError as error:
            self.tally.refused += 1
            return _failure(error, running_scale())
        except (BadRequest, web.HTTPException):
            self.tally.refused += 1
            raise
        except (asyncio.CancelledError, ConnectionResetError):
            self.tally.left += 1
            raise
        except web.RequestPayloadError as error:
            self.tally.refused += 1
            return _refusal(400, f"expected a body in its encoding, found {_one_line(error)}")
        except Exception as error:  # the boundary of the server: the client hears of a bug as well
            self.tally.refused += 1
            return web.json_response(_bug(error), status=500)
        if answering.failed:
            self.tally.refused += 1
        else:
            self.tally.answered += 1
        return response

    def _answering(self, asked: Asked) -> Answering:
        self._n_asked += 1
        seed = asked.request.seed
        if seed is None:
            seed = digest(b"endpoint", str(self._seed).encode(), str(self._n_asked).encode())
        request = replace(asked.request, seed=seed)
        head = Head(
            id=f"chatcmpl-sim-{self._n_asked}",
            created_s=int(time.time()),
            # Hosts answer under a more precise name, too; whoever logs it keeps what it was.
            model=f"sim/{self.preset}",
            fingerprint=SIMULATED_FINGERPRINT + self.world.hash,
        )
        return Answering(self._model, asked, request, head)

    async def _whole(self, request: web.Request, answering: Answering) -> web.StreamResponse:
        reply = await answering.reply()
        return web.json_response(completion(answering.head, reply, answering.cached_tokens))

    async def _stream(self, request: web.Request, answering: Answering) -> web.StreamResponse:
        task = asyncio.ensure_future(answering.reply())
        try:
            await answering.begun(task)
            response = web.StreamResponse(
                headers={"content-type": "text/event-stream", "cache-control": "no-cache"}
            )
            await response.prepare(request)
            await response.write(event(json.dumps(first_chunk(answering.head))))
            lines = [json.dumps(chunk) for chunk in await self._rest(task, answering)]
            await response.write(b"".join(map(event, [*lines, "[DONE]"])))
            await response.write_eof()
            return response
        finally:
            task.cancel()

    async def _rest(self, task: asyncio.Task[Reply], answering: Answering) -> list[dict[str, Any]]:
        """Returns what follows the first chunk; an error too, since the status has been sent."""
        try:
            reply = await task
        except LLMError as error:
            answering.failed = True
            return [error_body(str(error), "server_error")]
        except Exception as error:  # the boundary of the server: the client hears of a bug as well
            answering.failed = True
            return [_bug(error)]
        usage = answering.cached_tokens if answering.asked.include_usage else None
        return list(later_chunks(answering.head, reply, usage))


@asynccontextmanager
async def listening(endpoint: Endpoint, host: str, port: int) -> AsyncIterator[str]:
    """Serves while the block runs; yields the base URL. `port` 0 = any that is free.

    Raises `ConfigError` if nothing can listen there.
    """
    runner = web.AppRunner(
        endpoint.app(),
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=KEEP_ALIVE_S * running_scale(),
        shutdown_timeout=SHUTDOWN_S * running_scale(),
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=BACKLOG)
        try:
            await site.start()
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            found = "found it taken" if taken else f"found {error.strerror or error}"
            raise ConfigError(
                f"{host}:{port}: expected an address to listen on, {found}; choose another with "
                "--host and --port (--port 0 = any free port)"
            ) from None
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def _refusal(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> web.Response:
    body = error_body(message, "invalid_request_error", param=param, code=code)
    return web.json_response(body, status=status)


def _failure(error: LLMError, time_scale: float) -> web.Response:
    if isinstance(error, Fatal):
        return _refusal(400, str(error))
    headers = {}
    hint_s = getattr(error, "retry_after_s", None)
    if hint_s is not None:
        wait_s = hint_s / time_scale
        # The standard's header knows whole seconds only; OpenAI sends the other one beside it.
        headers["retry-after"] = str(math.ceil(wait_s))
        headers["retry-after-ms"] = str(math.ceil(1000 * wait_s))
    if isinstance(error, RateLimited):
        body = error_body(str(error), "requests", code="rate_limit_exceeded")
        return web.json_response(body, status=429, headers=headers)
    return web.json_response(error_body(str(error), "server_error"), status=503, headers=headers)


def _bug(error: Exception) -> dict[str, Any]:
    """Logs what should not have happened; returns what the client is told of it."""
    _LOG.error("a request failed by a bug of the server", exc_info=error)
    return error_body(f"a bug of the server: {_one_line(error)}", "server_error")


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
