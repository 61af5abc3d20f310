"""The client of the peers' own code: chat completions over kept-alive connections, one per thread.

As thin as it can be, so that what an optimizer takes is the optimizer's.
"""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import local
from typing import Any
from urllib.parse import urlsplit

from flashevolve.bench.realtime.brief import MODEL
from flashevolve.errors import DataError

Turns = Sequence[Mapping[str, Any]]
TIMEOUT_S = 600.0


class Client:
    """Asks one base URL; safe for threads."""

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        self._host = parts.netloc
        self._path = f"{parts.path}/chat/completions"
        self._kept = local()
        self._all: list[HTTPConnection] = []

    def complete(self, messages: Turns) -> str:
        """Returns the answer's text. Raises `DataError` for anything but an answer."""
        body = json.dumps({"model": MODEL, "messages": list(messages)}).encode()
        connection: HTTPConnection | None = getattr(self._kept, "connection", None)
        if connection is None:
            connection = self._kept.connection = HTTPConnection(self._host, timeout=TIMEOUT_S)
            self._all.append(connection)
        connection.request("POST", self._path, body, {"content-type": "application/json"})
        response = connection.getresponse()
        told = response.read()
        if response.status != 200:
            raise DataError(
                f"bench: expected an answer of the endpoint, found status {response.status}: "
                f"{told[:200].decode(errors='replace')}"
            )
        return str(json.loads(told)["choices"][0]["message"]["content"])

    def close(self) -> None:
        """Closes the connections of all threads."""
        for connection in self._all:
            connection.close()


class ReflectionLM:
    """A language model as gepa takes one, which answers several prompts at once."""

    def __init__(self, client: Client, pool: ThreadPoolExecutor) -> None:
        self._client = client
        self._pool = pool

    def __call__(self, prompt: str | Turns) -> str:
        """Returns the answer to a prompt, or to a conversation."""
        turns: Turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        return self._client.complete(turns)

    def batch_complete(self, messages_list: Sequence[Turns]) -> list[str]:
        """Returns the answers to several conversations, all asked at once."""
        return list(self._pool.map(self._client.complete, messages_list))
