"""Embeddings: texts as vectors; what is asked, what comes back, on the wire and in the record.

Pure. Vectors are float32 from the start: what a resume finds in the record, base64 of the bytes,
equals what the first process got. The same texts and options are the same question, whoever asks.
"""

import json
import sys
from array import array
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

from flashevolve.errors import TaskError
from flashevolve.llm.errors import Fatal
from flashevolve.llm.messages import json_bound_tokens, text_bound_tokens
from flashevolve.llm.secrets import without_secrets
from flashevolve.llm.wire import Unreadable

INPUT_OVERHEAD_TOKENS = 16
"""Marks around each text, and an instruction that some endpoints put before it."""
RESERVED = frozenset({"model", "input", "encoding_format"})
"""Keys that a caller's options may not set: they are said elsewhere, or change what comes back."""

Inputs = str | Sequence[str | Sequence[int]]
"""One text, or several; a text may be given as its tokens."""


@dataclass(frozen=True, kw_only=True)
class EmbedRequest:
    """Texts to embed, all by one model."""

    inputs: tuple[str | tuple[int, ...], ...]
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Options that the endpoint knows, such as `dimensions`."""
    timeout_s: float = 600.0

    @property
    def input_bound_tokens(self) -> int:
        """More tokens than the endpoint can count: no tokenizer emits more tokens than bytes."""
        n_tokens = json_bound_tokens(self.extra_body) if self.extra_body else 0
        for entry in self.inputs:
            n_tokens += INPUT_OVERHEAD_TOKENS
            n_tokens += text_bound_tokens(entry) if isinstance(entry, str) else len(entry)
        return n_tokens

    @property
    def max_output_tokens(self) -> int:
        """None are generated."""
        return 0


@dataclass(frozen=True, kw_only=True)
class Embeddings:
    """Vectors of texts, in their order."""

    vectors: tuple["array[float]", ...]
    """float32; `list(vector)` gives Python's floats."""
    tokens_in: int | None = None
    """As the endpoint counted; None = it did not say."""
    model: str = ""

    @property
    def tokens_out(self) -> int:
        """None are generated."""
        return 0


@runtime_checkable
class EmbeddingModel(Protocol):
    """What a `ChatModel` may do besides."""

    async def embed(self, request: EmbedRequest) -> Embeddings:
        """Answers one request, or raises an `LLMError` of the fitting kind."""
        ...


def embed_request(inputs: Inputs, parameters: Mapping[str, Any]) -> EmbedRequest:
    """Returns the request for `inputs`. Raises `TaskError` for what is no text."""
    entries: Sequence[str | Sequence[int]] = [inputs] if isinstance(inputs, str) else inputs
    read: list[str | tuple[int, ...]] = []
    for i, entry in enumerate(entries):
        if isinstance(entry, str):
            read.append(entry)
        elif isinstance(entry, Sequence) and all(type(token) is int for token in entry):
            read.append(tuple(cast(Sequence[int], entry)))
        else:
            raise TaskError(
                f"inputs[{i}] of an embedding is a text or a list of token numbers, got "
                f"{entry!r:.80}. Pass a text, or a list of texts"
            )
    if not read:
        raise TaskError("an embedding needs at least one text, got an empty list")
    # The form of the numbers on the wire is between us and the endpoint, whoever else names one.
    options = {name: value for name, value in parameters.items() if name != "encoding_format"}
    for name in RESERVED & options.keys():
        raise TaskError(f"an embedding's options may not set {name!r}; leave it out")
    return EmbedRequest(inputs=tuple(read), extra_body=options)


def encode_embed(model_name: str, request: EmbedRequest, extra_body: Mapping[str, Any]) -> bytes:
    """Returns the JSON body for `request`; the model's `extra_body` comes before its own."""
    body: dict[str, Any] = {"model": model_name, "input": list(request.inputs)}
    for extra in (extra_body, request.extra_body):
        for name in RESERVED & extra.keys():
            raise Fatal(f"extra_body may not set {name!r} for embeddings. Remove it.")
        body.update(extra)
    return json.dumps(body, ensure_ascii=False).encode(errors="replace")


def read_embeddings(data: Mapping[str, Any], n: int) -> Embeddings:
    """Returns the embeddings of `n` texts in an endpoint's answer. Raises `Unreadable`."""
    entries = data.get("data")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Unreadable("expected a list 'data' of objects, found none")
    if len(entries) != n:
        raise Unreadable(f"expected {n} embeddings in 'data', found {len(entries)}")
    found: dict[int, array[float]] = {}
    for place, entry in enumerate(entries):
        index = entry.get("index", place)
        found[index if type(index) is int else place] = _vector(entry.get("embedding"))
    if found.keys() != set(range(n)):
        raise Unreadable(f"expected each index from 0 to {n - 1} once, found {sorted(found)}")
    usage = data.get("usage")
    tokens = usage.get("prompt_tokens", usage.get("total_tokens")) if isinstance(usage, dict) else 0
    return Embeddings(
        vectors=tuple(found[i] for i in range(n)),
        tokens_in=tokens if type(tokens) is int and tokens > 0 else None,
        model=str(data.get("model") or ""),
    )


def _vector(found: Any) -> "array[float]":
    try:
        if isinstance(found, str):
            return _unpacked(found)
        if isinstance(found, list):
            return array("f", found)
    except (TypeError, ValueError, OverflowError, Base64Error):
        pass
    raise Unreadable("expected an 'embedding' of numbers in each entry, found none")


def embed_request_to_json(request: EmbedRequest) -> dict[str, Any]:
    """Returns what determines the vectors: texts and options, no endpoint, no time-out."""
    inputs = [list(entry) if isinstance(entry, tuple) else entry for entry in request.inputs]
    data: dict[str, Any] = {"inputs": inputs}
    if request.extra_body:
        data["extra_body"] = without_secrets(dict(request.extra_body))
    return data


def embeddings_to_json(embeddings: Embeddings) -> dict[str, Any]:
    """Returns embeddings as plain data."""
    data: dict[str, Any] = {"vectors": [_packed(vector) for vector in embeddings.vectors]}
    if embeddings.tokens_in is not None:
        data["tokens_in"] = embeddings.tokens_in
    if embeddings.model:
        data["model"] = embeddings.model
    return data


def embeddings_from_json(data: Mapping[str, Any]) -> Embeddings:
    """Returns the embeddings that `embeddings_to_json` described."""
    return Embeddings(**{**data, "vectors": tuple(_unpacked(v) for v in data["vectors"])})


def _packed(vector: "array[float]") -> str:
    return b64encode(_little_endian(vector).tobytes()).decode()


def _unpacked(text: str) -> "array[float]":
    return _little_endian(array("f", b64decode(text, validate=True)))


def _little_endian(vector: "array[float]") -> "array[float]":
    if sys.byteorder == "little":
        return vector
    swapped = array("f", vector)
    swapped.byteswap()
    return swapped
