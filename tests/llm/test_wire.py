import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.errors import Fatal, LLMError, Refused, Transient
from flashevolve.llm.messages import (
    UNRECORDED_WORLD,
    ImagePart,
    Message,
    Reply,
    Request,
    TextPart,
    ToolCall,
    user,
)
from flashevolve.llm.record import reply_from_json, reply_to_json
from flashevolve.llm.wire import (
    RESERVED,
    Unreadable,
    decode,
    encode,
    max_tokens_field,
    read_reply,
    reserved_key,
    split_reasoning,
    tool_call_to_wire,
    world_of,
)
from tests.fakes.patience import patient


def body(request: Request, **options: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {"tokens_field": "max_tokens", "extra_body": {}, "send_seed": False}
    found = json.loads(encode("m", request, **{**defaults, **options}))
    assert isinstance(found, dict)
    return found


def completion(message: dict[str, Any], finish: Any = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


def test_a_plain_request_sends_nothing_that_was_not_asked_for() -> None:
    assert body(Request(messages=(user("hi"),), max_output_tokens=9)) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 9,
    }


def test_every_option_finds_its_field() -> None:
    request = Request(
        messages=(user("hi"),),
        temperature=0.0,
        reasoning_effort="low",
        response_schema={"type": "object", "additionalProperties": False},
        tools=({"name": "f", "parameters": {}}, {"type": "function", "function": {"name": "g"}}),
        seed=7,
    )
    sent = body(request, send_seed=True, tokens_field="max_completion_tokens")
    assert sent["max_completion_tokens"] == 8192
    assert "max_tokens" not in sent
    assert (sent["temperature"], sent["reasoning_effort"], sent["seed"]) == (0.0, "low", 7)
    schema = sent["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"] == request.response_schema
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["f", "g"]
    assert "seed" not in body(request)


def test_an_open_schema_is_not_sent_as_strict() -> None:
    sent = body(Request(messages=(user("hi"),), response_schema={"type": "object"}))
    assert sent["response_format"]["json_schema"]["strict"] is False


def test_images_tool_calls_and_tool_results_have_their_wire_forms() -> None:
    call = ToolCall(id="c1", name="f", arguments='{"x": 1}')
    parts = (TextPart(text="look"), ImagePart(url="data:image/png;base64,AA"))
    request = Request(
        messages=(
            Message(role="user", content=parts),
            Message(role="assistant", content="", tool_calls=(call,)),
            Message(role="tool", content="2", tool_call_id="c1"),
        )
    )
    seen, called, answered = body(request)["messages"]
    assert seen["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
    ]
    assert called["content"] is None
    assert called["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"x": 1}'},
    }
    assert answered == {"role": "tool", "content": "2", "tool_call_id": "c1"}


def test_the_requests_extra_body_wins_over_the_models_and_both_over_ours() -> None:
    request = Request(messages=(user("hi"),), temperature=1.0, extra_body={"top_k": 2})
    sent = body(request, extra_body={"top_k": 1, "temperature": 0.5})
    assert (sent["top_k"], sent["temperature"]) == (2, 0.5)


@pytest.mark.parametrize("key", sorted(RESERVED))
def test_a_reserved_key_is_named_and_refused(key: str) -> None:
    assert f"may not set {key!r}" in (reserved_key({key: 1}) or "")
    with pytest.raises(Fatal, match=f"may not set '{key}'"):
        body(Request(messages=(user("hi"),), extra_body={key: 1}))


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("gpt-4o-mini", "max_tokens"),
        ("Qwen/Qwen3-8B", "max_tokens"),
        ("o3-mini", "max_completion_tokens"),
        ("openai/gpt-5.1", "max_completion_tokens"),
        ("gpt-oss-20b", "max_tokens"),
    ],
)
def test_reasoning_models_get_the_newer_field(name: str, field: str) -> None:
    assert max_tokens_field(name) == field


@patient
@given(st.text(st.characters()))
def test_any_text_can_be_sent_even_half_an_emoji(text: str) -> None:
    sent = body(Request(messages=(user(text + "\ud83d"),)))["messages"][0]["content"]
    assert sent.endswith("?")


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("plain", "", "plain"),
        ("<think>a</think>b", "a", "b"),
        ("\n<think>\na\n</think>\n\nb", "a", "b"),
        ("<think>a</think><think>b</think>c", "a\nb", "c"),
        ("a</think>b", "a", "b"),
        ("<think>never closed", "never closed", ""),
        ("Put thoughts into <think></think> tags.", "", "Put thoughts into <think></think> tags."),
        ("<think>a</think>Use <think>x</think>.", "a", "Use <think>x</think>."),
        ("  leading space", "", "  leading space"),
    ],
)
def test_reasoning_at_the_start_is_split_off(text: str, reasoning: str, answer: str) -> None:
    assert split_reasoning(text) == (reasoning, answer)


@patient
@given(st.text(), st.text())
def test_a_wrapped_thought_is_always_recovered(thought: str, answer: str) -> None:
    if "think>" in thought or answer.lstrip().startswith("<think>"):
        return
    found = split_reasoning(f"<think>{thought}</think>{answer}")
    assert found == (thought.strip(), answer.lstrip())


def test_a_separate_reasoning_field_is_kept_apart_and_the_text_left_alone() -> None:
    for field in ("reasoning", "reasoning_content"):
        reply = read_reply(completion({"content": "see </think> here", field: "why"}))
        assert (reply.reasoning, reply.text) == ("why", "see </think> here")


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, 3]
    assert read_reply(completion({"content": parts})).text == "a"


def test_tool_calls_need_no_text_and_odd_ones_are_mended_or_left_out() -> None:
    found = [
        {"id": "c", "function": {"name": "f", "arguments": "{}"}},
        {"function": {"name": "g", "arguments": {"x": 1}}},
        {"function": {"arguments": "{}"}},
        "nonsense",
    ]
    reply = read_reply(completion({"content": None, "tool_calls": found}, "tool_calls"))
    assert reply.finish == "tool_calls"
    assert reply.tool_calls == (
        ToolCall(id="c", name="f", arguments="{}"),
        ToolCall(id="call_1", name="g", arguments='{"x": 1}'),
    )


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}, (3, 4)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 50}, (3, 47)),
        ({"prompt_tokens": "3", "completion_tokens": True}, (None, None)),
        ({"prompt_tokens": -3}, (None, None)),
        (None, (None, None)),
    ],
)
def test_usage_is_what_the_endpoint_counted_or_unknown(
    usage: Any, tokens: tuple[int | None, int | None]
) -> None:
    reply = read_reply(completion({"content": "x"}, usage=usage))
    assert (reply.tokens_in, reply.tokens_out) == tokens


WORLD = "0123456789ab"


@pytest.mark.parametrize(
    ("header", "fingerprint", "world"),
    [
        (None, None, ""),
        (None, "fp_44709d6fcb", ""),
        (None, 17, ""),
        (WORLD, None, WORLD),
        (None, f"simulated-{WORLD}", WORLD),
        (WORLD, "simulated-ba9876543210", WORLD),
        ("", None, UNRECORDED_WORLD),
        ("sk-an-echoed-key", None, UNRECORDED_WORLD),
        (None, "simulated-\x1b[2J", UNRECORDED_WORLD),
    ],
)
def test_an_answer_names_its_world_in_header_or_fingerprint_and_nothing_but_a_hash_is_kept(
    header: str | None, fingerprint: Any, world: str
) -> None:
    headers = {} if header is None else {"x-flashevolve-world": header}
    data = completion({"content": "hi"}, system_fingerprint=fingerprint)
    assert world_of(headers, data) == world
    assert read_reply(data, world_of(headers, data)).world == world


@pytest.mark.parametrize("finish", ["stop", "eos", None, 3, ["length"]])
def test_an_unknown_finish_reason_is_a_stop(finish: Any) -> None:
    assert read_reply(completion({"content": "x"}, finish)).finish == "stop"


@pytest.mark.parametrize(("usage", "unknown"), [(None, True), ({"completion_tokens": 1}, False)])
def test_generation_that_broke_off_is_worth_another_try(usage: Any, unknown: bool) -> None:
    with pytest.raises(Transient, match="finish_reason 'abort'") as caught:
        read_reply(completion({"content": "x"}, "abort", usage=usage))
    assert caught.value.billed_unknown is unknown


def test_the_models_own_refusal_is_quoted() -> None:
    with pytest.raises(Refused, match="refused: not that"):
        read_reply(completion({"content": None, "refusal": "not that"}))


def test_half_a_surrogate_in_an_answer_is_replaced() -> None:
    reply = read_reply(decode(b'{"choices": [{"message": {"content": "a\\ud83d"}}]}'))
    assert reply.text == "a\ufffd"
    whole = read_reply(decode(b'{"choices": [{"message": {"content": "\\ud83d\\ude00"}}]}'))
    assert whole.text == "\U0001f600"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
FIELDS = ("content", "tool_calls", "refusal", "reasoning", "reasoning_content")
MESSAGE = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON))


@patient
@given(MESSAGE | JSON, JSON, JSON, JSON)
def test_any_json_is_read_or_refused_by_a_typed_error(
    message: Any, finish: Any, usage: Any, model: Any
) -> None:
    data = completion(message, finish, usage=usage, model=model)
    try:
        reply = read_reply(data)
    except (LLMError, Unreadable):
        return
    assert isinstance(reply, Reply)
    reply.text.encode()


def test_tools_of_other_types_are_sent_as_they_are() -> None:
    tools = ({"type": "custom", "custom": {"name": "sql"}}, {"name": "look"})
    sent = body(Request(messages=(user("hi"),), tools=tools))["tools"]
    assert sent == [tools[0], {"type": "function", "function": {"name": "look"}}]


def test_what_an_answer_holds_besides_is_kept_and_recorded() -> None:
    said = {"content": "yes", "refusal": None, "annotations": [{"type": "url_citation"}]}
    data = completion(said)
    data["choices"][0]["logprobs"] = {"content": [{"token": "yes", "logprob": -0.1}]}
    reply = read_reply(data)
    assert reply.extra == {
        "message": {"annotations": [{"type": "url_citation"}]},
        "choice": {"logprobs": {"content": [{"token": "yes", "logprob": -0.1}]}},
    }
    assert reply_from_json(json.loads(json.dumps(reply_to_json(reply)))) == reply
    assert "extra" not in reply_to_json(read_reply(completion({"content": "yes", "refusal": None})))


def test_an_answer_in_sound_is_not_empty() -> None:
    reply = read_reply(completion({"content": None, "audio": {"id": "a1", "data": "AA"}}))
    assert reply.extra == {"message": {"audio": {"id": "a1", "data": "AA"}}}


def test_calls_of_other_tools_and_what_hosts_add_to_calls_are_kept() -> None:
    calls = [
        {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}},
        {
            "id": "c2",
            "type": "function",
            "function": {"name": "look", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": "x"}},
        },
    ]
    reply = read_reply(completion({"content": None, "tool_calls": calls}, "tool_calls"))
    assert [call.arguments for call in reply.tool_calls] == ["select 1", "{}"]
    assert [tool_call_to_wire(call) for call in reply.tool_calls] == calls
    assert reply_from_json(reply_to_json(reply)) == reply
