"""Gateway: the one address of a run to which user code may send requests of its own.

Nothing listens before the first one asks for the address. It is bound at that moment, in whatever
thread that is; the server starts on the run's loop, and who connects before waits in the backlog.
It listens on this machine alone, and answers those alone who hold the token of an open door.
"""

import asyncio
import errno
import socket
import threading
from typing import TYPE_CHECKING

from flashevolve.errors import ConfigError
from flashevolve.llm.gateway.bodies import Known
from flashevolve.llm.gateway.door import Asking, Door

if TYPE_CHECKING:
    from flashevolve.llm.gateway.server import Server

HOST = "127.0.0.1"
BACKLOG = 2048
"""Connections that may wait to be accepted: agents open hundreds in one instant."""


class Gateway:
    """A run's gateway; belongs to the running loop. Close it after use."""

    def __init__(self, known: Known, port: int = 0) -> None:
        """`port` 0 = any that is free."""
        self.known = known
        self.doors: dict[str, Door] = {}
        """Token -> the open door that it is for."""
        self._port = port
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._address: str | None = None
        self._server: Server | None = None

    def door(self, ask: Asking) -> Door:
        """Returns a new way in, closed to others until its token is asked for."""
        return Door(self, ask)

    def address(self) -> str:
        """Returns the base URL, for any thread; listens from now on.

        Raises `ConfigError` if it cannot.
        """
        with self._lock:
            if self._address is None:
                self._address = self._open()
            return self._address

    async def close(self) -> None:
        """Stops to listen; harmless if it never did."""
        if self._server is not None:
            await self._server.stop()

    def _open(self) -> str:
        from flashevolve.llm.gateway.server import Server

        if hasattr(self._loop, "call_from_thread"):
            raise ConfigError(
                "ctx.base_url: expected models in real time, found simulated ones in virtual time, "
                "which a client of your own cannot wait in. Use ctx.chat, or start the world with "
                "`flashevolve sim` and give the model its address as base_url"
            )
        listener = _listener(self._port)
        server = self._server = Server(self.doors, self.known, listener)
        self._loop.call_soon_threadsafe(server.start)
        return f"http://{HOST}:{listener.getsockname()[1]}/v1"


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        found = "found it taken" if taken else f"found {error.strerror or error}"
        raise ConfigError(
            f"gateway.port: expected a free port on {HOST}, {found}: {port}. Choose another, or "
            "leave it out for any free one"
        ) from None
    listener.setblocking(False)
    return listener
