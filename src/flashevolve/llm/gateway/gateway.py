"""Gateway: the one address of a run to which user code may send requests of its own.

Nothing listens before the first one asks for the address, unless a port was chosen, which is taken
when the run begins. It is bound at that moment, in whatever thread that is; the server starts on
the run's loop, and who connects before waits in the backlog.
It listens on this machine alone, and answers those alone who hold the token of an open door.

In virtual time the run's loop cannot serve: the server has a thread and a loop of its own.
"""

import asyncio
import errno
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from flashevolve.engine.threads import DaemonThreads
from flashevolve.errors import ConfigError
from flashevolve.llm.gateway.bodies import Known
from flashevolve.llm.gateway.door import Asking, Door, Ended, Port
from flashevolve.llm.gateway.environment import exempt_loopback
from flashevolve.llm.gateway.watch import Watch

if TYPE_CHECKING:
    from flashevolve.llm.gateway.server import Server

Work = Callable[[], Coroutine[Any, Any, Any]]

HOST = "127.0.0.1"
BACKLOG = 2048
"""Connections that may wait to be accepted: agents open hundreds in one instant."""

CLOSE_S = 5.0
"""Seconds after which a server in a thread of its own is left behind; it is a daemon's."""
MANY = 100_000
"""More threads than any run has user functions under way; each is started when it is needed."""


class Gateway:
    """A run's gateway; belongs to the running loop. Close it after use."""

    def __init__(self, known: Known, port: int = 0, key_envs: Iterable[str] = ()) -> None:
        """`port` 0 = any that is free; `key_envs` are the variables that hold the models' keys."""
        self.known = known
        self.key_envs = frozenset(key_envs)
        self._listener: socket.socket | None = None
        self.doors: dict[str, Door] = {}
        """Token -> the open door that it is for."""
        self._port = port
        self._loop = asyncio.get_running_loop()
        self.is_virtual = hasattr(self._loop, "port_of_thread")
        self._lock = threading.Lock()
        self._address: str | None = None
        self._server: Server | None = None
        self._watch: Watch | None = None
        self._thread: threading.Thread | None = None
        self._thread_loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event
        # One that waits for a thread to be free would keep virtual time from ever going on.
        self._threads = DaemonThreads(MANY, "flashevolve-gateway-port")

    def reserve(self) -> None:
        """Takes a port that was chosen, so that a run does not begin without it.

        Raises `ConfigError` if it cannot. Who connects waits until user code asks for the address.
        """
        if self._port:
            self._listener = _listener(self._port)

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

    def port_of_thread(self) -> Port | None:
        """Returns how this thread waits for the loop in virtual time; None in real time."""
        port_of_thread: Callable[[], Port] | None = getattr(self._loop, "port_of_thread", None)
        return None if port_of_thread is None else port_of_thread()

    async def ported(self, port: Port, work: Work) -> Any:
        """Has work done on the loop in virtual time, in the name of the thread that waits there.

        Cancelled before it is that thread's turn, the work never begins; later it goes on.
        Raises `Ended` if what that thread works for is over or cancelled meanwhile.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, partial(_ported, port, work)
        )

    async def close(self) -> None:
        """Stops to listen; harmless if it never did."""
        if self._server is None:
            if self._listener is not None:
                self._listener.close()
            return
        if self._thread is None:
            assert self._watch is not None
            self._watch.stop()
            await self._server.stop()
            return
        assert self._thread_loop is not None
        self._thread_loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(CLOSE_S)
        self._threads.shutdown()

    def _open(self) -> str:
        from flashevolve.llm.gateway.server import Server

        listener = self._listener or _listener(self._port)
        exempt_loopback(os.environ)
        server = self._server = Server(self.doors, self.known, listener)
        if self.is_virtual:
            started = threading.Event()
            serve = partial(asyncio.run, self._serve(server, started))
            self._thread = threading.Thread(target=serve, name="flashevolve-gateway", daemon=True)
            self._thread.start()
            started.wait()
        else:
            self._loop.call_soon_threadsafe(server.start)
            self._watch = Watch(self._loop, listener, self.doors, server.adopt)
        return f"http://{HOST}:{listener.getsockname()[1]}/v1"

    async def _serve(self, server: "Server", started: threading.Event) -> None:
        """Serves in a thread, until the run ends."""
        self._thread_loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        started.set()
        server.start()
        await self._stopping.wait()
        await server.stop()


def _ported(port: Port, work: Work) -> Any:
    try:
        return port(work())
    except asyncio.CancelledError:
        raise Ended from None


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
