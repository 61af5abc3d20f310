"""Dicts: messages as other clients write them, made ours.

What a `Message` cannot hold is refused, never dropped: an agent would otherwise be evolved on
requests that it did not mean. Keys whose value is None are no keys.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from flashevolve.errors import TaskError, nearest
from flashevolve.llm.messages import ImagePart, Message, Role, TextPart, ToolCall, user

MessagesLike = str | Sequence[Message | Mapping[str, Any]]

ROLES: tuple[str, ...] = get_args(Role)


def as_messages(messages: MessagesLike) -> list[Message]:
    """Accepts a string, our messages, or the usual dicts with `role` and `content`.

    Raises `TaskError` for a dict that is no message.
    """
    if isinstance(messages, str):
        return [user(messages)]
    return [turn if isinstance(turn, Message) else _message(turn) for turn in messages]


def _message(turn: Any) -> Message:
    if not isinstance(turn, Mapping) or "role" not in turn:
        raise TaskError(f"a message is a dict with 'role' and 'content', got {turn!r:.80}")
    fields = _fields(turn, "a message", ("role", "content", "tool_calls", "tool_call_id"))
    role, calls = fields["role"], fields.get("tool_calls") or ()
    if role not in ROLES:
        raise TaskError(
            f"a message's role is one of {', '.join(ROLES)}, got {role!r:.80}."
            f"{nearest(str(role), ROLES)}"
        )
    if "content" not in turn and not calls:
        raise TaskError(f"a message is a dict with 'role' and 'content', got {turn!r:.80}")
    content = fields.get("content", "")
    if not isinstance(content, str):
        content = tuple(_part(part) for part in _items(content, "a message's content"))
    return Message(
        role=role,
        content=content,
        tool_calls=tuple(_tool_call(call) for call in _items(calls, "tool_calls")),
        tool_call_id=fields.get("tool_call_id"),
    )


def _part(part: Any) -> TextPart | ImagePart:
    if isinstance(part, TextPart | ImagePart):
        return part
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return TextPart(text=_fields(part, "a text part", ("type", "text"))["text"])
    if kind == "image_url":
        image = _fields(part, "an image part", ("type", "image_url")).get("image_url")
        if isinstance(image, Mapping):
            image = _fields(image, "an image_url", ("url",)).get("url")
        if isinstance(image, str):
            return ImagePart(url=image)
    raise TaskError(
        "a part of a message is {'type': 'text', 'text': ...} or "
        f"{{'type': 'image_url', 'image_url': {{'url': ...}}}}, got {part!r:.80}"
    )


def _tool_call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if isinstance(call, Mapping):
        fields = _fields(call, "a tool call", ("id", "type", "function", "name", "arguments"))
        function = fields.get("function", fields)
        if isinstance(function, Mapping):
            arguments = function.get("arguments", "")
            if isinstance(arguments, Mapping):
                arguments = json.dumps(dict(arguments))
            texts = (fields.get("id"), function.get("name"), arguments)
            if all(isinstance(text, str) for text in texts):
                return ToolCall(id=fields["id"], name=function["name"], arguments=arguments)
    raise TaskError(
        "a tool call is {'id': ..., 'type': 'function', 'function': {'name': ..., "
        f"'arguments': '...'}}}}, got {call!r:.80}"
    )


def _fields(table: Mapping[str, Any], what: str, known: Sequence[str]) -> dict[str, Any]:
    """Returns the fields that are set. Raises `TaskError` if one of them is not `known`."""
    fields = {name: value for name, value in table.items() if value is not None}
    for name in fields:
        if name not in known:
            raise TaskError(
                f"{what} holds {', '.join(known)}, got the key {name!r:.80}."
                f"{nearest(str(name), known)}"
            )
    return fields


def _items(value: Any, what: str) -> Iterable[Any]:
    if isinstance(value, list | tuple):
        return value
    raise TaskError(f"{what} is a list, got {value!r:.80}")
