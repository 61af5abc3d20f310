import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.messages import ImagePart, Message, TextPart, ToolCall, system, user
from flashevolve.llm.messages import Request as Sent
from flashevolve.llm.served import BadRequest
from flashevolve.llm.wire import encode
from flashevolve.simulate.bodies import Asked, read_body

HI = [{"role": "user", "content": "Hi"}]


def read(**fields: Any) -> Asked:
    return read_body(json.dumps({"model": "m", "messages": HI, **fields}).encode(), 777)


def test_a_plain_body_asks_for_one_whole_answer_of_any_length() -> None:
    asked = read()
    assert (asked.model, asked.stream, asked.include_usage, asked.stops) == ("m", False, False, ())
    assert asked.request.messages == (user("Hi"),)
    assert (asked.request.max_output_tokens, asked.request.seed) == (777, None)


def test_what_our_own_client_sends_is_read_as_it_was_meant() -> None:
    sent = Sent(
        messages=(
            system("Be brief."),
            Message(
                role="user",
                content=(TextPart(text="What is it?"), ImagePart(url="https://example.org/a.png")),
            ),
            Message(
                role="assistant",
                content="",
                tool_calls=(ToolCall(id="c1", name="look", arguments='{"at": 1}'),),
            ),
            Message(role="tool", content="a cat", tool_call_id="c1"),
        ),
        max_output_tokens=50,
        temperature=0.5,
        response_schema={"type": "object"},
        tools=({"name": "look"},),
        seed=7,
    )
    blob = encode("m", sent, tokens_field="max_tokens", extra_body={}, send_seed=True)
    request = read_body(blob, 777).request
    assert request.messages == sent.messages
    assert (request.max_output_tokens, request.seed) == (50, 7)


def test_numbers_of_any_size_are_numbers_and_half_surrogates_are_replaced_everywhere() -> None:
    assert read(temperature=10**400, top_p=10**400).request.messages == (user("Hi"),)
    call = {"id": "c\udfff", "function": {"name": "look\ud800", "arguments": "\ud800"}}
    asked = read(messages=[{"role": "assistant", "tool_calls": [call]}])
    [found] = asked.request.messages[0].tool_calls
    assert (found.id, found.name, found.arguments) == ("c\ufffd", "look\ufffd", "\ufffd")


def test_the_newer_name_of_the_limit_wins() -> None:
    assert read(max_tokens=5, max_completion_tokens=6).request.max_output_tokens == 6


def test_a_developer_is_a_system() -> None:
    asked = read(messages=[{"role": "developer", "content": "Hi"}])
    assert asked.request.messages == (system("Hi"),)


@pytest.mark.parametrize(("stop", "stops"), [("END", ("END",)), (["a", "b"], ("a", "b"))])
def test_stop_is_a_text_or_several(stop: Any, stops: tuple[str, ...]) -> None:
    assert read(stop=stop).stops == stops


def test_a_stream_with_usage_is_asked_for_by_its_options() -> None:
    asked = read(stream=True, stream_options={"include_usage": True})
    assert (asked.stream, asked.include_usage) == (True, True)


def test_half_a_surrogate_pair_is_replaced() -> None:
    asked = read_body(b'{"model": "m", "messages": [{"role": "user", "content": "a\\ud83d"}]}', 1)
    assert asked.request.messages[0].text.encode() == "a�".encode()


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 1, "top_p": 0.9, "user": "me", "logit_bias": {}, "n": None},
        {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto"},
        {"response_format": {"type": "json_object"}, "metadata": {"a": "b"}, "store": False},
        {"stream_options": None, "stop": None, "max_tokens": None, "seed": None, "stream": None},
    ],
)
def test_options_without_effect_are_accepted(fields: dict[str, Any]) -> None:
    assert read(**fields) == read()


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"model": None}, "model", "model: expected a text, found nothing"),
        ({"messages": []}, "messages", r"expected a list of at least one message, found \[\]"),
        ({"messages": None}, "messages", "found nothing"),
        ({"messages": ["Hi"]}, "messages[0]", 'expected an object, found "Hi"'),
        (
            {"messages": [*HI, {"role": "robot", "content": "x"}]},
            "messages[1].role",
            'expected one of system, developer, user, assistant, tool, found "robot"',
        ),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "expected a text or a list"),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
            "messages[0].content[0]",
            "expected a part of type text or image_url",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}]},
            "messages[0].tool_calls[0]",
            "expected a function with name and arguments",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": 3}]}]},
            "messages[0].tool_calls[0]",
            "expected a function with name and arguments",
        ),
        ({"n": 2}, "n", "expected n = 1, found 2; ask again for more"),
        ({"logprobs": True}, "logprobs", "a simulated model has no logprobs"),
        ({"max_tokens": 0}, "max_tokens", "expected an integer from 1 on, found 0"),
        ({"max_completion_tokens": "9"}, "max_completion_tokens", "expected an integer"),
        ({"seed": True}, "seed", "seed: expected an integer, found true"),
        ({"temperature": "hot"}, "temperature", 'expected a number, found "hot"'),
        ({"stop": [""]}, "stop", "expected a text or a list of texts"),
        ({"stream": 1}, "stream", "stream: expected true or false, found 1"),
        ({"stream_options": 1}, "stream_options", "expected an object, found 1"),
        (
            {"stream_options": {"include_usage": "yes"}},
            "stream_options.include_usage",
            "expected true or false",
        ),
    ],
)
def test_a_mistake_is_named_with_its_field(
    fields: dict[str, Any], param: str, message: str
) -> None:
    with pytest.raises(BadRequest, match=message) as caught:
        read(**fields)
    assert (caught.value.param, caught.value.status) == (param, 400)


@pytest.mark.parametrize("blob", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(blob: bytes) -> None:
    with pytest.raises(BadRequest, match="expected a JSON body: "):
        read_body(blob, 1)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(BadRequest, match="expected a JSON object, found list"):
        read_body(b"[]", 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", "function", "name", "type", "text"]),
            inner | st.sampled_from(["user", "text"]),
            max_size=4,
        )
    ),
    max_leaves=8,
)
FIELDS = ["messages", "n", "stop", "seed", "stream", "stream_options", "max_tokens", "temperature"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON), st.lists(JSON, max_size=2))
def test_no_body_raises_anything_but_a_bad_request(
    fields: dict[str, Any], extra: list[Any]
) -> None:
    body = {"model": "m", "messages": [*HI, *extra], **fields}
    with suppress(BadRequest):
        asked = read_body(json.dumps(body).encode(), 10)
        assert asked.request.max_output_tokens >= 1
        assert "".join(m.text for m in asked.request.messages).encode() is not None
