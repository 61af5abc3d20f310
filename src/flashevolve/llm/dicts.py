"""Dicts: messages as other clients write them, made ours.

Nothing is dropped: what a `Message` has no name for is kept in its `extra`, a part of another kind
as an `OtherPart`, and both are sent as they came. What looks like a slip of the pen is refused: an
agent would otherwise be evolved on requests that it did not mean. Keys whose value is None are no
keys. `llm.wire.message_to_wire` is the way back.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from flashevolve.errors import TaskError, nearest
from flashevolve.llm.messages import (
    ImagePart,
    Message,
    OtherPart,
    Part,
    Role,
    TextPart,
    ToolCall,
    user,
)
from flashevolve.llm.wire import CUSTOM, INSTEAD_OF_CONTENT, call_extra

MessagesLike = str | Sequence[Message | Mapping[str, Any]]

ROLES: tuple[str, ...] = get_args(Role)
FIELDS = ("role", "content", "tool_calls", "tool_call_id")
"""Of a message; others are passed on."""
SLIP = 0.85
"""Likeness from which on a key is taken for a known one with a wrong letter."""


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
    fields = {name: value for name, value in turn.items() if value is not None}
    role, calls = fields.get("role"), fields.get("tool_calls") or ()
    if role not in ROLES:
        raise TaskError(
            f"a message's role is one of {', '.join(ROLES)}, got {role!r:.80}."
            f"{nearest(str(role), ROLES)}"
        )
    extra = {name: _other(name, value) for name, value in fields.items() if name not in FIELDS}
    if "content" not in turn and not calls and not INSTEAD_OF_CONTENT & extra.keys():
        raise TaskError(f"a message is a dict with 'role' and 'content', got {turn!r:.80}")
    content = fields.get("content", "")
    if not isinstance(content, str):
        content = tuple(_part(part) for part in _items(content, "a message's content"))
    return Message(
        role=role,
        content=content,
        tool_calls=tuple(_tool_call(call) for call in _items(calls, "tool_calls")),
        tool_call_id=fields.get("tool_call_id"),
        extra=extra,
    )


def _other(name: Any, value: Any) -> Any:
    """Returns a field that we have no name for. Raises `TaskError` if it was meant to be known."""
    slip = get_close_matches(str(name), FIELDS, n=1, cutoff=SLIP)
    if slip or not isinstance(name, str):
        raise TaskError(
            f"a message holds {', '.join(FIELDS)} and what its endpoint knows besides, got the key "
            f"{name!r:.80}.{nearest(str(name), FIELDS)}"
        )
    return _plain(value, f"a message's {name!r:.80}")


def _part(part: Any) -> Part:
    if isinstance(part, TextPart | ImagePart | OtherPart):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("type"), str):
        fields = {name: value for name, value in part.items() if value is not None}
        match fields:
            case {"type": "text", "text": str(text)} if len(fields) == 2:
                return TextPart(text=text)
            case {"type": "image_url", "image_url": str(url)} if len(fields) == 2:
                return ImagePart(url=url)
            case {"type": "image_url", "image_url": {"url": str(url)}} if (
                len(fields) == 2 and len(fields["image_url"]) == 1
            ):
                return ImagePart(url=url)
            case {"type": "text"} if not isinstance(fields.get("text"), str):
                pass
            case {"type": "image_url"} if "image_url" not in fields:
                pass
            case _:
                return OtherPart(data=_plain(fields, "a part of a message"))
    raise TaskError(
        "a part of a message is {'type': 'text', 'text': ...}, "
        "{'type': 'image_url', 'image_url': {'url': ...}} or a dict of another type, "
        f"got {part!r:.80}"
    )


def _tool_call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if isinstance(call, Mapping):
        fields = {name: value for name, value in call.items() if value is not None}
        named = CUSTOM if fields.get("type") == CUSTOM else "function"
        if "function" not in fields and "name" in fields:  # As our own records have it.
            known = ("name", "arguments")
            fields["function"] = {k: fields.pop(k) for k in known if k in fields}
        inner = fields.get(named)
        if isinstance(inner, Mapping):
            arguments = inner.get("input" if named == CUSTOM else "arguments", "")
            if isinstance(arguments, Mapping):
                arguments = json.dumps(dict(arguments))
            texts = (fields.get("id"), inner.get("name"), arguments)
            if all(isinstance(text, str) for text in texts):
                rest = _plain(call_extra(fields, named), "a tool call")
                return ToolCall(
                    id=fields["id"], name=inner["name"], arguments=arguments, extra=rest
                )
    raise TaskError(
        "a tool call is {'id': ..., 'type': 'function', 'function': {'name': ..., "
        f"'arguments': '...'}}}}, got {call!r:.80}"
    )


def _plain(value: Any, what: str) -> Any:
    """Returns JSON as plain dicts and lists. Raises `TaskError` for what JSON does not know."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _plain(inner, what) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, what) for inner in value]
    raise TaskError(
        f"{what} can only hold what JSON knows, got {type(value).__name__}: {value!r:.80}"
    )


def _items(value: Any, what: str) -> Iterable[Any]:
    if isinstance(value, list | tuple):
        return value
    raise TaskError(f"{what} is a list, got {value!r:.80}")
