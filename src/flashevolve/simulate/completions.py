"""OpenAI chat completions as a server writes them: whole, in chunks, and errors.

Pure. The tokens of an answer that are not in its text are told as reasoning tokens, which is what
they stand for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flashevolve.llm.messages import Reply
from flashevolve.simulate.prefix import count_tokens

CHUNK_CHARS = 24
"""Of a streamed answer: as much as a loaded engine sends at once, some six tokens."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """What is said of an answer before it is known."""

    id: str
    created_s: int
    """Since 1970."""
    model: str
    fingerprint: str


def completion(head: Head, reply: Reply, cached_tokens: int) -> dict[str, Any]:
    """Returns the body of a whole answer."""
    message = {"role": "assistant", "content": reply.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish}
    usage = _usage(reply, cached_tokens)
    return {**_told(head, "chat.completion"), "choices": [choice], "usage": usage}


def first_chunk(head: Head) -> dict[str, Any]:
    """Returns the chunk that is sent when the first token is there: a role, and no text yet."""
    return _chunk(head, {"role": "assistant", "content": ""})


def later_chunks(head: Head, reply: Reply, cached_tokens: int | None) -> Iterator[dict[str, Any]]:
    """Yields the chunks with the text, the reason of its end and, given `cached_tokens`, usage."""
    for start in range(0, len(reply.text), CHUNK_CHARS):
        yield _chunk(head, {"content": reply.text[start : start + CHUNK_CHARS]})
    yield _chunk(head, {}, reply.finish)
    if cached_tokens is not None:
        usage = _usage(reply, cached_tokens)
        yield {**_told(head, "chat.completion.chunk"), "choices": [], "usage": usage}


def _chunk(head: Head, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_told(head, "chat.completion.chunk"), "choices": [choice]}


def _told(head: Head, kind: str) -> dict[str, Any]:
    return {
        "id": head.id,
        "object": kind,
        "created": head.created_s,
        "model": head.model,
        "system_fingerprint": head.fingerprint,
    }


def _usage(reply: Reply, cached_tokens: int) -> dict[str, Any]:
    n_in, n_out = reply.tokens_in or 0, reply.tokens_out or 0
    n_hidden = max(0, n_out - count_tokens(reply.text.encode()))
    return {
        "prompt_tokens": n_in,
        "completion_tokens": n_out,
        "total_tokens": n_in + n_out,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": n_hidden},
    }


def until_stop(text: str, stops: Sequence[str]) -> str:
    """Returns the text before the earliest of the stop sequences."""
    ends = [at for at in map(text.find, stops) if at >= 0]
    return text[: min(ends)] if ends else text
