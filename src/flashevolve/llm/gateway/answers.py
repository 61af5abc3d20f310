"""Answers: our replies and errors, as an OpenAI client reads them.

Pure. What is an answer of a kind (refused, cut off, empty) is told as an answer, since clients
expect one; what no further request can mend is told so that no client tries again by itself.
"""

import sys
from array import array
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flashevolve.engine.funds import BudgetExhausted
from flashevolve.errors import FlashEvolveError
from flashevolve.llm.embeddings import Embeddings
from flashevolve.llm.errors import Fatal, LLMError, Refused, Truncated
from flashevolve.llm.messages import Reply
from flashevolve.llm.served import error_body
from flashevolve.llm.wire import tool_call_to_wire

CHUNK_CHARS = 2000
"""Of an answer that came whole to a client that asked for a stream."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """What is said of an answer besides itself."""

    id: str
    created_s: int
    """Since 1970."""
    model: str
    """Who is asked, in the client's words."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An error as it is sent."""

    status: int
    body: dict[str, Any]


def reply_of(error: LLMError) -> Reply:
    """Returns the reply that stands for an answer of a kind: refused, cut off or empty."""
    reply = error.reply or Reply(text="")
    if isinstance(error, Truncated):
        return replace(reply, finish="length")
    if isinstance(error, Refused) and not reply.extra.get("message", {}).get("refusal"):
        message = {**reply.extra.get("message", {}), "refusal": str(error)}
        extra = {**reply.extra, "message": message}
        return replace(reply, finish="content_filter", extra=extra)
    return reply


def completion(head: Head, replies: Sequence[Reply]) -> dict[str, Any]:
    """Returns the body of a whole answer, one choice for each reply."""
    choices = [_choice(i, reply) for i, reply in enumerate(replies)]
    told = _told(head, "chat.completion", replies[0])
    return {**told, "choices": choices, "usage": usage(replies)}


def chunks(head: Head, index: int, reply: Reply) -> Iterator[dict[str, Any]]:
    """Yields the chunks of an answer that came whole, as choice `index`."""
    message = _message(reply)
    text = message.pop("content") or ""
    calls = message.pop("tool_calls", [])
    for i, call in enumerate(calls):
        call["index"] = i
    delta: dict[str, Any] = {**message, "content": text[:CHUNK_CHARS]}
    if calls:
        delta["tool_calls"] = calls
    yield _chunk(head, index, reply, delta)
    for start in range(CHUNK_CHARS, len(text), CHUNK_CHARS):
        yield _chunk(head, index, reply, {"content": text[start : start + CHUNK_CHARS]})
    last = _chunk(head, index, reply, {}, reply.finish)
    last["choices"][0].update(reply.extra.get("choice", {}))
    yield last


def usage_chunk(head: Head, replies: Sequence[Reply]) -> dict[str, Any]:
    """Returns the last chunk for a client that asked for the usage."""
    told = _told(head, "chat.completion.chunk", replies[0])
    return {**told, "choices": [], "usage": usage(replies)}


def usage(replies: Sequence[Reply]) -> dict[str, int]:
    """Returns the tokens of all replies; the request is counted once for each, as it was billed."""
    n_in = sum(reply.tokens_in or 0 for reply in replies)
    n_out = sum(reply.tokens_out or 0 for reply in replies)
    return {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out}


def vectors(model: str, found: Embeddings, as_base64: bool) -> dict[str, Any]:
    """Returns the body of an answer with embeddings."""
    data = [
        {"object": "embedding", "index": i, "embedding": _vector(vector, as_base64)}
        for i, vector in enumerate(found.vectors)
    ]
    n_in = found.tokens_in or 0
    told = {"prompt_tokens": n_in, "total_tokens": n_in}
    return {"object": "list", "data": data, "model": found.model or model, "usage": told}


def _vector(vector: "array[float]", as_base64: bool) -> Any:
    if not as_base64:
        return list(vector)
    little = array("f", vector)
    if sys.byteorder == "big":
        little.byteswap()
    return b64encode(little.tobytes()).decode()


def failure_of(error: Exception) -> Failure:
    """Returns what a client is told of an error that is no answer."""
    said = " ".join(str(error).split())
    if isinstance(error, BudgetExhausted):
        return Failure(status=403, body=error_body(said, "budget", code="budget_exhausted"))
    if isinstance(error, Fatal):
        return Failure(status=400, body=error_body(said, "invalid_request_error", code="fatal"))
    if isinstance(error, LLMError):
        return Failure(status=503, body=error_body(said, "server_error", code=error.kind))
    if isinstance(error, FlashEvolveError):
        return Failure(status=400, body=error_body(said, "invalid_request_error"))
    named = f"a bug of flashevolve or of a model's client: {type(error).__name__}: {said}"
    return Failure(status=500, body=error_body(named, "server_error"))


def _choice(index: int, reply: Reply) -> dict[str, Any]:
    choice = {
        "index": index,
        "message": _message(reply),
        "logprobs": None,
        "finish_reason": reply.finish,
    }
    return {**choice, **reply.extra.get("choice", {})}


def _message(reply: Reply) -> dict[str, Any]:
    text = reply.text or (None if reply.tool_calls else "")
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [tool_call_to_wire(call) for call in reply.tool_calls]
    return {**message, **reply.extra.get("message", {})}


def _chunk(
    head: Head, index: int, reply: Reply, delta: dict[str, Any], finish: str | None = None
) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_told(head, "chat.completion.chunk", reply), "choices": [choice]}


def _told(head: Head, kind: str, reply: Reply) -> dict[str, Any]:
    return {
        "id": head.id,
        "object": kind,
        "created": head.created_s,
        "model": reply.model or head.model,
    }
