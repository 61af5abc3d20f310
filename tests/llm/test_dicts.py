import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import TaskError
from flashevolve.llm.dicts import as_messages
from flashevolve.llm.messages import (
    ImagePart,
    Message,
    OtherPart,
    Request,
    TextPart,
    ToolCall,
    user,
)
from flashevolve.llm.record import request_to_json
from flashevolve.llm.wire import message_to_wire


def test_messages_are_a_string_ours_or_the_usual_dicts() -> None:
    assert as_messages("hi") == [user("hi")]
    turns: list[Any] = [{"role": "system", "content": "s"}, user("u")]
    assert as_messages(turns) == [Message(role="system", content="s"), user("u")]


CALL = ToolCall(id="c1", name="look", arguments='{"where": "there"}')
WIRE = {
    "id": "c1",
    "type": "function",
    "function": {"name": "look", "arguments": '{"where": "there"}'},
}


@pytest.mark.parametrize(
    "call",
    [
        WIRE,
        CALL,
        {"id": "c1", "name": "look", "arguments": '{"where": "there"}'},
        {"id": "c1", "function": {"name": "look", "arguments": {"where": "there"}}},
    ],
)
def test_calls_of_tools_and_their_answers_are_kept(call: Any) -> None:
    turns = as_messages(
        [
            {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
            {"role": "assistant", "tool_calls": (call,)},
            {"role": "tool", "content": "nothing", "tool_call_id": "c1"},
        ]
    )
    asked = Message(role="assistant", content="", tool_calls=(CALL,))
    assert turns == [asked, asked, Message(role="tool", content="nothing", tool_call_id="c1")]


def test_parts_become_ours() -> None:
    content = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "https://x/a.png"}},
        {"type": "image_url", "image_url": "https://x/b.png"},
        TextPart(text="there"),
    ]
    (turn,) = as_messages([{"role": "user", "content": content}])
    urls = ("https://x/a.png", "https://x/b.png")
    images = tuple(ImagePart(url=url) for url in urls)
    assert turn.content == (TextPart(text="see"), *images, TextPart(text="there"))


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        ("x", r"^a message is a dict with 'role' and 'content', got 'x'$"),
        ({"role": "user"}, r"^a message is a dict with 'role' and 'content', got \{'role'"),
        ({"content": "x"}, r"^a message is a dict with 'role' and 'content', got \{'content'"),
        ({"role": "usr", "content": "x"}, r"^a message's role is one of .* Did you mean 'user'\?$"),
        ({"role": [], "content": "x"}, r"^a message's role is one of .* got \[\]"),
        (
            {"role": "user", "content": "x", "tool_cals": []},
            r"got the key 'tool_cals'\. Did you mean 'tool_calls'\?$",
        ),
        ({"role": "user", "content": 3}, r"^a message's content is a list, got 3$"),
        ({"role": "user", "content": ["x"]}, r"^a part of a message is .*, got 'x'$"),
        ({"role": "user", "content": [{"audio": 1}]}, r"^a part of a message is .*audio"),
        ({"role": "user", "content": [{"type": "text"}]}, r"^a part of a message is .*'text'\}$"),
        ({"role": "user", "content": [{"type": "image_url"}]}, r"^a part of a message is "),
        (
            {"role": "user", "content": "x", "audio": {"data": b"x"}},
            r"^a message's 'audio' can only hold what JSON knows, got bytes: b'x'$",
        ),
        ({"role": "user", "content": "x", 3: 1}, r"^a message holds .*got the key 3"),
        ({"role": "assistant", "tool_calls": "x"}, r"^tool_calls is a list, got 'x'$"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, r"^a tool call is .*\{'id': 'c'\}$"),
        ({"role": "assistant", "tool_calls": [7]}, r"^a tool call is .*got 7$"),
    ],
)
def test_what_a_message_cannot_hold_is_refused_in_one_line(turn: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message) as caught:
        as_messages([turn])
    assert "\n" not in str(caught.value)


def test_what_has_no_name_here_is_kept_as_it_came() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    marked = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}
    (turn,) = as_messages([{"role": "developer", "content": [marked, audio], "name": "ann"}])
    assert turn.content == (OtherPart(data=marked), OtherPart(data=audio))
    assert turn.text == "long"
    assert turn.extra == {"name": "ann"}


def test_a_turn_may_hold_something_else_in_place_of_content() -> None:
    turns: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    ]
    assert [message_to_wire(m) for m in as_messages(turns)] == turns
    assert as_messages([{"role": "assistant", "refusal": "no"}])[0].text == ""


# Everything that OpenAI's chat API takes as a message, by its reference of 2025.

TEXT = st.text(max_size=5)
FLAT = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | TEXT, max_size=2)


def fields(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Any:
    return st.fixed_dictionaries(dict(required), optional=dict(optional or {}))


CACHE = {"cache_control": fields({"type": st.just("ephemeral")})}
TEXT_PART = fields({"type": st.just("text"), "text": TEXT}, CACHE)
REFUSAL_PART = fields({"type": st.just("refusal"), "refusal": TEXT})
IMAGE = fields({"url": TEXT}, {"detail": st.sampled_from(["auto", "low", "high"])})
IMAGE_PART = fields({"type": st.just("image_url"), "image_url": IMAGE}, CACHE)
AUDIO = fields({"data": TEXT, "format": st.sampled_from(["wav", "mp3"])})
AUDIO_PART = fields({"type": st.just("input_audio"), "input_audio": AUDIO})
FILE = fields({}, {"file_data": TEXT, "file_id": TEXT, "filename": TEXT})
FILE_PART = fields({"type": st.just("file"), "file": FILE})
TEXTS = TEXT | st.lists(TEXT_PART, min_size=1, max_size=2)
PARTS = st.lists(st.one_of(TEXT_PART, IMAGE_PART, AUDIO_PART, FILE_PART), min_size=1, max_size=3)
FUNCTION = fields({"name": TEXT, "arguments": TEXT})
ANY_CALL = st.one_of(
    fields(
        {"id": TEXT, "type": st.just("function"), "function": FUNCTION},
        {"extra_content": FLAT},
    ),
    fields(
        {
            "id": TEXT,
            "type": st.just("custom"),
            "custom": fields({"name": TEXT, "input": TEXT}),
        }
    ),
)
CALLS = {"tool_calls": st.lists(ANY_CALL, min_size=1, max_size=2)}
NAMED = {"name": TEXT}
SAID = TEXT.filter(bool) | st.lists(TEXT_PART | REFUSAL_PART, min_size=1, max_size=2)
INSTEAD = {
    "audio": fields({"id": TEXT}),
    "refusal": TEXT,
    "function_call": FUNCTION,
    "reasoning_content": TEXT,
}
MESSAGE = st.one_of(
    fields({"role": st.sampled_from(["system", "developer"]), "content": TEXTS}, NAMED),
    fields({"role": st.just("user"), "content": TEXT | PARTS}, NAMED),
    fields({"role": st.just("assistant"), "content": SAID}, {**NAMED, **CALLS, **INSTEAD}),
    fields({"role": st.just("assistant"), "content": st.none(), **CALLS}, {**NAMED, **INSTEAD}),
    fields({"role": st.just("assistant"), "content": st.none(), "refusal": TEXT}, NAMED),
    fields({"role": st.just("tool"), "content": TEXTS, "tool_call_id": TEXT}),
    fields({"role": st.just("function"), "content": TEXT, "name": TEXT}),
)


@given(st.lists(MESSAGE, max_size=3))
def test_every_message_of_openai_comes_out_as_it_went_in(turns: list[dict[str, Any]]) -> None:
    messages = as_messages(turns)
    assert [message_to_wire(message) for message in messages] == turns
    recorded = json.dumps(request_to_json(Request(messages=tuple(messages))))
    assert all(json.dumps(turn["role"]) in recorded for turn in turns)


@given(st.lists(MESSAGE, min_size=1, max_size=2), st.lists(MESSAGE, min_size=1, max_size=2))
def test_messages_that_differ_are_recorded_differently(
    one: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    said = [request_to_json(Request(messages=tuple(as_messages(turns)))) for turns in (one, other)]
    assert (said[0] == said[1]) == (one == other)
