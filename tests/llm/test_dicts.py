from typing import Any

import pytest

from flashevolve.errors import TaskError
from flashevolve.llm.dicts import as_messages
from flashevolve.llm.messages import ImagePart, Message, TextPart, ToolCall, user


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
        ({"role": "user", "content": [{"type": "audio"}]}, r"^a part of a message is .*audio"),
        (
            {"role": "user", "content": [{"type": "text", "text": "x", "cache": 1}]},
            r"^a text part holds type, text, got the key 'cache'",
        ),
        ({"role": "assistant", "tool_calls": "x"}, r"^tool_calls is a list, got 'x'$"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, r"^a tool call is .*\{'id': 'c'\}$"),
        ({"role": "assistant", "tool_calls": [7]}, r"^a tool call is .*got 7$"),
    ],
)
def test_what_a_message_cannot_hold_is_refused_in_one_line(turn: Any, message: str) -> None:
    with pytest.raises(TaskError, match=message) as caught:
        as_messages([turn])
    assert "\n" not in str(caught.value)
