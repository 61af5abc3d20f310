from typing import Any

import pytest

from flashevolve.llm.messages import (
    FORMAT_OVERHEAD_TOKENS,
    IMAGE_BOUND_TOKENS,
    ImagePart,
    Message,
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


def test_half_a_surrogate_pair_is_counted() -> None:
    request = Request(messages=(user("hi\ud83d"),), extra_body={"stop": "\ud83d"})
    assert request.input_bound_tokens > PLAIN.input_bound_tokens + 3
