import asyncio
import json
from array import array
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import ConfigError, TaskError
from flashevolve.llm.embeddings import (
    INPUT_OVERHEAD_TOKENS,
    EmbeddingModel,
    Embeddings,
    EmbedRequest,
    embed_request,
    embed_request_to_json,
    embeddings_from_json,
    embeddings_to_json,
    encode_embed,
    read_embeddings,
)
from flashevolve.llm.errors import Fatal, LLMError, RateLimited, Refused, Transient
from flashevolve.llm.http import HTTPModel
from flashevolve.llm.wire import Unreadable
from tests.fakes.endpoint import Endpoint, Step, garbage, rate_limited, status
from tests.fakes.model import ScriptedModel
from tests.fakes.time_travel import run
from tests.llm.test_calls import Rig, echo

CANARY = "sk-canary-0123456789abcdef"
FLOATS = st.lists(st.floats(width=32, allow_nan=False), max_size=5)


def body(*vectors: Any, **more: Any) -> dict[str, Any]:
    entries = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return {"object": "list", "data": entries, "model": "fake-e", "usage": usage, **more}


def answered(*vectors: Any) -> Step:
    return Step(body=json.dumps(body(*vectors)).encode())


def floats(embeddings: Embeddings) -> list[list[float]]:
    return [list(vector) for vector in embeddings.vectors]


@given(st.lists(FLOATS, min_size=1, max_size=3))
def test_the_record_gives_back_every_bit_of_a_vector(vectors: list[list[float]]) -> None:
    told = read_embeddings(body(*vectors), len(vectors))
    assert floats(told) == vectors
    again = embeddings_from_json(json.loads(json.dumps(embeddings_to_json(told))))
    assert again == told
    assert (again.tokens_in, again.tokens_out, again.model) == (7, 0, "fake-e")


def test_vectors_are_in_the_order_of_the_texts_and_may_come_packed() -> None:
    packed = b64encode(array("f", [0.5, 2.0]).tobytes()).decode()
    data = body([1.0], packed)
    data["data"].reverse()
    assert floats(read_embeddings(data, 2)) == [[1.0], [0.5, 2.0]]
    assert read_embeddings({"data": [{"embedding": []}]}, 1).tokens_in is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({}, "expected a list 'data' of objects, found none"),
        (body([1.0]), "expected 2 embeddings in 'data', found 1"),
        (
            {"data": [{"index": 1, "embedding": []}] * 2},
            r"index from 0 to 1 once, found \[1\]",
        ),
        (body([1.0], ["x"]), "an 'embedding' of numbers"),
        (body([1.0], "%"), "an 'embedding' of numbers"),
        (body([1.0], None), "an 'embedding' of numbers"),
    ],
)
def test_an_answer_that_is_no_embedding_is_told_apart(data: Any, text: str) -> None:
    with pytest.raises(Unreadable, match=text):
        read_embeddings(data, 2)


def test_texts_and_tokens_are_asked_for_and_bounded() -> None:
    request = embed_request(["äb", [1, 2, 3]], {"dimensions": 8, "encoding_format": "base64"})
    sent = json.loads(encode_embed("e", request, {"user": "u"}))
    assert sent == {"model": "e", "input": ["äb", [1, 2, 3]], "user": "u", "dimensions": 8}
    assert request.input_bound_tokens >= 3 + 3 + 2 * INPUT_OVERHEAD_TOKENS
    assert embed_request("one", {}) == EmbedRequest(inputs=("one",))
    assert embed_request_to_json(request)["inputs"] == ["äb", [1, 2, 3]]


@pytest.mark.parametrize(
    ("inputs", "options", "text"),
    [
        ([], {}, "needs at least one text, got an empty list"),
        ([3], {}, r"inputs\[0\] of an embedding is a text or a list of token numbers, got 3"),
        ("x", {"input": "y"}, "may not set 'input'"),
    ],
)
def test_what_cannot_be_embedded_is_named(
    inputs: Any, options: Mapping[str, Any], text: str
) -> None:
    with pytest.raises(TaskError, match=text):
        embed_request(inputs, options)


def test_a_reserved_key_of_the_configuration_is_fatal() -> None:
    with pytest.raises(Fatal, match="may not set 'input' for embeddings"):
        encode_embed("e", embed_request("x", {}), {"input": "y"})


def ask(step: Step, inputs: Any = "hello", **options: Any) -> tuple[Embeddings, Any]:
    async def main() -> tuple[Embeddings, Any]:
        async with Endpoint([step]) as endpoint:
            model = HTTPModel("e", endpoint.base_url + "/chat/completions?v=1", CANARY, **options)
            try:
                return await model.embed(embed_request(inputs, {})), endpoint.received[0]
            finally:
                await model.close()

    return asyncio.run(main())


def test_texts_are_embedded_over_http() -> None:
    embeddings, received = ask(answered([1.0, 2.0]))
    assert floats(embeddings) == [[1.0, 2.0]]
    assert received.path == "/v1/embeddings?v=1"
    assert received.headers["authorization"] == f"Bearer {CANARY}"
    assert received.body == {"model": "e", "input": ["hello"]}
    assert isinstance(HTTPModel("m", "http://x/v1"), EmbeddingModel)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (rate_limited(), RateLimited),
        (status(401), Fatal),
        (status(400, "input exceeds the context length"), Refused),
        (garbage(), Transient),
        (answered([1.0], [2.0]), Transient),
    ],
)
def test_an_endpoint_that_gives_none_fails_by_its_kind(step: Step, kind: type[LLMError]) -> None:
    with pytest.raises(kind):
        ask(step)


class Embedder(ScriptedModel):
    """Gives the length of each text; fails first with what it is told."""

    failures: tuple[LLMError, ...] = ()
    n_embedded = 0

    async def embed(self, request: EmbedRequest) -> Embeddings:
        self.n_embedded += 1
        if self.failures:
            failure, self.failures = self.failures[0], self.failures[1:]
            raise failure
        vectors = tuple(array("f", [len(text), 0.1]) for text in request.inputs)
        return Embeddings(vectors=vectors, tokens_in=3)


def rig_with(model: ScriptedModel, **options: Any) -> Rig:
    rig = Rig(**options)
    object.__setattr__(rig.calls._endpoints["task"][0], "model", model)
    return rig


def test_embeddings_are_limited_metered_and_recorded_like_any_call() -> None:
    rig = rig_with(Embedder(echo))
    embeddings = run(rig.calls.embed(rig.origin(), "task", ["ab", "c"], options={"dimensions": 2}))
    assert [vector[0] for vector in embeddings.vectors] == [2.0, 1.0]
    (reserved,), (settled,) = rig.reserved, rig.settled
    assert reserved.name == "embed"
    assert reserved.request == {"inputs": ["ab", "c"], "extra_body": {"dimensions": 2}}
    assert (settled.usage.tokens_in, settled.usage.tokens_out, settled.usage_known) == (3, 0, True)
    assert rig.state.ledger.spent["tokens"] == 3
    assert rig.limiter.demand == 0


def test_a_resume_finds_the_vectors_in_the_record() -> None:
    rig = rig_with(Embedder(echo))
    told = run(rig.calls.embed(rig.origin(), "task", "ab"))
    model = Embedder(echo)
    again = rig_with(model)
    origin = again.origin(journal=rig.journal())
    assert run(again.calls.embed(origin, "task", "ab")) == told
    assert model.n_embedded == 0
    run(again.calls.embed(origin, "task", "ab"))
    assert model.n_embedded == 1


def test_another_run_may_reuse_the_vectors() -> None:
    rig = rig_with(Embedder(echo))
    told = run(rig.calls.embed(rig.origin(), "task", "ab"))
    content = rig.reserved[0].content
    other = rig_with(Embedder(echo))
    known = {content: rig.settled[0]}
    other.calls._reuse = known.get
    assert run(other.calls.embed(other.origin(ticket=9), "task", "ab")) == told
    assert other.settled[0].usage.tokens == 0


def test_a_failure_that_passes_is_tried_again_and_a_refusal_is_final() -> None:
    model = Embedder(echo)
    model.failures = (Transient("lost"), Refused("too long"))
    rig = rig_with(model)
    origin = rig.origin()
    with pytest.raises(Refused, match="too long"):
        run(rig.calls.embed(origin, "task", "ab"))
    assert [e.status for e in rig.settled] == ["transient", "refused"]
    again = rig_with(Embedder(echo))
    with pytest.raises(Refused, match="too long"):
        run(again.calls.embed(again.origin(journal=rig.journal()), "task", "ab"))


def test_a_model_without_embeddings_is_named_with_the_fix() -> None:
    rig = Rig()
    with pytest.raises(ConfigError, match=r"^the model 'model-0' of role 'task' gives no embeddin"):
        run(rig.calls.embed(rig.origin(), "task", "ab"))
    assert rig.reserved == []
