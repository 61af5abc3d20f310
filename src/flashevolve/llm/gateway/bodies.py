"""Bodies: what a client asks the gateway for, as our requests have it.

Pure. Every mistake is a `BadRequest` that names the field. What we have a name for becomes a field
of `Request`; whatever else a body holds travels in `extra_body`, as it came. A client may ask for
shorter answers than its role is allowed, never for longer ones.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashevolve.errors import TaskError, nearest
from flashevolve.llm.dicts import as_messages
from flashevolve.llm.embeddings import Inputs, embed_request
from flashevolve.llm.messages import Message
from flashevolve.llm.served import (
    BadRequest,
    flag_of,
    limit_of,
    read_object,
    shown,
    text_of,
    whole_of,
    wrong,
)

MAX_CHOICES = 128
"""As many as OpenAI gives for one request."""
_READ = frozenset(
    {
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "stream",
        "stream_options",
        "temperature",
        "reasoning_effort",
        "response_format",
        "tools",
    }
)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a client may name as its model."""

    limits: Mapping[str, int]
    """Role -> longest answer in tokens."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Name of a model -> a role that has it."""

    def role(self, model: str) -> str:
        """Returns the role that a name means, with or without a provider in front.

        Raises `BadRequest` for an unknown one.
        """
        for name in (model, model.partition("/")[2]):
            if name in self.limits:
                return name
            if name in self.names:
                return self.names[name]
        roles = ", ".join(self.limits)
        raise BadRequest(
            f"model: expected a role ({roles}) or the name of a configured model, found "
            f"{shown(model)}.{nearest(model, [*self.limits, *self.names])} Usual is 'task'",
            param="model",
            status=404,
            code="model_not_found",
        )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a body asks for."""

    model: str
    role: str
    messages: Sequence[Message]
    n: int = 1
    stream: bool = False
    include_usage: bool = False
    """A last chunk of a stream with the usage."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Of `Request`."""


def read_chat(blob: bytes, known: Known) -> Asked:
    """Returns what a chat request asks for. Raises `BadRequest`."""
    body = {name: value for name, value in read_object(blob).items() if value is not None}
    model = text_of(body, "model")
    role = known.role(model)
    options = body.get("stream_options", {})
    if not isinstance(options, dict):
        raise wrong(body, "stream_options", "an object")
    n = whole_of(body, "n", least=1) or 1
    if n > MAX_CHOICES:
        raise wrong(body, "n", f"an integer from 1 to {MAX_CHOICES}")
    return Asked(
        model=model,
        role=role,
        messages=_messages(body),
        n=n,
        stream=flag_of(body, "stream"),
        include_usage=flag_of(options, "include_usage", "stream_options.include_usage"),
        fields=_fields(body, known.limits[role]),
    )


@dataclass(frozen=True, kw_only=True)
class AskedVectors:
    """What a body asks to have embedded."""

    model: str
    role: str
    inputs: Inputs
    as_base64: bool
    options: Mapping[str, Any]


def read_embed(blob: bytes, known: Known) -> AskedVectors:
    """Returns what a request for embeddings asks for. Raises `BadRequest`."""
    body = {name: value for name, value in read_object(blob).items() if value is not None}
    model, inputs = text_of(body, "model"), body.get("input")
    coding = body.get("encoding_format", "float")
    if coding not in ("float", "base64"):
        raise wrong(body, "encoding_format", "'float' or 'base64'")
    if isinstance(inputs, list) and inputs and all(type(token) is int for token in inputs):
        inputs = [inputs]  # One text, as its tokens.
    if not isinstance(inputs, str | list):
        raise wrong(body, "input", "a text or a list of texts")
    options = {k: v for k, v in body.items() if k not in ("model", "input", "encoding_format")}
    try:
        embed_request(inputs, options)
    except TaskError as error:
        raise BadRequest(f"input: {error}", param="input") from None
    return AskedVectors(
        model=model,
        role=known.role(model),
        inputs=inputs,
        as_base64=coding == "base64",
        options=options,
    )


def _messages(body: Mapping[str, Any]) -> Sequence[Message]:
    found = body.get("messages")
    if not isinstance(found, list) or not found:
        raise wrong(body, "messages", "a list of at least one message")
    try:
        return as_messages(found)
    except TaskError as error:
        raise BadRequest(f"messages: {error}", param="messages") from None


def _fields(body: Mapping[str, Any], longest: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    limit = limit_of(body)
    if limit is not None:
        fields["max_output_tokens"] = min(limit, longest)
    if "temperature" in body:
        fields["temperature"] = _number(body, "temperature")
    if "reasoning_effort" in body:
        fields["reasoning_effort"] = text_of(body, "reasoning_effort")
    tools = body.get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise wrong(body, "tools", "a list of objects")
    if tools:
        fields["tools"] = tuple(tools)
    # A seed in the body is part of the question, so another seed is another sample.
    extra = {name: value for name, value in body.items() if name not in _READ}
    if "best_of" in extra:
        raise BadRequest("best_of: chat has none; ask for n answers and choose", param="best_of")
    wanted = body.get("response_format", {})
    if not isinstance(wanted, dict):
        raise wrong(body, "response_format", "an object")
    schema = _schema(wanted)
    if schema is not None:
        fields["response_schema"] = schema
    if wanted:
        # As it came: its name, and whether it is strict, are the client's to say.
        extra["response_format"] = wanted
    if extra:
        fields["extra_body"] = extra
    return fields


def _schema(wanted: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if wanted.get("type") != "json_schema":
        return None
    described = wanted.get("json_schema")
    schema = described.get("schema") if isinstance(described, dict) else None
    if not isinstance(schema, dict):
        raise BadRequest(
            f"response_format.json_schema.schema: expected an object, found {shown(described)}",
            param="response_format",
        )
    return schema


def _number(body: Mapping[str, Any], name: str) -> float:
    value = body[name]
    # JSON's numbers know no bounds, so that one may be no float.
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise wrong(body, name, "a number")
    return float(value)
