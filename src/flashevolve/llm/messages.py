"""What is said to a model and what it says back, independent of any wire format.

All frozen, all JSON-serialisable; requests hash the same however they were built. What OpenAI's
chat API knows and we have no name for travels in `extra` fields and `OtherPart`s, unread.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
Finish = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True, kw_only=True)
class TextPart:
    """A piece of text inside a message of several parts."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, kw_only=True)
class ImagePart:
    """An image inside a message of several parts."""

    url: str
    """An https or data URL."""
    type: Literal["image"] = "image"


@dataclass(frozen=True, kw_only=True)
class OtherPart:
    """A part of a message that is neither plain text nor a plain image, as its sender wrote it.

    An audio, a file, a text with a mark for the cache, an image with a wish for its detail.
    """

    data: Mapping[str, Any] = field(hash=False)
    """With its own `type`, which a host knows."""
    type: Literal["other"] = "other"

    @property
    def text(self) -> str:
        """The text of a text part; empty for anything else."""
        text = self.data.get("text") if self.data.get("type") == "text" else None
        return text if isinstance(text, str) else ""


Part = TextPart | ImagePart | OtherPart


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A model's wish to have a tool called."""

    id: str
    name: str
    arguments: str
    """JSON text, exactly as the model wrote it; free text if `extra` says type `custom`."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Its other fields; those inside the function are under `function`."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One turn."""

    role: Role
    content: str | tuple[Part, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    """Only on assistant turns."""
    tool_call_id: str | None = None
    """Only on tool turns: the call that this answers."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Its other fields (name, audio, refusal, ...), sent as they are."""

    @property
    def is_standing(self) -> bool:
        """Whether it says how to behave; "developer" is a newer name for "system"."""
        return self.role in ("system", "developer")

    @property
    def text(self) -> str:
        """All text of the message, parts joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        texts = [
            part.text
            for part in self.content
            if isinstance(part, TextPart) or (isinstance(part, OtherPart) and part.text)
        ]
        return "\n".join(texts)


def system(text: str) -> Message:
    """Returns a system message."""
    return Message(role="system", content=text)


def user(text: str) -> Message:
    """Returns a user message."""
    return Message(role="user", content=text)


def assistant(text: str) -> Message:
    """Returns an assistant message."""
    return Message(role="assistant", content=text)


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request to one model."""

    messages: tuple[Message, ...]
    max_output_tokens: int = 8192
    temperature: float | None = None
    """None = the endpoint's default."""
    reasoning_effort: str | None = None
    response_schema: Mapping[str, Any] | None = None
    """A JSON schema that the reply must satisfy; None = free text."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """JSON schemas of functions that the model may ask for."""
    seed: int | None = None
    """Same messages and seed = same answer where the endpoint can; None = a new sample."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = 600.0

    @property
    def input_bound_tokens(self) -> int:
        """More tokens than the endpoint can count: no tokenizer emits more tokens than bytes.

        Texts as UTF-8, tools, schema and `extra_body` as indented JSON, since templates write
        them so; an image, and what a template puts around each message, as constants. What may
        stand for a document counts as much as any model can read.
        """
        n_tokens = MESSAGE_OVERHEAD_TOKENS * (len(self.messages) + 1)
        for message in self.messages:
            n_tokens += _bound_tokens(message)
        for extra in (self.tools, self.response_schema, self.extra_body):
            if extra:
                n_tokens += FORMAT_OVERHEAD_TOKENS + json_bound_tokens(extra)
        return n_tokens


MESSAGE_OVERHEAD_TOKENS = 16
"""Chat templates spend 3 to 10 tokens around each message; twice that is safe."""
FORMAT_OVERHEAD_TOKENS = 1024
"""Endpoints explain to the model how to call tools or keep to a schema, in up to 600 tokens."""
IMAGE_BOUND_TOKENS = 4096
"""Hosts count an image by its size, from 85 to some 3,000 tokens, whatever its bytes."""


DOCUMENT_BOUND_TOKENS = 1_000_000
"""A file, or anything that is named by an address or an id: its bytes say nothing (a page of a
PDF takes a few hundred and is read as text and as an image), and models read a million at most."""
_BOUND_BY_BYTES = frozenset({"text", "refusal", "input_audio", "thinking", "redacted_thinking"})
"""Kinds of parts that carry what is read; a second of audio has far more bytes than tokens."""
_NAMES_WHAT_IS_STORED = "audio"
"""The field of a turn that names, by its id, what the endpoint kept of an earlier answer."""


def _bound_tokens(message: Message) -> int:
    n_tokens = text_bound_tokens(message.text) + text_bound_tokens(message.tool_call_id or "")
    if not isinstance(message.content, str):
        for part in message.content:
            if isinstance(part, ImagePart):
                n_tokens += IMAGE_BOUND_TOKENS
            elif isinstance(part, OtherPart):
                n_tokens += _other_bound_tokens(part.data)
    if message.tool_calls:
        n_tokens += json_bound_tokens([vars(call) for call in message.tool_calls])
    if message.extra:
        n_tokens += json_bound_tokens(message.extra)
        n_tokens += DOCUMENT_BOUND_TOKENS * (_NAMES_WHAT_IS_STORED in message.extra)
    return n_tokens


def _other_bound_tokens(data: Mapping[str, Any]) -> int:
    kind = data.get("type")
    if kind == "image_url":
        rest = {name: value for name, value in data.items() if name != "image_url"}
        return IMAGE_BOUND_TOKENS + json_bound_tokens(rest)
    return json_bound_tokens(data) + DOCUMENT_BOUND_TOKENS * (kind not in _BOUND_BY_BYTES)


def text_bound_tokens(text: str) -> int:
    """Returns the length in UTF-8; half a surrogate pair, which has none, counts three bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def json_bound_tokens(value: Any) -> int:
    """Returns the length of indented JSON; escapes are longer than the letters they stand for."""
    return len(json.dumps(value, indent=4, default=_plain))


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a model answered."""

    text: str
    """The answer with any reasoning removed."""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    tokens_in: int | None = None
    """As the endpoint counted; None = it did not say."""
    tokens_out: int | None = None
    model: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Other fields of the answer: of its message (refusal, annotations, audio, ...) under
    `message`, of the choice (logprobs, ...) under `choice`; no empty ones."""
    world: str = ""
    """Hash of the simulated world behind the endpoint, `UNRECORDED_WORLD` if it told none; empty
    for an endpoint that does not say that it is simulated."""


UNRECORDED_WORLD = "unrecorded"
"""In place of a hash: simulated, and nobody knows by which world."""
