"""The shared aiohttp session: one per event loop, whatever the number of models.

A session is opened by its first lease and closed with its last one, on the loop that uses it. It
keeps no cookies, and no limit on connections: the limiter alone decides how many requests run.
"""

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import WeakKeyDictionary

from flashevolve._version import __version__

if TYPE_CHECKING:
    from aiohttp import ClientSession

KEEP_ALIVE_S = 4.0
"""Below the 5 s after which uvicorn (vLLM, SGLang) closes an idle connection: a request sent into
a closing connection is lost, and may have been billed."""


class SessionLease:
    """A share in the running loop's session."""

    _open: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, Any]] = WeakKeyDictionary()
    """Loop -> (its session, the leases on it)."""

    def __init__(self, session: "ClientSession", holders: "set[SessionLease]") -> None:
        self.session = session
        self._holders = holders

    @classmethod
    def take(cls) -> Self:
        """Returns a lease on the running loop's session, which is opened if need be."""
        loop = asyncio.get_running_loop()
        if loop not in cls._open:
            cls._open[loop] = _new_session(), set()
        session, holders = cls._open[loop]
        lease = cls(session, holders)
        holders.add(lease)
        return lease

    async def release(self) -> None:
        """Gives the share back; the last one closes the session. Harmless when repeated."""
        if self not in self._holders:
            return
        self._holders.discard(self)
        if not self._holders:
            del self._open[asyncio.get_running_loop()]
            await self.session.close()


def _new_session() -> "ClientSession":
    import aiohttp

    # A fresh context reads SSL_CERT_FILE and SSL_CERT_DIR as they are now; aiohttp's own is built
    # when it is imported.
    connector = aiohttp.TCPConnector(
        limit=0, ssl=ssl.create_default_context(), keepalive_timeout=KEEP_ALIVE_S
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"flashevolve/{__version__}"},
    )
