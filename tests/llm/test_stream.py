import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.errors import Fatal, LLMError, RateLimited, Refused, Transient, Truncated
from flashevolve.llm.http import HTTPModel
from flashevolve.llm.messages import Reply, Request, user
from flashevolve.llm.model import StreamingModel
from flashevolve.llm.stream import Assembly, Events
from flashevolve.llm.wire import Unreadable, read_reply
from tests.fakes.endpoint import SILENCE, Endpoint, Received, Step, answer, rate_limited, status

CANARY = "sk-canary-0123456789abcdef"
HELLO = Request(messages=(user("hello"),), timeout_s=20.0)
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "fake-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def event(data: Any) -> bytes:
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


WHOLE = (
    chunk(role="assistant", content=""),
    chunk(content="Hel"),
    chunk(content="lo"),
    chunk("stop"),
    {"model": "fake-1", "choices": [], "usage": USAGE},
    b"[DONE]",
)


def streamed(*events: Any, raw: bytes | None = None, **step: Any) -> Step:
    body = b"".join(map(event, events)) if raw is None else raw
    return Step(body=body, headers={"content-type": "text/event-stream; charset=utf-8"}, **step)


def ask(
    step: Step, request: Request = HELLO, relay: Callable[[Any], None] | None = None, **options: Any
) -> tuple[Reply, list[Mapping[str, Any]], Any]:
    relayed: list[Mapping[str, Any]] = []

    async def run() -> tuple[Reply, list[Mapping[str, Any]], Any]:
        async with Endpoint([step]) as endpoint:
            model = HTTPModel("m", endpoint.base_url, **options)
            try:
                reply = await model.stream(request, relay or relayed.append)
            finally:
                await model.close()
            return reply, relayed, endpoint.bodies[0]

    return asyncio.run(run())


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8")), max_size=4),
    st.lists(st.integers(1, 7), min_size=1, max_size=5),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_events_are_the_same_however_the_network_cuts_them(
    texts: list[str], sizes: list[int], end: bytes
) -> None:
    body = b"".join(
        b": keep-alive" + end + end + b"event: x" + end + b"data: " + t.encode() + end + end
        for t in texts
    )
    events, found = Events(), list[bytes]()
    while body:
        found += events.feed(body[: sizes[0]])
        body, sizes = body[sizes[0] :], [*sizes[1:], sizes[0]]
    found += events.end()
    assert [data.decode() for data in found] == texts


def test_lines_of_one_event_are_one_text_and_the_last_needs_no_blank_line() -> None:
    events = Events()
    assert list(events.feed(b'data:{"a":\ndata: 1}\n\nretry: 3\n\ndata: x')) == [b'{"a":\n1}']
    assert list(events.end()) == [b"x"]


def assembled(*chunks: dict[str, Any]) -> Reply:
    assembly = Assembly()
    for one in chunks:
        assembly.add(one)
    assert assembly.whole
    return read_reply(assembly.completion())


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.lists(st.integers(0, 9), max_size=5))
def test_a_text_in_pieces_reads_as_the_whole(text: str, cuts: list[int]) -> None:
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[a:b] for a, b in pairwise(ends)]
    message = {"role": "assistant", "content": text, "reasoning_content": text}
    whole = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": USAGE}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    message["tool_calls"] = [call]  # type: ignore[assignment]
    said = [chunk(content=p, reasoning_content=p) for p in pieces]
    begun = {"index": 0, **call, "function": {"name": "f", "arguments": ""}}
    called = [{"index": 0, "function": {"arguments": p}} for p in pieces]
    calls = [chunk(tool_calls=[piece]) for piece in (begun, *called)]
    last = {**chunk("tool_calls"), "usage": USAGE}
    assert assembled(*said, *calls, last) == read_reply({**whole, "model": "fake-1"})


@pytest.mark.parametrize(
    "calls",
    [
        # OpenAI: by index. Gemini: all at index 0. Others: no index, or the name in each piece.
        [(0, "a", "f", "{"), (1, "b", "g", "["), (0, None, None, "}"), (1, None, None, "]")],
        [(0, "a", "f", "{}"), (0, "b", "g", "[]")],
        [(None, "a", "f", "{"), (None, None, None, "}"), (None, "b", "g", "[]")],
        [(0, "a", "f", "{"), (0, "a", "f", "}"), (1, "b", "g", "[]")],
    ],
)
def test_calls_of_tools_are_put_together_whatever_the_host_counts_them_by(calls: Any) -> None:
    chunks = [
        chunk(tool_calls=[{"index": index, "id": id_, "function": {"name": name, "arguments": a}}])
        for index, id_, name, a in calls
    ]
    reply = assembled(*chunks, chunk("tool_calls"))
    found = [(call.id, call.name, call.arguments) for call in reply.tool_calls]
    assert found == [("a", "f", "{}"), ("b", "g", "[]")]


def test_what_comes_besides_is_put_together_too() -> None:
    one = chunk(content="a", annotations=[1], audio={"id": "x", "data": "A"})
    one["choices"][0]["logprobs"] = {"content": [{"token": "a"}], "refusal": None}
    two = chunk("stop", content="b", annotations=[2], audio={"data": "B"})
    two["choices"][0]["logprobs"] = {"content": [{"token": "b"}], "refusal": None}
    other = {"choices": [{"index": 1, "delta": {"content": "not asked for"}}]}
    assert assembled(one, other, two).extra == {
        "message": {"annotations": [1, 2], "audio": {"id": "x", "data": "AB"}},
        "choice": {"logprobs": {"content": [{"token": "a"}, {"token": "b"}]}},
    }


def test_a_chunk_without_choices_is_none() -> None:
    with pytest.raises(Unreadable, match="expected a list 'choices' in each chunk, found none"):
        Assembly().add({"message": "lost"})


@pytest.mark.parametrize(
    "odd", [{"choices": [None]}, chunk(tool_calls=["x", {"index": 0, "id": "a"}])]
)
def test_a_chunk_of_an_odd_shape_is_unreadable_and_not_relayed(odd: Any) -> None:
    with pytest.raises(Unreadable, match="expected objects in"):
        Assembly().add(odd)


def test_a_stream_is_relayed_as_it_came_and_answers_like_a_whole_body() -> None:
    reply, relayed, body = ask(streamed(*WHOLE))
    assert relayed == list(WHOLE[:-1])
    assert reply == Reply(text="Hello", tokens_in=10, tokens_out=5, model="fake-1")
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert isinstance(HTTPModel("m", "http://x/v1"), StreamingModel)


def test_a_chunk_is_relayed_before_the_endpoint_sends_the_next() -> None:
    async def run() -> None:
        relayed = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
            writer.write(head + event(WHOLE[1]))
            await relayed.wait()
            writer.write(b"".join(map(event, WHOLE[2:])))
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = HTTPModel("m", f"http://127.0.0.1:{port}/v1")
        reply = await model.stream(HELLO, lambda chunk: relayed.set())
        assert reply.text == "Hello"
        await model.close()
        server.close()
        await server.wait_closed()

    asyncio.run(run())


def test_an_endpoint_that_cannot_tell_the_usage_of_streams_is_asked_without() -> None:
    def picky(received: Received) -> Step:
        if "stream_options" in received.body:
            return status(422, "extra_forbidden: body.stream_options")
        return streamed(*WHOLE[:4], b"[DONE]")

    async def run() -> None:
        async with Endpoint(picky) as endpoint:
            model = HTTPModel("m", endpoint.base_url)
            for _ in range(2):
                reply = await model.stream(HELLO, lambda chunk: None)
                assert (reply.text, reply.tokens_in) == ("Hello", None)
            await model.close()
            assert len(endpoint.received) == 3

    asyncio.run(run())


def test_an_endpoint_that_does_not_stream_answers_whole_and_relays_nothing() -> None:
    reply, relayed, _ = ask(answer("hi"))
    assert reply.text == "hi"
    assert relayed == []


@pytest.mark.parametrize(
    ("step", "kind", "text", "billed_unknown"),
    [
        (rate_limited("3"), RateLimited, "answered 429", False),
        (status(401), Fatal, "answered 401", False),
        (streamed(*WHOLE[:3]), Transient, "the stream ended before the answer did", True),
        (streamed(b"[DONE]"), Transient, "the stream ended before the answer did", True),
        (streamed(*WHOLE[:3], then="cut"), Transient, "connection lost", True),
        (streamed(WHOLE[1], b"{"), Transient, "unusable chunk: no JSON", True),
        (streamed(WHOLE[1], {"object": "error"}), Transient, "unusable chunk: expected a", True),
        (streamed(WHOLE[1], {"error": {"code": 502, "message": "up"}}), Transient, "502: up", True),
        (streamed(WHOLE[1], {"error": {"code": 429}}), RateLimited, "answered 429", True),
        (streamed(WHOLE[1], {"error": "died"}), Transient, "broke off its stream .*died", True),
        (streamed(WHOLE[1], chunk("length")), Truncated, "cut at max_output_tokens", False),
        (streamed(chunk("content_filter", refusal="no")), Refused, "refused: no", False),
        (SILENCE, Transient, r"no answer \(timeout_s = 0.2\)", True),
    ],
)
def test_a_stream_without_an_answer_fails_by_its_kind(
    step: Step, kind: type[LLMError], text: str, billed_unknown: bool
) -> None:
    request = Request(messages=(user("hi"),), timeout_s=0.2) if step is SILENCE else HELLO
    with pytest.raises(kind, match=text) as caught:
        ask(step, request)
    assert type(caught.value) is kind
    assert caught.value.billed_unknown is billed_unknown


@pytest.mark.parametrize(
    "events",
    [
        WHOLE[:4],
        WHOLE[:5],
        (*WHOLE[:3], b"[DONE]"),
        ({"choices": [{"message": {"content": "Hello"}}]}, b"[DONE]"),
    ],
)
def test_an_answer_is_whole_if_its_end_was_told_in_any_way(events: Sequence[Any]) -> None:
    assert ask(streamed(*events))[0].text == "Hello"


def test_a_connection_lost_after_the_answer_costs_its_usage_alone() -> None:
    body = b"".join(map(event, WHOLE[:4]))
    reply, _, _ = ask(streamed(raw=body + b" " * len(body), then="cut"))
    assert (reply.text, reply.tokens_out) == ("Hello", None)


def test_a_key_that_the_endpoint_echoes_is_in_no_chunk_and_no_answer() -> None:
    halves = (chunk(content=f"whole {CANARY} half {CANARY[:9]}"), chunk("stop", content=CANARY[9:]))
    reply, relayed, _ = ask(streamed(*halves), api_key=CANARY)
    assert reply.text == "whole *** half ***"
    assert CANARY not in json.dumps(relayed)


def test_what_the_relay_raises_passes_and_is_no_failure_of_the_endpoint() -> None:
    def gone(chunk: Any) -> None:
        raise ConnectionResetError("the client left")

    with pytest.raises(ConnectionResetError, match=r"^the client left$"):
        ask(streamed(*WHOLE), relay=gone)


def test_a_connection_is_used_again_after_a_stream() -> None:
    async def run() -> None:
        ports: list[Any] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            ports.append(writer.get_extra_info("peername"))
            while head := await until(reader.readuntil(b"\r\n\r\n")):
                length = int(head.lower().partition(b"content-length: ")[2].split()[0])
                await reader.readexactly(length)
                body = b"".join(map(event, WHOLE))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
                writer.write(b"transfer-encoding: chunked\r\n\r\n%x\r\n" % len(body) + body)
                writer.write(b"\r\n0\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        model = HTTPModel("m", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        for _ in range(3):
            await model.stream(HELLO, lambda chunk: None)
        assert len(ports) == 1
        await model.close()
        server.close()
        await server.wait_closed()

    asyncio.run(run())


async def until(read: Awaitable[bytes]) -> bytes:
    try:
        return await read
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
