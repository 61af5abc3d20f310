"""A scripted OpenAI-compatible endpoint on loopback, as hostile as its script says.

`async with Endpoint(script) as e:` serves on the running loop, `with Endpoint(script) as e:` in a
thread of its own. `script` is a sequence of steps, one per request in order of arrival, the last of
which repeats; or a function from the received request to a step. `e.received` lists what came.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

REASONS = {200: "OK", 401: "Unauthorized", 429: "Too Many Requests"}


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request, as it arrived."""

    path: str
    """With its query string."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """The decoded JSON."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What the endpoint does with one request."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    latency_s: float = 0.0
    then: Literal["answer", "cut", "hang_up", "silence"] = "answer"
    """`cut` closes the connection in the middle of the body, `hang_up` before the status line;
    `silence` keeps the request and never answers."""


Script = Sequence[Step] | Callable[[Received], Step]


def answer(text: str | None = "ok", *, latency_s: float = 0.0, **choice: Any) -> Step:
    """A normal answer; `choice` may set finish, reasoning, refusal, tool_calls, usage, content."""
    message: dict[str, Any] = {"role": "assistant", "content": choice.get("content", text)}
    for key, name in (("reasoning", "reasoning_content"), ("refusal", "refusal")):
        if key in choice:
            message[name] = choice[key]
    if "tool_calls" in choice:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in choice["tool_calls"]
        ]
    usage = choice.get("usage", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
    finish = choice.get("finish", "stop")
    completion = {
        "object": "chat.completion",
        "model": "fake-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }
    return Step(body=json.dumps(completion).encode(), latency_s=latency_s)


def status(
    code: int, message: str = "no", *, error_code: str | None = None, **headers: str
) -> Step:
    """An answer with an error status; underscores in header names become dashes."""
    body = {"error": {"message": message, "type": "fake", "code": error_code}}
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Step(status=code, body=json.dumps(body).encode(), headers=sent)


def rate_limited(retry_after: str | None = None) -> Step:
    """A 429, with or without a Retry-After."""
    return status(429, "slow down", **({"retry_after": retry_after} if retry_after else {}))


def garbage(body: bytes = b'{"choices": [') -> Step:
    """A 200 whose body is not what it should be."""
    return Step(body=body)


CUT = Step(body=answer().body, then="cut")
HANG_UP = Step(then="hang_up")
SILENCE = Step(then="silence")


class Endpoint:
    """The server. `key`: a request without this bearer key gets a 401 that quotes what it sent."""

    def __init__(self, script: Script = (), *, key: str | None = None) -> None:
        self.received: list[Received] = []
        self.base_url = ""
        self._script = script or (answer(),)
        self._key = key
        self._arrived = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._thread: threading.Thread | None = None
        self._thread_loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        await self._server.wait_closed()

    def __enter__(self) -> Self:
        started = threading.Event()

        async def serve() -> None:
            self._thread_loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            async with self:
                started.set()
                await self._stop.wait()

        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        self._thread.start()
        assert started.wait(10), "the fake endpoint did not start"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._thread is not None
        assert self._thread_loop is not None
        self._thread_loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def bodies(self) -> list[Any]:
        """The JSON bodies received, in order."""
        return [r.body for r in self.received]

    async def until_received(self, n: int) -> None:
        """Returns once `n` requests have arrived; only on the loop that serves."""
        while len(self.received) < n:
            self._arrived.clear()
            await self._arrived.wait()

    def step(self, received: Received) -> Step:
        """Records a request and returns what to do with it."""
        self.received.append(received)
        self._arrived.set()
        sent = received.headers.get("authorization", "")
        if self._key is not None and sent != f"Bearer {self._key}":
            return status(401, f"Incorrect API key provided: {sent.removeprefix('Bearer ')}")
        if callable(self._script):
            return self._script(received)
        return self._script[min(len(self.received), len(self._script)) - 1]


class _Connection(asyncio.Protocol):
    """One keep-alive connection; reads a request at a time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._buffer = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._endpoint._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._endpoint._connections.discard(self)

    def close(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = bytes(self._buffer).partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        n_body = int(headers.get("content-length", "0"))
        if len(rest) < n_body:
            return
        del self._buffer[: len(head) + 4 + n_body]
        received = Received(
            path=first.split(" ")[1], headers=headers, body=json.loads(rest[:n_body] or b"null")
        )
        step = self._endpoint.step(received)
        if step.latency_s:
            asyncio.get_running_loop().call_later(step.latency_s, self._do, step)
        else:
            self._do(step)

    def _do(self, step: Step) -> None:
        if step.then == "silence" or self._transport.is_closing():
            return
        if step.then == "hang_up":
            self._transport.close()
            return
        headers = {
            "content-type": "application/json",
            "content-length": str(len(step.body)),
            **step.headers,
        }
        lines = [f"HTTP/1.1 {step.status} {REASONS.get(step.status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        if step.then == "cut":
            self._transport.write(head + step.body[: len(step.body) // 2])
            self._transport.close()
        else:
            self._transport.write(head + step.body)
