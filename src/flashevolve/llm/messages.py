"""What is said to a model and what it says back, independent of any wire format.

All frozen, all JSON-serialisable; requests hash the same however they were built.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]
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
class ToolCall:
    """A model's wish to have a tool called."""

    id: str
    name: str
    arguments: str
    """JSON text, exactly as the model wrote it."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One turn."""

    role: Role
    content: str | tuple[TextPart | ImagePart, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    """Only on assistant turns."""
    tool_call_id: str | None = None
    """Only on tool turns: the call that this answers."""

    @property
    def text(self) -> str:
        """All text of the message, parts joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


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
        them so; an image, and what a template puts around each message, as constants.
        """
        n_tokens = MESSAGE_OVERHEAD_TOKENS * (len(self.messages) + 1)
        for message in self.messages:
            n_tokens += text_bound_tokens(message.text)
            if not isinstance(message.content, str):
                images = sum(isinstance(part, ImagePart) for part in message.content)
                n_tokens += IMAGE_BOUND_TOKENS * images
            if message.tool_calls:
                n_tokens += json_bound_tokens([asdict(call) for call in message.tool_calls])
            n_tokens += text_bound_tokens(message.tool_call_id or "")
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
    world: str = ""
    """Hash of the simulated world behind the endpoint, `UNRECORDED_WORLD` if it told none; empty
    for an endpoint that does not say that it is simulated."""


UNRECORDED_WORLD = "unrecorded"
"""In place of a hash: simulated, and nobody knows by which world."""
