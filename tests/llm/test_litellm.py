import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from flashevolve.errors import ConfigError
from flashevolve.llm.embeddings import EmbeddingModel, embed_request
from flashevolve.llm.errors import (
    Empty,
    Fatal,
    LLMError,
    RateLimited,
    Refused,
    Transient,
    Truncated,
)
from flashevolve.llm.litellm import LiteLLMModel, listed_price, litellm_name
from flashevolve.llm.messages import Request, user
from flashevolve.llm.model import StreamingModel
from flashevolve.llm.prices import Price
from tests.fakes.endpoint import SILENCE, Endpoint, Step, answer, rate_limited, status
from tests.llm.test_stream import WHOLE, streamed

CANARY = "sk-canary-0123456789abcdef"
HELLO = Request(messages=(user("hello"),), timeout_s=20.0)

pytestmark = [
    pytest.mark.slow,  # importing litellm alone takes seconds
    # Of litellm's own: it warns of its types, and never closes its connections.
    pytest.mark.filterwarnings("ignore"),
]


def model_at(endpoint: Endpoint, **options: Any) -> LiteLLMModel:
    return LiteLLMModel(
        "deepseek/m",
        {"DEEPSEEK_API_KEY": CANARY},
        key_env="DEEPSEEK_API_KEY",
        options={"api_base": endpoint.base_url, **options},
    )


def with_model(
    step: Step, work: Callable[[LiteLLMModel], Awaitable[Any]], **options: Any
) -> tuple[Any, Endpoint]:
    async def main() -> tuple[Any, Endpoint]:
        async with Endpoint([step]) as endpoint:
            return await work(model_at(endpoint, **options)), endpoint

    return asyncio.run(main())


def test_an_answer_comes_back_with_its_usage() -> None:
    call = ("c1", "look", '{"a": 1}')
    step = answer("hi", tool_calls=[call], finish="tool_calls", reasoning="hm")
    reply, endpoint = with_model(step, lambda m: m.complete(HELLO), top_k=3)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("hi", 10, 5)
    assert reply.reasoning == "hm"
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [call]
    json.dumps(reply.extra)
    (received,) = endpoint.received
    assert received.headers["authorization"] == f"Bearer {CANARY}"
    assert received.body["messages"] == [{"role": "user", "content": "hello"}]
    assert received.body["max_tokens"] == 8192


def test_a_request_cannot_say_where_the_key_is_sent() -> None:
    request = Request(
        messages=(user("hi"),),
        extra_body={
            "api_base": "http://127.0.0.1:9/v1",
            "base_url": "http://127.0.0.1:9",
            "stop": "x",
        },
    )
    reply, endpoint = with_model(answer("hi"), lambda m: m.complete(request))
    assert reply.text == "hi"
    assert endpoint.bodies[0]["stop"] == "x"
    with pytest.raises(Fatal, match="may not set 'model'"):
        with_model(
            answer("hi"), lambda m: m.complete(Request(messages=(), extra_body={"model": "x"}))
        )


def test_a_stream_is_relayed_and_put_together() -> None:
    relayed: list[Mapping[str, Any]] = []
    reply, endpoint = with_model(streamed(*WHOLE), lambda m: m.stream(HELLO, relayed.append))
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("Hello", 10, 5)
    said = [c["choices"][0]["delta"].get("content") or "" for c in relayed if c["choices"]]
    assert "".join(said) == "Hello"
    assert len([text for text in said if text]) == 2
    assert endpoint.bodies[0]["stream"] is True


def test_what_the_relay_raises_passes_as_it_is() -> None:
    def gone(chunk: Any) -> None:
        raise ConnectionResetError("left")

    with pytest.raises(ConnectionResetError, match=r"^left$"):
        with_model(streamed(*WHOLE), lambda m: m.stream(HELLO, gone))


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (rate_limited("3"), RateLimited, r"deepseek \(by litellm\) answered 429.*slow down"),
        (
            status(401, f"bad key {CANARY}"),
            Fatal,
            "401.*check the key in DEEPSEEK_API_KEY",
        ),
        (status(404), Fatal, "is the model name right"),
        (status(500, "down"), Transient, "down"),
        (status(400, "context_length_exceeded: maximum context length"), Refused, "shorten"),
        (answer("cut", finish="length"), Truncated, "max_output_tokens"),
        (answer(""), Empty, "no text"),
        (SILENCE, Transient, r"no answer \(timeout_s = 0.5\)"),
    ],
)
def test_what_goes_wrong_has_our_kinds_and_is_not_tried_again(
    step: Step, kind: type[LLMError], text: str
) -> None:
    request = Request(messages=(user("hi"),), timeout_s=0.5) if step is SILENCE else HELLO
    seen: list[Endpoint] = []

    async def main() -> None:
        async with Endpoint([step]) as endpoint:
            seen.append(endpoint)
            await model_at(endpoint).complete(request)

    with pytest.raises(kind, match=text) as caught:
        asyncio.run(main())
    assert type(caught.value) is kind
    assert CANARY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(seen[0].received) == 1
    if isinstance(caught.value, RateLimited):
        assert caught.value.retry_after_s == 3.0


def test_nothing_is_printed_and_no_environment_is_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = dict(os.environ)
    with pytest.raises(Fatal):
        with_model(status(401), lambda m: m.complete(HELLO))
    assert capsys.readouterr().out == ""
    assert dict(os.environ) == before


def test_a_missing_key_is_named_where_litellm_can_tell() -> None:
    with pytest.raises(ConfigError, match="the environment variable ANTHROPIC_API_KEY is not set"):
        LiteLLMModel("anthropic/claude-sonnet-4-5", {})
    with pytest.raises(ConfigError, match="the environment variable MINE is not set"):
        LiteLLMModel("anthropic/claude-sonnet-4-5", {"ANTHROPIC_API_KEY": "x"}, key_env="MINE")
    assert CANARY not in repr(LiteLLMModel("gemini/g", {"GEMINI_API_KEY": CANARY}))
    LiteLLMModel("bedrock/some", {})


def test_it_streams_and_embeds() -> None:
    model = LiteLLMModel("gemini/g", {"GEMINI_API_KEY": CANARY})
    assert isinstance(model, StreamingModel)
    assert isinstance(model, EmbeddingModel)


def test_texts_are_embedded() -> None:
    body = {"data": [{"index": 0, "embedding": [1.0, 2.0]}], "usage": {"prompt_tokens": 3}}
    step = Step(body=json.dumps({"object": "list", "model": "e", **body}).encode())

    async def main() -> None:
        async with Endpoint([step]) as endpoint:
            model = LiteLLMModel(
                "hosted_vllm/e", {}, options={"api_base": endpoint.base_url, "api_key": CANARY}
            )
            embeddings = await model.embed(embed_request("hello", {}))
            assert list(embeddings.vectors[0]) == [1.0, 2.0]
            assert embeddings.tokens_in == 3
            assert endpoint.received[0].path == "/v1/embeddings"

    asyncio.run(main())


def test_prices_are_those_of_the_installed_table_if_they_are_simple() -> None:
    price = listed_price("deepseek/deepseek-chat")
    assert isinstance(price, Price)
    assert price.output_usd_per_mtok > 0
    assert listed_price("gemini/gemini-2.5-pro") is None
    assert listed_price("anthropic/nobody-knows") is None


def test_names_are_litellms_by_provider_or_by_prefix() -> None:
    assert litellm_name("anthropic/claude") == "anthropic/claude"
    assert litellm_name("litellm/some/model") == "some/model"
    assert litellm_name("litellm/model") is None
    assert litellm_name("Qwen/Qwen3-8B") is None
    assert litellm_name("openai/gpt-4o") is None
