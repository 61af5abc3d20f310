"""Bodies of OpenAI chat completions as a server reads them.

Pure. Every mistake in a body is a `BadRequest` that names the field; nothing else is raised. What a
simulated model has no use for (temperature, tools, a response format, ...) is accepted and without
effect; what would change the shape of the answer and is not there (several choices, logprobs) is
refused. Half a surrogate pair in a text becomes a replacement character.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashevolve.llm.messages import ImagePart, Message, Request, Role, TextPart, ToolCall
from flashevolve.llm.served import (
    BadRequest,
    flag_of,
    read_object,
    shown,
    text_of,
    whole_of,
    wrong,
)

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
CLIENT_DECIDES_S = 1e9
"""A request may wait as long as its client does."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a body asks for."""

    model: str
    request: Request
    stops: tuple[str, ...] = ()
    stream: bool = False
    include_usage: bool = False
    """A last chunk of a stream with the usage."""


def read_body(blob: bytes, default_max_tokens: int) -> Asked:
    """Returns what a request's body asks for. Raises `BadRequest`."""
    body = read_object(blob)
    _refuse_what_is_not_there(body)
    limit = whole_of(body, "max_completion_tokens", least=1) or whole_of(
        body, "max_tokens", least=1
    )
    options = body.get("stream_options") or {}
    if not isinstance(options, dict):
        raise wrong(body, "stream_options", "an object")
    return Asked(
        model=text_of(body, "model"),
        request=Request(
            messages=_messages(body.get("messages")),
            max_output_tokens=limit or default_max_tokens,
            seed=whole_of(body, "seed"),
            timeout_s=CLIENT_DECIDES_S,
        ),
        stops=_stops(body),
        stream=flag_of(body, "stream"),
        include_usage=flag_of(options, "include_usage", "stream_options.include_usage"),
    )


def _refuse_what_is_not_there(body: Mapping[str, Any]) -> None:
    if body.get("n", 1) not in (1, None):
        raise BadRequest(f"expected n = 1, found {shown(body['n'])}; ask again for more", param="n")
    if body.get("logprobs"):
        raise BadRequest("a simulated model has no logprobs; leave them out", param="logprobs")
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if value is not None and not _is_number(value):
            raise wrong(body, name, "a number")


def _is_number(value: Any) -> bool:
    # isfinite makes a float of an integer, which fails beyond 1e308.
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _messages(found: Any) -> tuple[Message, ...]:
    if not isinstance(found, list) or not found:
        raise BadRequest(
            f"messages: expected a list of at least one message, found {shown(found)}",
            param="messages",
        )
    return tuple(_message(entry, f"messages[{i}]") for i, entry in enumerate(found))


def _message(found: Any, where: str) -> Message:
    if not isinstance(found, dict):
        raise BadRequest(f"{where}: expected an object, found {shown(found)}", param=where)
    role = found.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise BadRequest(
            f"{where}.role: expected one of {', '.join(ROLES)}, found {shown(role)}",
            param=f"{where}.role",
        )
    calls = found.get("tool_calls")
    return Message(
        role=ROLES[role],
        content=_content(found.get("content"), f"{where}.content", may_lack=bool(calls)),
        tool_calls=_calls(calls, f"{where}.tool_calls"),
        tool_call_id=found.get("tool_call_id"),
    )


def _content(found: Any, where: str, *, may_lack: bool) -> str | tuple[TextPart | ImagePart, ...]:
    if isinstance(found, str):
        return _clean(found)
    if found is None and may_lack:
        return ""
    if not isinstance(found, list):
        raise BadRequest(
            f"{where}: expected a text or a list of parts, found {shown(found)}", param=where
        )
    return tuple(_part(part, f"{where}[{i}]") for i, part in enumerate(found))


def _part(found: Any, where: str) -> TextPart | ImagePart:
    kind = found.get("type") if isinstance(found, dict) else None
    if kind == "text" and isinstance(found.get("text"), str):
        return TextPart(text=_clean(found["text"]))
    if kind == "image_url" and isinstance(found.get("image_url"), dict):
        return ImagePart(url=_clean(str(found["image_url"].get("url"))))
    raise BadRequest(
        f"{where}: expected a part of type text or image_url, found {shown(found)}", param=where
    )


def _calls(found: Any, where: str) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    if not isinstance(found or [], list):
        raise BadRequest(f"{where}: expected a list, found {shown(found)}", param=where)
    for i, entry in enumerate(found or []):
        function = entry.get("function") if isinstance(entry, dict) else None
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, str):
            raise BadRequest(
                f"{where}[{i}]: expected a function with name and arguments, found {shown(entry)}",
                param=f"{where}[{i}]",
            )
        calls.append(ToolCall(id=_id(entry), name=_clean(name), arguments=_clean(arguments)))
    return tuple(calls)


def _id(entry: Mapping[str, Any]) -> str:
    return _clean(str(entry.get("id")))


def _stops(body: Mapping[str, Any]) -> tuple[str, ...]:
    found = body.get("stop")
    stops = [found] if isinstance(found, str) else found or []
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise wrong(body, "stop", "a text or a list of texts")
    return tuple(stops)


def _clean(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
