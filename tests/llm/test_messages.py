from typing import Any

import pytest

from flashevolve.llm.messages import (
    DOCUMENT_BOUND_TOKENS,
    FORMAT_OVERHEAD_TOKENS,
    IMAGE_BOUND_TOKENS,
    ImagePart,
    Message,
    OtherPart,
    Request,
    TextPart,
    ToolCall,
    user,
)
from flashevolve.llm.wire import encode

PLAIN = Request(messages=(user("hi"),))
TOOL = {"name": "look", "parameters": {"type": "object", "description": "ü" * 500}}


@pytest.mark.parametrize(
    "extra",
    [
        {"tools": (TOOL,)},
        {"response_schema": TOOL},
        {"extra_body": {"guided_json": TOOL}},
    ],
)
def test_what_a_request_carries_besides_text_is_bounded_too(extra: dict[str, Any]) -> None:
    request = Request(messages=(user("hi"),), **extra)
    sent = encode("m", request, tokens_field="max_tokens", extra_body={}, send_seed=False)
    assert request.input_bound_tokens > len(sent) > 1000
    more = request.input_bound_tokens - PLAIN.input_bound_tokens
    assert more > FORMAT_OVERHEAD_TOKENS + 1000


def test_the_calls_of_tools_and_their_answers_are_bounded() -> None:
    call = ToolCall(id="id" * 10, name="look", arguments='"ü"' * 100)
    asked = Message(role="assistant", content="", tool_calls=(call,))
    answered = Message(role="tool", content="x", tool_call_id="id" * 10)
    request = Request(messages=(asked, answered))
    assert request.input_bound_tokens > 400 + 20 + 20


def test_an_image_counts_as_a_constant_whatever_its_bytes() -> None:
    parts = (TextPart(text="hi"), ImagePart(url="data:image/png;base64," + "A" * 10**6))
    request = Request(messages=(Message(role="user", content=parts),))
    assert request.input_bound_tokens == PLAIN.input_bound_tokens + IMAGE_BOUND_TOKENS


def other_bound_tokens(**data: Any) -> int:
    parts = (TextPart(text="hi"), OtherPart(data=data))
    request = Request(messages=(Message(role="user", content=parts),))
    return request.input_bound_tokens - PLAIN.input_bound_tokens


def test_a_part_of_another_kind_counts_as_much_as_it_may_stand_for() -> None:
    image = other_bound_tokens(type="image_url", image_url={"url": "A" * 10**6, "detail": "high"})
    assert IMAGE_BOUND_TOKENS < image < IMAGE_BOUND_TOKENS + 100
    sound = other_bound_tokens(type="input_audio", input_audio={"data": "A" * 10**4})
    assert 10**4 < sound < 10**4 + 200
    assert other_bound_tokens(type="text", text="x" * 500, cache_control={}) > 500
    assert other_bound_tokens(type="file", file={"file_id": "f1"}) > DOCUMENT_BOUND_TOKENS


def test_other_fields_of_a_turn_are_bounded_too() -> None:
    named = Request(messages=(Message(role="user", content="hi", extra={"name": "ü" * 100}),))
    assert named.input_bound_tokens > PLAIN.input_bound_tokens + 200
    kept = Message(role="assistant", content="hi", extra={"audio": {"id": "a1"}})
    assert Request(messages=(kept,)).input_bound_tokens > DOCUMENT_BOUND_TOKENS


def test_half_a_surrogate_pair_is_counted() -> None:
    request = Request(messages=(user("hi\ud83d"),), extra_body={"stop": "\ud83d"})
    assert request.input_bound_tokens > PLAIN.input_bound_tokens + 3
