"""Requests and replies as the JSON that is hashed and recorded; no endpoint, no key.

Fields at their default are left out, so that a later field changes no earlier hash.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from flashevolve.llm.messages import Message, Reply, Request, ToolCall
from flashevolve.llm.secrets import without_secrets
from flashevolve.store.codec import intern_json, text_hash


def message_to_json(message: Message) -> dict[str, Any]:
    """Returns a message as plain data; empty fields are left out."""
    if isinstance(message.content, str):
        data: dict[str, Any] = {"role": message.role, "content": message.content}
    else:
        data = {"role": message.role, "content": [asdict(part) for part in message.content]}
    if message.tool_calls:
        data["tool_calls"] = [_call_to_json(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        data["tool_call_id"] = message.tool_call_id
    if message.extra:
        data["extra"] = dict(message.extra)
    return data


def _call_to_json(call: ToolCall) -> dict[str, Any]:
    data: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": call.arguments}
    if call.extra:
        data["extra"] = dict(call.extra)
    return data


def request_to_json(request: Request) -> dict[str, Any]:
    """Returns what determines the answer: messages and parameters, no endpoint, no time-out."""
    data: dict[str, Any] = {
        "messages": [message_to_json(m) for m in request.messages],
        "max_output_tokens": request.max_output_tokens,
    }
    for name in ("temperature", "reasoning_effort", "response_schema"):
        if (value := getattr(request, name)) is not None:
            data[name] = value
    if request.tools:
        data["tools"] = list(request.tools)
    if request.extra_body:
        data["extra_body"] = without_secrets(dict(request.extra_body))
    return data


def request_hash(data: Mapping[str, Any]) -> str:
    """Returns 32 hexadecimal digits over `request_to_json`'s data.

    Over its stored form, in which long texts are hashes already: each is hashed once for both.
    """
    # How long an answer may get is no part of the question: a resume that allows more of it still
    # finds what was answered before.
    body, _ = intern_json({k: v for k, v in data.items() if k != "max_output_tokens"})
    return text_hash(body)


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """Returns a reply as plain data; empty fields are left out."""
    data = {name: value for name, value in vars(reply).items() if value}
    if reply.tool_calls:
        data["tool_calls"] = [_call_to_json(call) for call in reply.tool_calls]
    return data


def reply_from_json(data: Mapping[str, Any]) -> Reply:
    """Returns the reply that `reply_to_json` described."""
    calls = tuple(ToolCall(**call) for call in data.get("tool_calls", ()))
    return Reply(**{"text": "", **data, "tool_calls": calls})
