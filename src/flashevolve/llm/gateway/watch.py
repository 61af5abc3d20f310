"""Watch: sees that a request waits for a loop which its own sender has stopped.

An `async def` that asks by way of a synchronous client stops the loop that is to answer it, for
ever. Such a loop can do nothing about it, so a thread looks on: it has the loop give a sign of
life, and if none comes for `BLOCKED_S`, it takes the connections that wait. One with the token of
an async function is told what is wrong, and its door remembers; all others are handed to the loop,
which serves them when it goes on. A call costs nothing.

What waits on a connection that was open before is not seen.
"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from flashevolve.errors import ConfigError
from flashevolve.llm.served import error_body

if TYPE_CHECKING:
    from flashevolve.llm.gateway.door import Door

BLOCKED_S = 5.0
"""Without a sign of life from the loop."""
LOOK_S = 1.0
HEAD_S = 1.0
"""That a client has to send its headers."""
MAX_HEAD_BYTES = 65_536


class Watch:
    """Looks on from a thread until it is stopped."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        doors: Mapping[str, "Door"],
        adopt: Callable[[socket.socket], None],
        blocked_s: float = BLOCKED_S,
    ) -> None:
        """`adopt` is called on the loop, with connections that it is to serve after all."""
        self._loop, self._listener, self._doors, self._adopt = loop, listener, doors, adopt
        self._blocked_s = blocked_s
        self._alive_s = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, name="flashevolve-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; called on the loop."""
        self._stopped.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stopped.wait(min(LOOK_S, self._blocked_s / 5)):
            with suppress(RuntimeError):  # A loop that closed meanwhile.
                self._loop.call_soon_threadsafe(self._live)
            if time.monotonic() - self._alive_s > self._blocked_s:
                self._take()

    def _live(self) -> None:
        self._alive_s = time.monotonic()

    def _take(self) -> None:
        """Takes the connections that wait."""
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # None waits, or the run ends.
            door = self._doors.get(_token(connection))
            if door is not None and door.is_async:
                error = ConfigError(
                    "run or score is an `async def`, and has kept the event loop waiting for "
                    f"{self._blocked_s:g} s, and with it a request of its own. Use a client that "
                    "is awaited (openai.AsyncOpenAI), or make it a plain def"
                )
                door.broken = error
                _refuse(connection, str(error))
            else:
                connection.setblocking(False)
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._adopt, connection)


def _token(connection: socket.socket) -> str:
    """Returns the token of the request that waits, which stays to be read."""
    connection.settimeout(HEAD_S)
    head = b""
    until_s = time.monotonic() + HEAD_S
    with suppress(OSError):
        while b"\r\n\r\n" not in head and time.monotonic() < until_s:
            head = connection.recv(MAX_HEAD_BYTES, socket.MSG_PEEK)
            if not head or len(head) == MAX_HEAD_BYTES:
                break
    for line in head.decode("latin-1").split("\r\n\r\n")[0].split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "authorization" and value.strip()[:7].lower() == "bearer ":
            return value.strip()[7:].strip()
        if name.lower() == "api-key":
            return value.strip()
    return ""


def _refuse(connection: socket.socket, problem: str) -> None:
    body = json.dumps(error_body(problem, "invalid_request_error")).encode()
    head = (
        "HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\nx-should-retry: false\r\n\r\n"
    )
    with connection, suppress(OSError):
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(MAX_HEAD_BYTES):  # Unread bytes would reset what was answered.
            pass
