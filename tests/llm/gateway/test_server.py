import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import openai
import pytest

from flashevolve.engine.funds import BudgetExhausted
from flashevolve.errors import ConfigError
from flashevolve.llm.errors import (
    CutShort,
    Empty,
    Fatal,
    LLMError,
    RateLimited,
    Refused,
    Transient,
    Truncated,
)
from flashevolve.llm.gateway.gateway import Gateway
from flashevolve.llm.messages import Message, Reply, ToolCall
from tests.fakes.gateway import HELLO, KNOWN, Open, opened


def over_http(
    work: Callable[[Open], Awaitable[Any]], say: Callable[..., Awaitable[Reply]] | None = None
) -> Any:
    async def main() -> Any:
        async with opened(say) as open_:
            return await work(open_)

    return asyncio.run(main())


def saying(reply: Reply | Exception) -> Callable[..., Awaitable[Reply]]:
    async def say(role: str, messages: Sequence[Message], **parameters: Any) -> Reply:
        if isinstance(reply, Exception):
            raise reply
        return reply

    return say


async def for_ever(role: str, messages: Sequence[Message], **parameters: Any) -> Reply:
    await asyncio.Event().wait()
    raise AssertionError


def chunk(text: str, finish: str | None = None, **delta: Any) -> Mapping[str, Any]:
    choice = {"index": 0, "delta": {"content": text, **delta}, "finish_reason": finish}
    return {"id": "up", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_a_whole_answer_has_openais_shape() -> None:
    status, body = over_http(lambda o: o.said())
    assert status == 200
    assert body["object"] == "chat.completion"
    assert body["model"] == "m-1"
    assert body["choices"][0]["message"]["content"] == "task: hello"
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def test_openais_own_client_works_with_nothing_but_address_and_key() -> None:
    async def work(o: Open) -> None:
        client = openai.AsyncOpenAI(base_url=o.door.base_url, api_key=o.door.token)
        async with client:
            whole = await client.chat.completions.create(model="task", messages=HELLO)  # type: ignore[arg-type]
            assert whole.choices[0].message.content == "task: hello"
            stream = await client.chat.completions.create(  # type: ignore[call-overload]
                model="openai/reflect",
                messages=HELLO,
                stream=True,
                stream_options={"include_usage": True},
            )
            got = [c async for c in stream]
            assert "".join(c.choices[0].delta.content or "" for c in got if c.choices) == (
                "reflect: hello"
            )
            assert got[-1].usage.total_tokens == 5
            models = [m.id async for m in client.models.list()]
            assert models == ["task", "reflect"]

    over_http(work)


def test_tools_a_schema_and_whatever_else_a_body_holds_reach_the_model() -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "mine", "schema": schema}}

    async def work(o: Open) -> None:
        status, _ = await o.said(
            tools=[tool],
            tool_choice="required",
            parallel_tool_calls=False,
            response_format=wanted,
            temperature=0.5,
            seed=7,
            stop=["x"],
            top_p=None,
            max_tokens=7,
        )
        assert status == 200
        role, messages, fields = o.ask.asked[0]
        assert (role, [m.text for m in messages]) == ("task", ["hello"])
        assert fields == {
            "max_output_tokens": 7,
            "temperature": 0.5,
            "tools": (tool,),
            "response_schema": schema,
            "extra_body": {
                "tool_choice": "required",
                "parallel_tool_calls": False,
                "response_format": wanted,
                "seed": 7,
                "stop": ["x"],
            },
        }
        await o.said(response_format={"type": "json_object"}, max_completion_tokens=10**6)
        assert o.ask.asked[1][2] == {
            "max_output_tokens": 100,
            "extra_body": {"response_format": {"type": "json_object"}},
        }

    over_http(work)


def test_tool_calls_come_back_whole_and_in_a_stream() -> None:
    call = ToolCall(id="c1", name="add", arguments='{"a": 1}')
    reply = Reply(text="", tool_calls=(call,), finish="tool_calls")

    async def work(o: Open) -> None:
        _, body = await o.said()
        message = body["choices"][0]["message"]
        assert message["content"] is None
        assert message["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1}'}
        async with o.post(stream=True) as response:
            first, last = events(await response.text())
        assert first["choices"][0]["delta"]["tool_calls"][0]["index"] == 0
        assert last["choices"][0]["finish_reason"] == "tool_calls"

    over_http(work, saying(reply))


def test_embeddings_pass_through_in_either_form() -> None:
    async def work(o: Open) -> None:
        client = openai.AsyncOpenAI(base_url=o.door.base_url, api_key=o.door.token)
        async with client:  # It asks for base64 unless told otherwise.
            got = await client.embeddings.create(model="task", input=["a", "b"], dimensions=2)
            plain = await client.embeddings.create(
                model="task", input=["a", "b"], encoding_format="float"
            )
        assert [e.embedding for e in got.data] == [[0.5, 0.0], [0.5, 1.0]]
        assert [e.embedding for e in plain.data] == [[0.5, 0.0], [0.5, 1.0]]
        assert got.usage.prompt_tokens == 4
        assert got.model == "e-1"
        assert o.ask.embedded[0] == ("task", ["a", "b"], {"dimensions": 2})
        mistakes: list[dict[str, Any]] = [
            {},
            {"input": []},
            {"input": [{}]},
            {"input": "a", "encoding_format": 1},
        ]
        for wrong in mistakes:
            async with o.post("/embeddings", **wrong) as response:
                assert response.status == 400

    over_http(work)


def test_options_of_embeddings_may_have_any_name() -> None:
    async def work(o: Open) -> None:
        options = {"role": "query", "inputs": 1, "origin": "x"}
        asked = {"model": "task", "input": "a", **options}
        headers = {"authorization": f"Bearer {o.door.token}"}
        url = o.door.base_url + "/embeddings"
        async with o.http.post(url, json=asked, headers=headers) as response:
            assert response.status == 200
        assert o.ask.embedded[0][2] == options

    over_http(work)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ('"top_p": NaN', "NaN is no number in JSON"),
        ('"x": ' + "[" * 200 + "]" * 200, "nested at most 100 deep"),
        ('"temperature": ' + "9" * 400, "temperature: expected a number"),
    ],
)
def test_a_number_or_a_depth_that_no_request_can_hold_is_a_mistake(more: str, match: str) -> None:
    async def work(o: Open) -> None:
        body = '{"model": "task", "messages": [{"role": "user", "content": "a"}], ' + more + "}"
        headers = {"authorization": f"Bearer {o.door.token}"}
        url = o.door.base_url + "/chat/completions"
        async with o.http.post(url, data=body, headers=headers) as response:
            assert response.status == 400
            assert match in (await response.json())["error"]["message"]

    over_http(work)


def test_several_choices_are_several_calls() -> None:
    async def work(o: Open) -> None:
        _, body = await o.said(n=3)
        assert len(o.ask.asked) == 3
        assert [c["index"] for c in body["choices"]] == [0, 1, 2]
        assert body["usage"]["total_tokens"] == 15

    over_http(work)


def test_an_answer_that_nobody_relayed_is_streamed_whole() -> None:
    text = "x" * 5000

    async def work(o: Open) -> None:
        async with o.post(stream=True, n=2) as response:
            assert response.content_type == "text/event-stream"
            got = events(await response.text())
        for index in (0, 1):
            own = [c["choices"][0] for c in got if c["choices"][0]["index"] == index]
            assert "".join(c["delta"].get("content", "") for c in own) == text
            assert own[-1]["finish_reason"] == "stop"

    over_http(work, saying(Reply(text=text)))


def test_each_chunk_is_passed_on_when_it_arrives() -> None:
    async def work(o: Open) -> None:
        async with o.post(stream=True) as response:
            first = await response.content.readuntil(b"\n\n")
            assert json.loads(first[6:])["choices"][0]["delta"]["content"] == "one"
            more.set()  # Only now does the model say more.
            rest = (await response.content.read()).decode()
        assert [c["choices"][0]["finish_reason"] for c in events(rest)] == ["stop"]

    more = asyncio.Event()

    async def say(role: str, messages: Any, *, relay: Any, **parameters: Any) -> Reply:
        relay(chunk("one"))
        await more.wait()
        relay(chunk(" two", "stop"))
        relay({"choices": [], "usage": {"total_tokens": 1}})
        return Reply(text="one two")

    over_http(work, say)


@pytest.mark.parametrize(
    ("error", "finish", "content"),
    [
        (Truncated("cut", reply=Reply(text="half", finish="length")), "length", "half"),
        (Empty("nothing", reply=Reply(text="")), "stop", ""),
        (Refused("no"), "content_filter", ""),
    ],
)
def test_an_answer_of_a_kind_is_an_answer(error: LLMError, finish: str, content: str) -> None:
    status, body = over_http(lambda o: o.said(), saying(error))
    assert status == 200
    assert body["choices"][0]["finish_reason"] == finish
    assert body["choices"][0]["message"]["content"] == content
    assert bool(body["choices"][0]["message"]["refusal"]) == isinstance(error, Refused)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RateLimited("slow down"), 503, "rate_limited"),
        (Transient("gone"), 503, "transient"),
        (Fatal("wrong key"), 400, "fatal"),
        (BudgetExhausted("tokens"), 403, "budget_exhausted"),
        (ConfigError("no model"), 400, None),
        (ValueError("oops"), 500, None),
    ],
)
def test_an_error_has_its_status_and_says_not_to_try_again(
    error: Exception, status: int, code: str | None, stream: bool
) -> None:
    async def work(o: Open) -> None:
        async with o.post(stream=stream) as response:
            assert response.status == status
            assert response.headers["x-should-retry"] == "false"
            told = (await response.json())["error"]
        assert told["code"] == code
        assert "\n" not in told["message"]

    over_http(work, saying(error))


def test_openais_client_does_not_try_again_what_was_tried_already() -> None:
    async def work(o: Open) -> None:
        async with openai.AsyncOpenAI(base_url=o.door.base_url, api_key=o.door.token) as client:
            with pytest.raises(openai.InternalServerError, match="gone"):
                await client.chat.completions.create(model="task", messages=HELLO)  # type: ignore[arg-type]
        assert len(o.ask.asked) == 1

    over_http(work, saying(Transient("gone")))


def test_a_stream_that_breaks_off_ends_in_an_error_and_is_not_done() -> None:
    async def say(role: str, messages: Any, *, relay: Any, **parameters: Any) -> Reply:
        relay(chunk("one"))
        raise CutShort("lost")

    async def work(o: Open) -> None:
        async with o.post(stream=True) as response:
            text = await response.text()
        assert "[DONE]" not in text
        assert json.loads(text.split("\n\n")[-2][6:])["error"]["message"] == "lost"

    over_http(work, say)


@pytest.mark.parametrize(
    ("body", "status", "match"),
    [
        ({"model": "tusk"}, 404, r"a role \(task, reflect\) or .* found \"tusk\". Did you mean"),
        ({"messages": []}, 400, "messages: expected a list of at least one message"),
        ({"messages": [{"role": "usr", "content": ""}]}, 400, "Did you mean 'user'"),
        ({"max_tokens": 0}, 400, "max_tokens: expected an integer from 1 on, found 0"),
        ({"n": 1000}, 400, "n: expected an integer from 1 to 128"),
        ({"tools": "add"}, 400, "tools: expected a list of objects"),
        ({"best_of": 2}, 400, "best_of: chat has none"),
        ({"temperature": "hot"}, 400, "temperature: expected a number"),
        ({"stream_options": 1}, 400, "stream_options: expected an object"),
        ({"response_format": {"type": "json_schema"}}, 400, r"json_schema.schema: expected an"),
        ({"path": "/completions"}, 404, "expected one of POST /v1/chat/completions"),
    ],
)
def test_a_mistake_is_told_in_one_line(body: Any, status: int, match: str) -> None:
    found, told = over_http(lambda o: o.said(**body))
    assert found == status
    with pytest.raises(ValueError, match=match):
        raise ValueError(told["error"]["message"])


@pytest.mark.parametrize(
    "model", ["task", "openai/task", "litellm_proxy/task", "gpt-x", "openai/gpt-x"]
)
def test_a_role_or_the_name_of_its_model_may_be_asked(model: str) -> None:
    async def work(o: Open) -> None:
        assert (await o.said(model=model))[0] == 200
        assert o.ask.asked[0][0] == "task"

    over_http(work)


def test_a_token_opens_its_own_door_and_dies_with_it() -> None:
    async def work(o: Open) -> None:
        other = o.gateway.door(o.ask)
        assert (await o.said(token="fe-guessed"))[0] == 401
        token = o.door.token
        assert other.token != token
        assert (await o.said(token=other.token))[0] == 200
        await other.close()
        status, body = await o.said(token=other.token)
        assert status == 401
        assert body["error"]["code"] == "invalid_api_key"
        assert (await o.said(token=token))[0] == 200
        assert len(o.ask.asked) == 2

    over_http(work)


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_under_way_ends_with_the_door_and_is_settled_first(stream: bool) -> None:
    async def work(o: Open) -> None:
        request = asyncio.ensure_future(o.said(stream=stream))
        await o.ask.begun.wait()
        await o.door.close()
        assert o.ask.n_cancelled == 1
        status, body = await request
        assert status == 401
        assert "has ended" in body["error"]["message"]

    over_http(work, for_ever)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_cancels_its_call(stream: bool) -> None:
    gone = asyncio.Event()

    async def say(role: str, messages: Any, **parameters: Any) -> Reply:
        try:
            return await for_ever(role, messages)
        finally:
            gone.set()

    async def work(o: Open) -> None:
        request = asyncio.ensure_future(o.said(stream=stream))
        await o.ask.begun.wait()
        request.cancel()
        await asyncio.wait_for(gone.wait(), 20)

    over_http(work, say)


def test_a_client_that_leaves_amid_a_stream_cancels_its_call() -> None:
    gone = asyncio.Event()

    async def say(role: str, messages: Any, *, relay: Any, **parameters: Any) -> Reply:
        relay(chunk("one"))
        try:
            return await for_ever(role, messages)
        finally:
            gone.set()

    async def work(o: Open) -> None:
        response = await o.post(stream=True)
        await response.content.readuntil(b"\n\n")
        response.close()
        await asyncio.wait_for(gone.wait(), 20)

    over_http(work, say)


def test_many_clients_may_open_it_at_once_from_threads() -> None:
    async def work(o: Open) -> None:
        found: set[tuple[str, str]] = set()
        threads = [
            threading.Thread(target=lambda: found.add((o.door.base_url, o.door.token)))
            for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        assert len(found) == 1
        assert all(s == 200 for s, _ in await asyncio.gather(*(o.said() for _ in range(50))))

    over_http(work)


def test_it_listens_on_this_machine_alone_and_not_before_it_is_asked() -> None:
    async def work(o: Open) -> None:
        assert o.gateway._server is None
        assert o.door.base_url.startswith("http://127.0.0.1:")

    over_http(work)


def test_a_port_that_is_taken_is_told_with_the_fix() -> None:
    async def main() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            gateway = Gateway(KNOWN, port)
            with pytest.raises(ConfigError, match=rf"gateway\.port: .* taken: {port}\. Choose"):
                gateway.address()
            await gateway.close()

    asyncio.run(main())
