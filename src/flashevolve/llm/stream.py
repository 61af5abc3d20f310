"""Streams: server-sent events read as they arrive, and their chunks put together to an answer.

A chunk is relayed before the next byte is waited for. What is put together has the shape of a whole
chat completion, so that one reader serves both. An answer is whole once its chunks told why it
ended, or the stream that it is over; anything else was cut.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from flashevolve.llm.model import Relay
from flashevolve.llm.wire import Unreadable, decode

if TYPE_CHECKING:
    from aiohttp import ClientResponse

DONE = b"[DONE]"
"""The last event of an OpenAI stream."""
DRAIN_S = 1.0
"""How long the end of a body may come after that event; it is nearly always in the same packet."""
_LAST_WINS = frozenset({"role", "id", "type", "index"})
"""Texts of a delta that are said again rather than continued."""
_LONG = frozenset({"content", "reasoning_content", "reasoning", "refusal"})
"""Texts that come in thousands of pieces, which are joined once, at the end."""


class Events:
    """Cuts a stream of bytes into the data of its events; lines end in LF or CRLF.

    A lone CR, which the standard allows too, no endpoint sends: it does not end a line here.

    Comments (hosts send them to keep the connection) and fields other than `data` say nothing to
    us; several `data` lines of one event are one text.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yields the data of each event that `piece` completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n") if self._rest else piece.split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data = []

    def end(self) -> Iterator[bytes]:
        """Yields the event that the end of the stream completes, if any."""
        yield from self.feed(b"\n\n" if self._rest else b"\n")


class Assembly:
    """The answer of a stream, as far as it came: choice 0, the only one that is asked for."""

    def __init__(self) -> None:
        self.done = False
        """Whether the stream said that it is over."""
        self._head: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}

    @property
    def whole(self) -> bool:
        """Whether nothing of the answer is missing."""
        return bool(self._choice.get("finish_reason")) or (
            self.done and bool(self._message or self._texts)
        )

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Takes one chunk in. Raises `Unreadable` if it is none."""
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            raise Unreadable("expected a list 'choices' in each chunk, found none")
        if not all(isinstance(choice, dict) for choice in choices):
            raise Unreadable("expected objects in 'choices' of each chunk, found another")
        for name in ("model", "usage", "system_fingerprint"):
            if chunk.get(name):
                self._head[name] = chunk[name]
        for choice in choices:
            if choice.get("index"):
                continue
            # Some hosts send a whole message in their last or only chunk.
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                self._add_delta(delta)
            rest = {k: v for k, v in choice.items() if k not in ("delta", "message", "index")}
            logprobs = rest.pop("logprobs", None)
            if isinstance(logprobs, dict):
                _merge(self._choice.setdefault("logprobs", {}), logprobs)
            self._choice.update((k, v) for k, v in rest.items() if v is not None)

    def completion(self) -> dict[str, Any]:
        """Returns what came, in the shape of a whole chat completion."""
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        choice = {"index": 0, "message": {**self._message, **texts}, **self._choice}
        return {**self._head, "choices": [choice]}

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        rest: dict[str, Any] = {}
        for name, value in delta.items():
            if name in _LONG and isinstance(value, str):
                self._texts.setdefault(name, []).append(value)
            else:
                rest[name] = value
        _merge(self._message, rest)


def _merge(told: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Adds to what was told before: texts and lists grow, whatever else is there is replaced."""
    for name, value in delta.items():
        before = told.get(name)
        if value is None or (value == "" and before is not None):
            continue
        if isinstance(value, str) and isinstance(before, str) and name not in _LAST_WINS:
            # Some hosts repeat the name of a tool with each piece of its arguments.
            if name != "name" or value != before:
                told[name] = before + value
        elif isinstance(value, dict):
            if not isinstance(before, dict):
                before = told[name] = {}
            _merge(before, value)
        elif isinstance(value, list):
            entries = before if isinstance(before, list) else told.setdefault(name, [])
            _merge_entries(entries, value, by_index=name == "tool_calls")
        else:
            told[name] = value


def _merge_entries(told: list[Any], pieces: list[Any], *, by_index: bool) -> None:
    for piece in pieces:
        if not by_index:
            told.append(piece)
            continue
        if not isinstance(piece, dict):
            raise Unreadable("expected objects in 'tool_calls', found something else")
        entry = _entry(told, piece)
        if entry is None:
            told.append(entry := {})
        _merge(entry, piece)


def _entry(told: list[Any], piece: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the call that `piece` continues; None if it begins one."""
    index, call_id = piece.get("index"), piece.get("id")
    if call_id:
        # Some hosts give every call the index 0, or none, and tell them apart by id.
        told = [entry for entry in told if entry.get("id") in (None, "", call_id)]
    if index is not None:
        told = [entry for entry in told if entry.get("index") == index]
    return told[-1] if told else None


class RelayFailed(Exception):
    """Whoever wanted the chunks raised; `error` is what."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class ErrorChunk(Exception):
    """The endpoint reported an error in the middle of a stream; `data` is its chunk."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__("an error instead of a chunk")
        self.data = data


class StreamReader:
    """Reads one response: relays its chunks at once, and puts the answer together.

    `secrets` are bytes that no chunk may hold. An answer that is no stream is read whole.
    """

    def __init__(self, relay: Relay, secrets: Sequence[bytes]) -> None:
        self.answer = Assembly()
        self.is_stream = False
        self.headers: Mapping[str, str] = {}
        self._relay = relay
        self._secrets = secrets

    async def read(self, response: "ClientResponse") -> bytes:
        """Returns the body of an answer that is no stream, and nothing of one that is.

        Raises `RelayFailed`, `ErrorChunk`, `Unreadable`, and what the connection raises.
        """
        self.headers = response.headers
        if response.status != 200 or response.content_type != "text/event-stream":
            return await response.read()
        self.is_stream = True
        events = Events()
        async for piece in response.content.iter_any():
            for data in events.feed(piece):
                self._take(data)
            if self.answer.done:
                # Only a connection that was read to its end can be used again.
                with suppress(TimeoutError):
                    async with asyncio.timeout(DRAIN_S):
                        await response.read()
                return b""
        for data in events.end():
            self._take(data)
        return b""

    def _take(self, data: bytes) -> None:
        if data == DONE or self.answer.done:
            self.answer.done = True
            return
        chunk = decode(without(self._secrets, data))
        if chunk.get("error"):
            raise ErrorChunk(chunk)
        self.answer.add(chunk)
        try:
            self._relay(chunk)
        except Exception as error:  # the caller's own: it passes as it is
            raise RelayFailed(error) from error


def without(secrets: Sequence[bytes], text: bytes) -> bytes:
    """Returns what an endpoint sent with every secret that it echoes hidden."""
    for secret in secrets:
        text = text.replace(secret, b"***")
    return text
