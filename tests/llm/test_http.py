import asyncio
import re
import shutil
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from flashevolve.errors import ConfigError
from flashevolve.llm import session
from flashevolve.llm.errors import (
    Empty,
    Fatal,
    LLMError,
    RateLimited,
    Refused,
    Transient,
    Truncated,
)
from flashevolve.llm.http import HTTPModel
from flashevolve.llm.messages import Reply, Request, user
from tests.fakes.endpoint import (
    CUT,
    HANG_UP,
    SILENCE,
    Endpoint,
    Step,
    answer,
    garbage,
    rate_limited,
    status,
)

CANARY = "sk-canary-0123456789abcdef"
HELLO = Request(messages=(user("hello"),), timeout_s=20.0)


def ask(
    *script: Step,
    request: Request = HELLO,
    api_key: str | None = None,
    key: str | None = None,
    **options: Any,
) -> tuple[Reply, Endpoint]:
    async def run() -> tuple[Reply, Endpoint]:
        async with Endpoint(script, key=key) as endpoint:
            model = HTTPModel("m", endpoint.base_url, api_key, **options)
            try:
                return await model.complete(request), endpoint
            finally:
                await model.close()

    return asyncio.run(run())


def with_model(
    work: Callable[[HTTPModel, Endpoint], Awaitable[None]], *script: Step, **options: Any
) -> None:
    async def run() -> None:
        async with Endpoint(script) as endpoint:
            model = HTTPModel("m", endpoint.base_url, **options)
            try:
                await work(model, endpoint)
            finally:
                await model.close()

    asyncio.run(run())


def test_a_normal_answer_comes_back_with_its_usage() -> None:
    reply, endpoint = ask(answer("hi"), api_key=CANARY)
    assert reply == Reply(text="hi", tokens_in=10, tokens_out=5, model="fake-1")
    sent = endpoint.received[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {CANARY}"
    assert sent.headers["content-type"] == "application/json"


def test_without_a_key_no_authorization_is_sent() -> None:
    _, endpoint = ask(answer())
    assert "authorization" not in endpoint.received[0].headers


def test_extra_headers_override_ours_whatever_their_case() -> None:
    _, endpoint = ask(
        answer(), api_key=CANARY, extra_headers={"Authorization": "Custom abc", "X-Title": "t"}
    )
    assert endpoint.received[0].headers["authorization"] == "Custom abc"
    assert endpoint.received[0].headers["x-title"] == "t"


@pytest.mark.parametrize(
    ("suffix", "path"),
    [
        ("/", "/v1/chat/completions"),
        ("?api-version=2024-06-01", "/v1/chat/completions?api-version=2024-06-01"),
        ("/chat/completions", "/v1/chat/completions"),
        ("/a%2Fb", "/v1/a%2Fb/chat/completions"),
    ],
)
def test_the_path_is_appended_before_the_query(suffix: str, path: str) -> None:
    async def run() -> None:
        async with Endpoint() as endpoint:
            model = HTTPModel("m", endpoint.base_url + suffix)
            await model.complete(HELLO)
            await model.close()
            assert endpoint.received[0].path == path

    asyncio.run(run())


def test_azure_gets_its_key_in_its_own_header() -> None:
    model = HTTPModel("m", "https://x.openai.azure.com/openai/deployments/d?api-version=1", CANARY)
    assert model._headers["api-key"] == CANARY
    assert "authorization" not in model._headers


@pytest.mark.parametrize(
    ("step", "kind", "message"),
    [
        (rate_limited(), RateLimited, r"v1 answered 429: slow down\."),
        (status(500), Transient, "answered 500"),
        (status(503), Transient, "answered 503"),
        (status(408), Transient, "answered 408"),
        (status(409), Transient, "answered 409"),
        (status(401, "bad key"), Fatal, r"bad key\. Next: check the key in MY_KEY"),
        (status(403, "not yours"), Fatal, r"the key in MY_KEY may use the model 'm'"),
        (status(404, "no such model"), Fatal, "is the model name right"),
        (status(400, "top_q is unknown"), Fatal, "what the model 'm' accepts"),
        (status(302, location="/v2"), Fatal, "set base_url to the address"),
        (status(400, "no", error_code="content_filter"), Refused, "content filter refused"),
        (status(400, "n", error_code="context_length_exceeded"), Refused, "shorten the prompt"),
        (status(400, "This model's maximum context length is 8"), Refused, "shorten the prompt"),
        (status(429, "n", error_code="insufficient_quota"), Fatal, "add credit"),
        (Step(status=400, body=b"<html>nginx</html>"), Fatal, "answered 400: <html>nginx</html>"),
        (Step(status=502, body=answer().body, then="cut"), Transient, "answered 502"),
    ],
)
def test_a_status_becomes_its_typed_error_in_one_line_and_is_not_billed(
    step: Step, kind: type[LLMError], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        ask(step, key_env="MY_KEY")
    assert "\n" not in str(caught.value)
    assert not caught.value.billed_unknown


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (CUT, "connection lost"),
        (HANG_UP, "connection lost"),
        (garbage(), "unusable body: no JSON"),
        (garbage(b"[" * 100_000), "unusable body: no JSON"),
        (garbage(b"\xff\xfe{"), "unusable body: no JSON"),
        (garbage(b"[]"), "expected a JSON object, found list"),
        (garbage(b"{}"), "expected a list 'choices'"),
        (garbage(b'{"choices": [{"text": "old"}]}'), "expected an object 'choices"),
        (garbage(b'{"error": "upstream died"}'), "an error without a status: upstream died"),
        (Step(headers={"content-length": "x"}), "connection lost"),
    ],
)
def test_what_may_have_been_billed_is_transient_and_says_so(step: Step, message: str) -> None:
    with pytest.raises(Transient, match=message) as caught:
        ask(step)
    assert caught.value.billed_unknown


def test_silence_ends_at_the_requests_deadline() -> None:
    hurried = Request(messages=(user("hello"),), timeout_s=0.5)
    with pytest.raises(Transient, match=r"no answer \(timeout_s = 0\.5\)") as caught:
        ask(SILENCE, request=hurried)
    assert caught.value.billed_unknown


def test_a_refused_connection_is_transient_and_surely_unbilled() -> None:
    async def run() -> None:
        async with Endpoint() as endpoint:
            url = endpoint.base_url
        model = HTTPModel("m", url, CANARY)
        try:
            await model.complete(HELLO)
        finally:
            await model.close()

    with pytest.raises(Transient, match="connection lost") as caught:
        asyncio.run(run())
    assert not caught.value.billed_unknown


def test_a_connection_that_takes_too_long_is_surely_unbilled() -> None:
    model = HTTPModel("m", "http://host/v1")
    error = model._no_answer(aiohttp.ConnectionTimeoutError(), 60.0)
    assert str(error) == "http://host/v1: no connection within 15 s (timeout_s = 60)"
    assert isinstance(error, Transient)
    assert not error.billed_unknown


def test_an_error_inside_a_200_keeps_its_own_status() -> None:
    with pytest.raises(RateLimited, match="answered 429: busy"):
        ask(garbage(b'{"error": {"code": 429, "message": "busy"}}'))


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (answer("half of i", finish="length"), Truncated),
        (answer("", finish="content_filter"), Refused),
        (answer(None, refusal="I won't"), Refused),
        (answer("  \n"), Empty),
        (answer(None), Empty),
        (answer("<think>only thoughts"), Empty),
    ],
)
def test_an_unusable_answer_is_raised_with_its_reply_and_usage(
    step: Step, kind: type[LLMError]
) -> None:
    with pytest.raises(kind) as caught:
        ask(step)
    assert caught.value.reply is not None
    assert caught.value.reply.tokens_out == 5
    assert not caught.value.billed_unknown


BAD_STATUS_LINE = Step(headers={"content-length": "x"})


@pytest.mark.parametrize(
    "step",
    [CUT, HANG_UP, garbage(), status(500), status(400, CANARY), SILENCE, BAD_STATUS_LINE],
)
@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        ("", {"api_key": CANARY}),
        (f"?api-version=1&key={CANARY}", {}),
        ("", {"extra_body": {"via": {"token": CANARY}}}),
        ("", {"extra_headers": {"authorization": f"Bearer {CANARY}"}}),
    ],
)
def test_the_key_is_in_no_text_of_an_error_or_its_causes(
    step: Step, suffix: str, options: dict[str, Any]
) -> None:
    async def run() -> None:
        async with Endpoint([step]) as endpoint:
            model = HTTPModel("m", endpoint.base_url + suffix, **options)
            try:
                await model.complete(Request(messages=(user("hello"),), timeout_s=0.1))
            finally:
                await model.close()

    with pytest.raises(LLMError, match="127") as caught:
        asyncio.run(run())
    assert not any(CANARY in text for text in every_text(caught.value))


def test_the_search_for_keys_sees_causes_and_attributes() -> None:
    cause = ValueError("a")
    cause.key = CANARY  # type: ignore[attr-defined]  # what aiohttp's exceptions do with headers
    error = LLMError("b")
    error.__context__ = cause
    assert any(CANARY in text for text in every_text(error))


def test_an_endpoint_that_quotes_the_key_gets_it_hidden() -> None:
    with pytest.raises(Fatal, match=re.escape("Incorrect API key provided: ***.")) as caught:
        ask(api_key=CANARY, key="another")
    assert not any(CANARY in text for text in every_text(caught.value))
    reply, _ = ask(answer(f"you said {CANARY}"), api_key=CANARY)
    assert reply.text == "you said ***"
    reply, _ = ask(answer("you said abcdefghi"), extra_headers={"x-key": "Token abcdefghi"})
    assert reply.text == "you said ***"


def test_the_repr_of_a_model_names_the_endpoint_and_no_secret() -> None:
    url = f"https://host.example/v1?key={CANARY}"
    model = HTTPModel("m", url, CANARY, extra_headers={"x": CANARY})
    assert repr(model) == "HTTPModel('m', 'https://host.example/v1')"


def test_a_placeholder_key_does_not_garble_answers() -> None:
    reply, _ = ask(answer("the list is EMPTY"), api_key="EMPTY")
    assert reply.text == "the list is EMPTY"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:8000/v1", "must be a URL like"),
        ("ftp://host/v1", "must be a URL like"),
        ("http://host:port/v1", "must be a URL like"),
        ("http://", "must be a URL like"),
        (f"http://me:{CANARY}@host/v1", "no user name or password"),
    ],
)
def test_a_base_url_that_cannot_work_is_refused(url: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        HTTPModel("m", url)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("key", [f"{CANARY}\n", f"“{CANARY}”", f"{CANARY}\x00"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="the key in MY_KEY must be printable ASCII") as caught:
        HTTPModel("m", "http://host/v1", key, key_env="MY_KEY")
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("key", ["n", "stream", "max_tokens", "messages"])
def test_extra_body_may_not_break_the_reservation(key: str) -> None:
    with pytest.raises(ConfigError, match=f"may not set '{key}'"):
        HTTPModel("m", "http://host/v1", extra_body={key: 1})


def test_a_cancelled_request_leaves_the_model_usable() -> None:
    async def work(model: HTTPModel, endpoint: Endpoint) -> None:
        first = asyncio.ensure_future(model.complete(HELLO))
        await endpoint.until_received(1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await model.complete(HELLO)).text == "ok"

    with_model(work, SILENCE, answer())


def test_a_hundred_requests_run_at_once() -> None:
    n = 100
    together = asyncio.Event()

    async def work(model: HTTPModel, endpoint: Endpoint) -> None:
        requests = [asyncio.ensure_future(model.complete(HELLO)) for _ in range(n)]
        await endpoint.until_received(n)
        together.set()
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)

    with_model(work, SILENCE)
    assert together.is_set()


def test_models_share_one_session_until_the_last_is_closed() -> None:
    async def run() -> None:
        async with Endpoint() as endpoint:
            first, second = (HTTPModel(n, endpoint.base_url) for n in ("a", "b"))
            await first.complete(HELLO)
            await second.complete(HELLO)
            shared = first._session
            assert shared is second._session
            assert shared is not None
            await first.close()
            assert not shared.closed
            await second.complete(HELLO)
            await second.close()
            await second.close()
            assert shared.closed
            assert not session.SessionLease._open.get(asyncio.get_running_loop())

    asyncio.run(run())


def test_the_environments_proxy_is_used_but_not_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)

    async def run() -> None:
        async with Endpoint() as proxy, Endpoint() as direct:
            monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
            for url in ("http://api.example.com/v1", direct.base_url):
                model = HTTPModel("m", url)
                await model.complete(HELLO)
                await model.close()
            assert proxy.received[0].path == "http://api.example.com/v1/chat/completions"
            assert len(direct.received) == len(proxy.received) == 1

    asyncio.run(run())


def test_a_proxy_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("https_proxy", "socks5://user:secret@10.0.0.1:1080")
    with pytest.raises(ConfigError, match="found the scheme 'socks5'") as caught:
        HTTPModel("m", "https://api.example.com/v1")
    assert "secret" not in str(caught.value)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_a_private_authority_is_trusted_iff_ssl_cert_file_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(
        [*made.split(), *names, "-keyout", key, "-out", cert], check=True, capture_output=True
    )

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b'"hello"')
        body = answer("over TLS").body
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async def run() -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        model = HTTPModel("m", f"https://127.0.0.1:{port}/v1")
        try:
            return (await model.complete(HELLO)).text
        finally:
            await model.close()
            server.close()

    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(Fatal, match="certificate is not trusted"):
        asyncio.run(run())
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    assert asyncio.run(run()) == "over TLS"


def test_the_fake_endpoint_serves_synchronous_clients_from_a_thread() -> None:
    import json
    import urllib.request

    with Endpoint([answer("from a thread")]) as endpoint:
        sent = urllib.request.Request(f"{endpoint.base_url}/chat/completions", b'{"a": 1}')
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(sent) as response:
            got = json.load(response)
    assert got["choices"][0]["message"]["content"] == "from a thread"
    assert endpoint.bodies == [{"a": 1}]


def every_text(error: BaseException) -> list[str]:
    """Everything that a log, a traceback or a debugger shows of an exception and its causes."""
    texts: list[str] = []
    todo: list[BaseException | None] = [error]
    while todo:
        current = todo.pop()
        if current is not None:
            texts += [str(current), repr(current), repr(current.args), repr(vars(current))]
            todo += [current.__cause__, current.__context__]
    return texts
