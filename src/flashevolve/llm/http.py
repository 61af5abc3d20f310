"""HTTPModel: OpenAI's chat completions and embeddings over aiohttp (vLLM, Ollama, Azure, hosted).

One request, one answer or one typed error: no retry, no limit, no count. No key is in any message,
`repr` or exception, nor in a reply of an endpoint that echoes what it got.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlsplit
from urllib.request import getproxies, proxy_bypass

from flashevolve.errors import ConfigError
from flashevolve.llm.embeddings import Embeddings, EmbedRequest, encode_embed, read_embeddings
from flashevolve.llm.errors import Fatal, LLMError, Transient
from flashevolve.llm.failures import Where, from_status
from flashevolve.llm.hosts import is_local
from flashevolve.llm.messages import Reply, Request
from flashevolve.llm.model import Relay
from flashevolve.llm.secrets import MIN_SECRET_CHARS, holds_secret, secrets_of
from flashevolve.llm.session import SessionLease
from flashevolve.llm.stream import ErrorChunk, RelayFailed, StreamReader, without
from flashevolve.llm.wire import (
    MaxTokensField,
    Unreadable,
    decode,
    encode,
    max_tokens_field,
    read_reply,
    reserved_key,
    world_of,
)

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, ClientTimeout

    Read = Callable[[ClientResponse], Awaitable[bytes]]

Answer = TypeVar("Answer")

CONNECT_TIMEOUT_S = 15.0
"""Name look-up, TCP and TLS together; a host that needs longer is down, and a retry costs nothing
since nothing was sent."""


class HTTPModel:
    """A model behind an OpenAI-compatible endpoint.

    `base_url` is what the OpenAI client would be given (with or without `/chat/completions`; a
    query string such as Azure's `?api-version=…` stays at the end). `extra_headers` override ours.
    Raises `ConfigError` for a URL, key, header or `extra_body` that cannot be sent.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        api_key: str | None = None,
        *,
        key_env: str | None = None,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
        send_seed: bool = False,
        max_tokens_field_name: MaxTokensField | None = None,
        session: "ClientSession | None" = None,
    ) -> None:
        parts = _checked_url(base_url)
        if problem := reserved_key(extra_body or {}):
            raise ConfigError(f"model {name!r}: {problem}")
        self.name = name
        self._chat_url = _url(parts, "/chat/completions")
        self._embed_url = _url(parts, "/embeddings")
        self._extra_body = dict(extra_body or {})
        self._where = Where(
            endpoint=f"{parts.scheme}://{parts.netloc}{parts.path}", model=name, key_env=key_env
        )
        self._headers = _headers(parts.hostname or "", api_key, key_env, extra_headers or {})
        self._secrets = _secrets(api_key, extra_headers or {}, parts.query, self._extra_body)
        self._proxy = _proxy(parts)
        self._send_seed = send_seed
        self._streams_usage = True
        self._tokens_field = max_tokens_field_name or max_tokens_field(name)
        self._session = session
        self._lease: SessionLease | None = None
        self._timeouts: dict[float, ClientTimeout] = {}

    def __repr__(self) -> str:
        return f"HTTPModel({self.name!r}, {self._where.endpoint!r})"

    async def complete(self, request: Request) -> Reply:
        """Answers one request, or raises the `LLMError` that says what has to be done."""
        blob = self._encoded(request)
        return self._reply(*await self._post(self._chat_url, blob, request.timeout_s))

    async def embed(self, request: EmbedRequest) -> Embeddings:
        """Returns the vectors of texts, or raises the `LLMError` that says what has to be done."""
        blob = encode_embed(self.name, request, self._extra_body)
        status, headers, body = await self._post(self._embed_url, blob, request.timeout_s)
        n = len(request.inputs)
        return self._read(status, headers, body, lambda data: read_embeddings(data, n))

    async def stream(self, request: Request, relay: Relay) -> Reply:
        """Answers as `complete` does; `relay` gets each chunk as it arrives."""
        try:
            return await self._stream(request, relay)
        except Fatal as error:
            if not self._streams_usage or "stream_options" not in str(error):
                raise
        # Some endpoints know no such field; they may tell the usage all the same.
        self._streams_usage = False
        return await self._stream(request, relay)

    async def _stream(self, request: Request, relay: Relay) -> Reply:
        reader = StreamReader(relay, self._secrets)
        blob = self._encoded(request, stream=True)
        failure: Exception | None = None
        try:
            status, headers, body = await self._post(
                self._chat_url, blob, request.timeout_s, reader.read
            )
        except RelayFailed as failed:
            failure = failed.error
        except ErrorChunk as told:
            failure = self._told_in_stream(told.data, reader)
        except Unreadable as error:
            failure = Transient(
                f"{self._where.endpoint} sent an unusable chunk: {error}", billed_unknown=True
            )
        except Transient as lost:
            # What is lost after the end of an answer is its usage at most.
            failure, status, headers = (None if reader.answer.whole else lost), 200, reader.headers
        if failure is not None:
            raise failure
        if not reader.is_stream:
            return self._reply(status, headers, body)
        if not reader.answer.whole:
            problem = f"{self._where.endpoint}: the stream ended before the answer did"
            raise Transient(problem, billed_unknown=True)
        return self._reply(200, headers, json.dumps(reader.answer.completion()).encode())

    def _told_in_stream(self, data: Mapping[str, Any], reader: StreamReader) -> LLMError:
        try:
            error = self._error_in_200(data, reader.headers)
        except Unreadable as unreadable:
            error = Transient(f"{self._where.endpoint} broke off its stream with {unreadable}")
        # What had been generated until then is billed like any other answer.
        error.billed_unknown = True
        return error

    def _encoded(self, request: Request, *, stream: bool = False) -> bytes:
        return encode(
            self.name,
            request,
            tokens_field=self._tokens_field,
            extra_body=self._extra_body,
            send_seed=self._send_seed,
            stream=stream,
            stream_usage=self._streams_usage,
        )

    def _reply(self, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
        return self._read(
            status, headers, body, lambda data: read_reply(data, world_of(headers, data))
        )

    def _read(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        read: Callable[[dict[str, Any]], Answer],
    ) -> Answer:
        body = without(self._secrets, body)
        if not 200 <= status < 300:
            raise from_status(self._where, status, headers, _error_body(body), time.time())
        try:
            data = decode(body)
            if "error" in data and not ("choices" in data or "data" in data):
                raise self._error_in_200(data, headers)
            return read(data)
        except Unreadable as error:
            problem = f"{self._where.endpoint} answered {status} with an unusable body: {error}"
        raise Transient(problem, billed_unknown=True)

    async def close(self) -> None:
        """Gives up the share in the session. Called once, after the last request."""
        if self._lease is not None:
            await self._lease.release()
            self._lease = None

    async def _post(
        self, url: str, blob: bytes, timeout_s: float, read: "Read | None" = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Returns (status, headers, what `read` read; None = the whole body).

        Raises `Transient` or `Fatal` if there is no answer, and what is `read`'s own.
        """
        import aiohttp

        if self._session is None:
            self._lease = SessionLease.take()
            self._session = self._lease.session
        status: int | None = None
        headers: Mapping[str, str] = {}
        try:
            async with self._session.post(
                url,
                data=blob,
                headers=self._headers,
                timeout=self._timeout(timeout_s),
                proxy=self._proxy,
                allow_redirects=False,
            ) as response:
                status, headers = response.status, response.headers
                return status, headers, await (read(response) if read else response.read())
        except (aiohttp.ClientError, OSError) as error:
            if status is not None and not 200 <= status < 300:
                return status, headers, b""
            failure = self._no_answer(error, timeout_s)
        # Raised out here: aiohttp's exceptions may hold the request's headers, and with them a key.
        raise failure

    def _no_answer(self, error: Exception, timeout_s: float) -> LLMError:
        import aiohttp

        endpoint = self._where.endpoint
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return Fatal(
                f"{endpoint}: its certificate is not trusted ({error.certificate_error}). "
                "Next: point SSL_CERT_FILE at the certificate of the authority that signed it."
            )
        # These happen before the first byte of the request is sent.
        unsent = isinstance(
            error,
            aiohttp.ClientConnectorError
            | aiohttp.ConnectionTimeoutError
            | aiohttp.ClientHttpProxyError,
        )
        if isinstance(error, TimeoutError):
            waited = f"no connection within {_connect_s(timeout_s):g} s" if unsent else "no answer"
            problem = f"{endpoint}: {waited} (timeout_s = {timeout_s:g})"
        else:
            # The text of a response error shows the whole URL, whose query may hold a key.
            told = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
            words = " ".join(told.split()) or type(error).__name__
            problem = f"{endpoint}: connection lost: {words}"
        return Transient(problem, billed_unknown=not unsent)

    def _error_in_200(self, data: Mapping[str, Any], headers: Mapping[str, str]) -> LLMError:
        """Returns the error of a proxy that had sent its 200 before its upstream failed."""
        error = data["error"]
        code = error.get("code") if isinstance(error, dict) else None
        if type(code) is int and 400 <= code < 600:
            return from_status(self._where, code, headers, data, time.time())
        raise Unreadable(f"an error without a status: {' '.join(str(error).split())[:200]}")

    def _timeout(self, timeout_s: float) -> "ClientTimeout":
        import aiohttp

        if timeout_s not in self._timeouts:
            deadlines = aiohttp.ClientTimeout(total=timeout_s, connect=_connect_s(timeout_s))
            self._timeouts = {timeout_s: deadlines}
        return self._timeouts[timeout_s]


def _connect_s(timeout_s: float) -> float:
    return min(CONNECT_TIMEOUT_S, timeout_s)


def _checked_url(base_url: str) -> SplitResult:
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"base_url must be a URL like http://127.0.0.1:8000/v1, found {_shown(base_url)!r}."
        )
    if parts.username or parts.password:
        raise ConfigError(
            f"base_url for {parts.hostname} must hold no user name or password. "
            "Put the key into an environment variable and name it in key_env."
        )
    return parts


def _shown(base_url: str) -> str:
    """Returns a URL without what may be secret in it."""
    return base_url.rpartition("@")[2].partition("?")[0]


def _url(parts: SplitResult, path: str) -> str:
    base = parts.path.rstrip("/").removesuffix("/chat/completions")
    return parts._replace(path=base + path, fragment="").geturl()


def _headers(
    host: str, api_key: str | None, key_env: str | None, extra: Mapping[str, str]
) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if api_key:
        if host.endswith(".azure.com"):
            headers["api-key"] = api_key
        else:
            headers["authorization"] = f"Bearer {api_key}"
    for name, value in extra.items():
        headers[name.lower()] = value
    for name, value in headers.items():
        # Checked here, since the error of a failed send would quote the value.
        if not (value.isascii() and value.isprintable() and name.isascii() and name.isprintable()):
            source = f"the key in {key_env}" if key_env else f"the header {name!a}"
            raise ConfigError(
                f"model endpoint {host}: {source} must be printable ASCII, found other characters. "
                "Was it copied with a line break or a quotation mark?"
            )
    return headers


def _secrets(
    api_key: str | None, extra_headers: Mapping[str, str], query: str, body: dict[str, Any]
) -> list[bytes]:
    words = [api_key or "", *secrets_of(body)]
    for value in extra_headers.values():
        words += value.split()
    # Some gateways take the key as `?key=…`; an api-version beside it is no secret.
    words += [v for name, v in parse_qsl(query) if holds_secret(name)]
    return [w.encode() for w in dict.fromkeys(words) if len(w) >= MIN_SECRET_CHARS]


def _proxy(parts: SplitResult) -> str | None:
    """Returns the proxy that the environment prescribes; none on the way to this machine."""
    host = parts.hostname or ""
    proxy = getproxies().get(parts.scheme)
    if proxy is None or is_local(host) or proxy_bypass(parts.netloc):
        return None
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise ConfigError(
            f"{parts.scheme.upper()}_PROXY must be an http:// or https:// URL, found the scheme "
            f"{urlsplit(proxy).scheme!r}. Unset it, or add {host} to NO_PROXY."
        )
    return proxy


def _error_body(body: bytes) -> Any:
    try:
        return decode(body)
    except Unreadable:
        return body.decode(errors="replace")
