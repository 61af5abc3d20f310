"""The wire format: our requests as OpenAI chat-completion bodies, and their answers as replies.

Pure: text in, text out. A body never asks for more output than the request allows, so a budget's
reservation holds whatever `extra_body` says. A reply's text holds no reasoning and can always be
encoded as UTF-8.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from flashevolve.llm.errors import Empty, Fatal, Refused, Transient, Truncated
from flashevolve.llm.messages import (
    UNRECORDED_WORLD,
    Finish,
    ImagePart,
    Message,
    Part,
    Reply,
    Request,
    TextPart,
    ToolCall,
)

MaxTokensField = Literal["max_tokens", "max_completion_tokens"]

RESERVED = frozenset(
    {"model", "messages", "max_tokens", "max_completion_tokens", "n", "best_of", "stream"}
)
"""Keys that `extra_body` may not set: they would break the reservation of tokens, or the reading
of the answer."""

WORLD_HEADER = "x-flashevolve-world"
"""By which a simulated endpoint tells the hash of its world."""

SIMULATED_FINGERPRINT = "simulated-"
"""What its `system_fingerprint` begins with; the hash follows."""

MAX_QUOTED_CHARS = 300
"""Of an endpoint's own words in our messages: the sentence that matters, not a page of HTML."""

CUSTOM = "custom"
"""Type of a tool that is called with free text instead of JSON."""

INSTEAD_OF_CONTENT = frozenset({"function_call", "audio", "refusal"})
"""Fields of a turn that may stand where its content would."""

_NEWER_NAME = re.compile(r"(o1|o3|o4|gpt-5)")
_FINISH: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_WORLD_HASH = re.compile(r"[0-9a-f]{12}")
_READ_OF_MESSAGE = frozenset({"role", "content", "reasoning_content", "reasoning", "tool_calls"})
_READ_OF_CHOICE = frozenset({"index", "message", "delta", "finish_reason"})
_BROKEN_OFF = frozenset({"error", "abort"})
"""Reasons by which proxies and inference servers report that generation died half-way."""


class Unreadable(Exception):
    """A body that is no chat completion."""


def max_tokens_field(model_name: str) -> MaxTokensField:
    """Returns the field that bounds the output; reasoning models refuse the older name."""
    newer = _NEWER_NAME.match(model_name.rpartition("/")[2])
    return "max_completion_tokens" if newer else "max_tokens"


def request_body(
    model_name: str,
    request: Request,
    *,
    tokens_field: MaxTokensField,
    extra_body: Mapping[str, Any],
    send_seed: bool,
    stream: bool = False,
    stream_usage: bool = True,
) -> dict[str, Any]:
    """Returns the body for `request`; `extra_body` and then the request's own come last.

    A stream is asked for its usage, unless the endpoint is known to refuse that. Raises `Fatal` if
    the request's `extra_body` sets a key in `RESERVED`.
    """
    body: dict[str, Any] = {
        "model": model_name,
        "messages": [message_to_wire(m) for m in request.messages],
        tokens_field: request.max_output_tokens,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.reasoning_effort is not None:
        body["reasoning_effort"] = request.reasoning_effort
    if request.response_schema is not None:
        body["response_format"] = _response_format(request.response_schema)
    if request.tools:
        body["tools"] = [
            dict(t) if "type" in t else {"type": "function", "function": dict(t)}
            for t in request.tools
        ]
    if send_seed and request.seed is not None:
        body["seed"] = request.seed
    if problem := reserved_key(request.extra_body):
        raise Fatal(problem)
    body.update(extra_body)
    body.update(request.extra_body)
    if stream:
        body["stream"] = True
        if stream_usage:
            body["stream_options"] = {**body.get("stream_options", {}), "include_usage": True}
    return body


def encode(
    model_name: str,
    request: Request,
    *,
    tokens_field: MaxTokensField,
    extra_body: Mapping[str, Any],
    send_seed: bool,
    stream: bool = False,
    stream_usage: bool = True,
) -> bytes:
    """Returns `request_body` as JSON."""
    body = request_body(
        model_name,
        request,
        tokens_field=tokens_field,
        extra_body=extra_body,
        send_seed=send_seed,
        stream=stream,
        stream_usage=stream_usage,
    )
    # Half of a surrogate pair (from a reply cut inside an emoji) has no UTF-8 form.
    return json.dumps(body, ensure_ascii=False).encode(errors="replace")


def reserved_key(extra_body: Mapping[str, Any]) -> str | None:
    """Returns what is wrong with `extra_body` in one line, or None."""
    for key in RESERVED & extra_body.keys():
        return (
            f"extra_body may not set {key!r}: flashevolve sets it itself, so that budgets hold. "
            "Remove it; the length of answers is max_output_tokens."
        )
    return None


def message_to_wire(message: Message) -> dict[str, Any]:
    """Returns a message as OpenAI's API has it; `llm.dicts.as_messages` is the way back."""
    content: str | list[dict[str, Any]] | None
    if isinstance(message.content, str):
        content = message.content
    else:
        content = [_part(part) for part in message.content]
    if not content and (message.tool_calls or INSTEAD_OF_CONTENT & message.extra.keys()):
        content = None
    out: dict[str, Any] = {**message.extra, "role": message.role, "content": content}
    if message.tool_calls:
        out["tool_calls"] = [tool_call_to_wire(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        out["tool_call_id"] = message.tool_call_id
    return out


def tool_call_to_wire(call: ToolCall) -> dict[str, Any]:
    """Returns a tool call as OpenAI's API has it."""
    if call.extra.get("type") == CUSTOM:
        inner, named = {"name": call.name, "input": call.arguments}, CUSTOM
    else:
        inner, named = {"name": call.name, "arguments": call.arguments}, "function"
    out: dict[str, Any] = {"id": call.id, "type": named} | dict(call.extra)
    out[named] = {**inner, **call.extra.get(named, {})}
    return out


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": part.url}}
    return dict(part.data)


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    # Strict mode refuses every schema whose objects are open, so it is asked for only where the
    # schema says that it was written for it.
    strict = schema.get("additionalProperties") is False
    described = {"name": "reply", "schema": dict(schema), "strict": strict}
    return {"type": "json_schema", "json_schema": described}


def decode(blob: bytes) -> dict[str, Any]:
    """Returns the JSON object in `blob`. Raises `Unreadable`."""
    try:
        data = json.loads(blob)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"no JSON: {error}") from None
    if not isinstance(data, dict):
        raise Unreadable(f"expected a JSON object, found {type(data).__name__}")
    return data


def world_of(headers: Mapping[str, str], data: Mapping[str, Any]) -> str:
    """Returns what `Reply.world` says of an answer with these headers and this body."""
    told = headers.get(WORLD_HEADER)
    if told is None:
        # A gateway in between may keep headers to itself; it passes the body on.
        fingerprint = data.get("system_fingerprint")
        if not isinstance(fingerprint, str) or not fingerprint.startswith(SIMULATED_FINGERPRINT):
            return ""
        told = fingerprint.removeprefix(SIMULATED_FINGERPRINT)
    # It is recorded and printed: what is no hash may be an echoed key or move a cursor.
    return told if _WORLD_HASH.fullmatch(told) else UNRECORDED_WORLD


def read_reply(data: Mapping[str, Any], world: str = "") -> Reply:
    """Returns the reply in a chat completion; `world` is `world_of` it.

    Raises:
        Unreadable: `data` is no chat completion.
        Transient: generation broke off at the endpoint.
        Refused: a content filter or the model's own refusal took the place of the answer.
        Truncated: the answer hit the request's bound.
        Empty: there is no text and no tool call.
    """
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Unreadable("expected a list 'choices' with one object, found none")
    choice: dict[str, Any] = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Unreadable("expected an object 'choices[0].message', found none")
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else ""
    reply = _reply(choice, message, data, world)
    if finish in _BROKEN_OFF:
        raise Transient(
            f"the endpoint broke off the answer (finish_reason {finish!r})",
            reply=reply,
            billed_unknown=reply.tokens_out is None,
        )
    refusal = message.get("refusal")
    if reply.finish == "content_filter" or (refusal and not reply.text and not reply.tool_calls):
        words = " ".join(str(refusal or "no reason given").split())
        raise Refused(f"the model or its filter refused: {words[:MAX_QUOTED_CHARS]}", reply=reply)
    if reply.finish == "length":
        raise Truncated("the answer was cut at max_output_tokens", reply=reply)
    told = reply.extra.get("message", {})
    if not reply.text.strip() and not reply.tool_calls and not INSTEAD_OF_CONTENT & told.keys():
        raise Empty("the answer holds no text and no tool call", reply=reply)
    return reply


def _reply(
    choice: Mapping[str, Any], message: Mapping[str, Any], data: Mapping[str, Any], world: str
) -> Reply:
    finish = choice.get("finish_reason")
    told = message.get("reasoning_content") or message.get("reasoning") or ""
    reasoning = _clean(told) if isinstance(told, str) else ""
    text = _clean(_text(message.get("content")))
    thought, text = split_reasoning(text, may_be_implied=not reasoning)
    tokens_in, tokens_out = _usage(data.get("usage"))
    return Reply(
        text=text,
        reasoning="\n".join(part for part in (reasoning, thought) if part),
        tool_calls=_tool_calls(message.get("tool_calls")),
        finish=_FINISH.get(finish, "stop") if isinstance(finish, str) else "stop",
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        model=str(data.get("model") or ""),
        extra=_told_besides(choice, message),
        world=world,
    )


def _told_besides(choice: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a `Reply` has no field for; nothing that is empty."""
    besides = {
        "message": {k: v for k, v in message.items() if v and k not in _READ_OF_MESSAGE},
        "choice": {k: v for k, v in choice.items() if v and k not in _READ_OF_CHOICE},
    }
    return {name: fields for name, fields in besides.items() if fields}


def split_reasoning(text: str, *, may_be_implied: bool = True) -> tuple[str, str]:
    """Returns (reasoning, answer) of a text that may open with `<think>` blocks.

    Tags further on belong to the answer: an evolved prompt may well speak of them. Some chat
    templates put the opening tag into the prompt, so that a lone `</think>` ends the reasoning
    (`may_be_implied`). A block that is never closed is all reasoning.
    """
    if "think>" not in text:
        return "", text
    thoughts: list[str] = []
    rest = text.lstrip()
    while rest.startswith("<think>"):
        thought, _, rest = rest[len("<think>") :].partition("</think>")
        thoughts.append(thought.strip())
        rest = rest.lstrip()
    if not thoughts and may_be_implied:
        before, closed, after = rest.partition("</think>")
        if closed and "<think>" not in before:
            return before.strip(), after.lstrip()
    return ("\n".join(thoughts), rest) if thoughts else ("", text)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"]
    return "\n".join(t for t in texts if isinstance(t, str))


def _clean(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tool_calls(found: Any) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for entry in found if isinstance(found, list) else ():
        named = CUSTOM if isinstance(entry, dict) and entry.get("type") == CUSTOM else "function"
        inner = entry.get(named) if isinstance(entry, dict) else None
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            continue
        arguments = inner.get("input" if named == CUSTOM else "arguments")
        if not isinstance(arguments, str):  # Some servers send the object instead of its text.
            arguments = json.dumps(arguments if arguments is not None else {})
        calls.append(
            ToolCall(
                id=str(entry.get("id") or f"call_{len(calls)}"),
                name=inner["name"],
                arguments=_clean(arguments),
                extra=call_extra(entry, named),
            )
        )
    return tuple(calls)


def call_extra(entry: Mapping[str, Any], named: str) -> dict[str, Any]:
    """Returns what a tool call on the wire holds besides id, name and arguments.

    `named` is its type, and the field in which its name is.
    """
    # The index says where a piece of a stream belongs, and nothing about the call.
    read = {"id", "type", "index", named}
    extra = {k: v for k, v in entry.items() if v is not None and k not in read}
    known = ("name", "input" if named == CUSTOM else "arguments")
    rest = {k: v for k, v in entry.get(named, {}).items() if v is not None and k not in known}
    if rest:
        extra[named] = rest
    return {**extra, "type": CUSTOM} if named == CUSTOM else extra


def _usage(usage: Any) -> tuple[int | None, int | None]:
    if not isinstance(usage, dict):
        return None, None
    tokens_in = _count(usage.get("prompt_tokens"))
    tokens_out = _count(usage.get("completion_tokens"))
    total = _count(usage.get("total_tokens"))
    if None not in (tokens_in, tokens_out, total):
        # Several hosts bill reasoning as output but leave it out of completion_tokens.
        tokens_out = max(tokens_out or 0, (total or 0) - (tokens_in or 0))
    return tokens_in, tokens_out


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
