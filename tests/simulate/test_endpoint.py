import asyncio
import json
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import flashevolve as fe
from flashevolve.errors import ConfigError
from flashevolve.llm.errors import Fatal, RateLimited, Transient, Truncated
from flashevolve.llm.http import HTTPModel
from flashevolve.llm.messages import Reply, Request, system, user
from flashevolve.simulate.endpoint import Endpoint, listening
from flashevolve.simulate.hosted import HostedSettings
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.pace import run_paced
from flashevolve.simulate.world import load_world
from flashevolve.workloads.instructions import generate, score
from tests.fakes.simulated import (
    PATIENCE_S,
    PRESET,
    Failing,
    Watched,
    echoing,
    model,
    served,
    world,
)

REAL = "h100-qwen3-8b"
TINY = world()


def request(text: str, seed: int | None = None, max_output_tokens: int = 32_768) -> Request:
    messages = (system("Answer the request."), user(text))
    return Request(
        messages=messages, seed=seed, max_output_tokens=max_output_tokens, timeout_s=PATIENCE_S
    )


def body(text: str = "Hi", **fields: Any) -> bytes:
    messages = [{"role": "user", "content": text}]
    return json.dumps({"model": PRESET, "messages": messages, **fields}).encode()


def ask(base_url: str, *requests: Request, name: str = PRESET) -> list[Reply]:
    """Sends requests one after the other by our own client."""

    async def main() -> list[Reply]:
        client = HTTPModel(name, base_url, send_seed=True)
        try:
            return [await client.complete(r) for r in requests]
        finally:
            await client.close()

    return asyncio.run(main())


def fetch(method: str, url: str, data: bytes | None = None) -> tuple[int, dict[str, str], str]:
    """Returns status, headers (names in lower case) and body, by a client that is not ours."""

    async def main() -> tuple[int, dict[str, str], str]:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, data=data) as response,
        ):
            headers = {name.lower(): value for name, value in response.headers.items()}
            return response.status, headers, await response.text()

    return asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


def chat(base_url: str, data: bytes) -> tuple[int, dict[str, str], Any]:
    status, headers, text = fetch("POST", f"{base_url}/chat/completions", data)
    return status, headers, json.loads(text)


def events(text: str) -> list[Any]:
    """Returns the decoded chunks of a stream; the last must be [DONE]."""
    *lines, last, nothing = re.split("\n\n", text)
    assert (last, nothing) == ("data: [DONE]", "")
    return [json.loads(line.removeprefix("data: ")) for line in lines]


@pytest.mark.parametrize("preset", [REAL, "hosted-api"])
def test_our_client_gets_over_http_the_reply_that_a_run_gets_in_virtual_time(preset: str) -> None:
    asked = request("Write two sentences about tea. Use no commas.", seed=7)
    with served(Endpoint.from_preset(preset), time_scale=2000.0) as base_url:
        over_http = ask(base_url, asked, name=preset)
    virtual = run_virtual(SimulatedModel.from_preset(preset, {}).complete(asked))
    assert over_http == [replace(virtual, model=f"sim/{preset}", world=load_world().hash)]


def test_a_synchronous_run_over_http_ends_as_the_one_in_virtual_time_does(tmp_path: Path) -> None:
    data = generate(3, n_train=6, n_val=6, n_test=1)

    def arguments(model: str | fe.Model, where: str) -> dict[str, Any]:
        return {
            "seed": {"system": "Answer the request."},
            "train": data["train"],
            "val": data["val"],
            "score": score,
            "input": "prompt",
            "schedule": "sync",
            "models": model,
            "budget": fe.Budget(metric_calls=45),
            "run_dir": tmp_path / where,
        }

    virtual = fe.optimize(**arguments(f"sim/{REAL}", "virtual"))
    with served(Endpoint.from_preset(REAL), time_scale=100.0) as base_url:
        model = fe.Model(REAL, base_url=base_url, send_seed=True)
        over_http = run_paced(fe.aoptimize(**arguments(model, "http")), 100.0)
    assert over_http.counters == virtual.counters
    assert over_http.counters["proposed"] > 2
    assert over_http.best == virtual.best
    assert over_http.best_score == virtual.best_score


def test_without_a_seed_each_answer_is_a_new_sample_and_each_endpoint_gives_the_same() -> None:
    def replies(seed: int) -> list[str]:
        with served(echoing(TINY, seed)) as base_url:
            return [reply.text for reply in ask(base_url, *[request("Hi")] * 3)]

    first = replies(1)
    assert len(set(first)) == 3
    assert replies(1) == first
    assert not set(replies(2)) & set(first)


def test_an_answer_that_is_too_long_is_truncated_and_counted() -> None:
    with served(echoing(TINY)) as base_url, pytest.raises(Truncated, match="cut at") as caught:
        ask(base_url, request("Hi", 1, max_output_tokens=3))
    assert caught.value.reply is not None
    assert (caught.value.reply.finish, caught.value.reply.tokens_out) == ("length", 3)


def test_the_prefix_that_an_earlier_request_left_is_told_as_cached() -> None:
    with served(echoing(TINY)) as base_url:
        usages = [chat(base_url, body("x" * 400))[2]["usage"] for _ in range(2)]
    cached = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
    assert cached == [0, 96]


def test_a_stream_brings_the_same_answer_in_chunks() -> None:
    with served(echoing(TINY)) as base_url:
        _, _, whole = chat(base_url, body("y" * 100, seed=3))
        status, headers, text = fetch(
            "POST",
            f"{base_url}/chat/completions",
            body("y" * 100, seed=3, stream=True, stream_options={"include_usage": True}),
        )
    *chunks, last = events(text)
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert "".join(pieces) == whole["choices"][0]["message"]["content"]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert last["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]
    assert "usage" not in chunks[-1]


def test_our_own_client_reads_a_stream_as_it_reads_a_whole_answer() -> None:
    relayed: list[Any] = []

    async def main(base_url: str) -> tuple[Reply, Reply]:
        client = HTTPModel(PRESET, base_url, send_seed=True)
        try:
            whole = await client.complete(request("hi", seed=3))
            return whole, await client.stream(request("hi", seed=3), relayed.append)
        finally:
            await client.close()

    with served(echoing(TINY)) as base_url:
        whole, streamed = asyncio.run(main(base_url))
    assert streamed == whole
    assert whole.world == TINY.hash
    assert len(relayed) >= 3


def test_many_clients_share_the_machine() -> None:
    async def main(base_url: str) -> list[Reply]:
        client = HTTPModel(PRESET, base_url)
        try:
            return await asyncio.gather(*(client.complete(request(f"{i}")) for i in range(200)))
        finally:
            await client.close()

    endpoint = echoing(TINY)
    with served(endpoint) as base_url:
        replies = asyncio.run(main(base_url))
    assert [reply.text.split()[0] for reply in replies] == [str(i) for i in range(200)]
    assert str(endpoint.tally) == "answered 200, refused 0, left by their clients 0"


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_frees_its_sequence(stream: bool) -> None:
    # The first would hold the only slot for 100,000 simulated seconds, 100 real ones.
    endless = world(max_sequences=1, mean_tokens=100_000, sigma=0.0)
    watched = Watched(model(endless))
    endpoint = Endpoint(watched, PRESET, world=endless)

    async def main(base_url: str) -> Any:
        async with aiohttp.ClientSession(base_url.removesuffix("v1")) as session:
            url = "v1/chat/completions"
            if stream:
                async with session.post(url, data=body(stream=True)) as response:
                    await response.content.readline()
                    response.close()
            else:
                leaving = asyncio.ensure_future(session.post(url, data=body()))
                await asyncio.to_thread(watched.asked.wait, PATIENCE_S)
                leaving.cancel()
                await asyncio.wait([leaving])
            async with session.post(url, data=body(max_tokens=1)) as response:
                return await response.json()

    with served(endpoint) as base_url:
        answered = asyncio.run(asyncio.wait_for(main(base_url), PATIENCE_S))
    assert answered["choices"][0]["finish_reason"] == "length"
    assert str(endpoint.tally) == "answered 1, refused 0, left by their clients 1"


def test_a_rate_limit_becomes_a_429_whose_hint_is_in_real_seconds() -> None:
    endpoint = Endpoint(Failing(RateLimited("slow down", retry_after_s=30)), PRESET, world=TINY)
    with served(endpoint, time_scale=20) as base_url:
        for data in (body(), body(stream=True)):
            status, headers, told = chat(base_url, data)
            assert (status, headers["retry-after"], headers["retry-after-ms"]) == (429, "2", "1500")
            assert told["error"]["code"] == "rate_limit_exceeded"
        with pytest.raises(RateLimited, match="answered 429: slow down") as caught:
            ask(base_url, request("Hi"))
    assert caught.value.retry_after_s == 1.5
    assert endpoint.tally.refused == 3


def test_a_rate_limit_without_a_hint_gives_none() -> None:
    endpoint = Endpoint(Failing(RateLimited("slow down")), PRESET, world=TINY)
    with served(endpoint) as base_url:
        status, headers, _ = chat(base_url, body())
    assert status == 429
    assert not {"retry-after", "retry-after-ms"} & headers.keys()


def test_the_limits_of_a_hosted_account_are_real_429s_that_end() -> None:
    # One request of this size a minute; the next one is turned away until the bucket is full.
    limits = HostedSettings(
        first_token_s=1.0,
        first_token_sigma=0.0,
        tokens_per_s=100.0,
        tokens_per_s_sigma=0.0,
        requests_per_min=1,
        tokens_per_min=10_000,
    )
    hosted = replace(TINY, presets={PRESET: limits})
    with served(echoing(hosted), time_scale=600.0) as base_url:
        first, _, _ = chat(base_url, body(max_tokens=100))
        second, headers, _ = chat(base_url, body(max_tokens=100))
        too_large, _, told = chat(base_url, body(max_tokens=20_000))
        while (third := chat(base_url, body(max_tokens=100))[0]) == 429:
            """A minute is a tenth of a second here."""
    assert (first, second, third, too_large) == (200, 429, 200, 400)
    assert 0 < int(headers["retry-after-ms"]) <= 100
    assert "Lower max_output_tokens" in told["error"]["message"]


def test_any_other_failure_is_a_503() -> None:
    endpoint = Endpoint(Failing(Transient("overloaded")), PRESET, world=TINY)
    with served(endpoint) as base_url, pytest.raises(Transient, match="answered 503: overloaded"):
        ask(base_url, request("Hi"))


def test_a_failure_after_the_first_token_is_told_in_the_stream() -> None:
    endpoint = Endpoint(Failing(Transient("died"), late=True), PRESET, world=TINY)
    with served(endpoint) as base_url:
        status, _, text = fetch("POST", f"{base_url}/chat/completions", body(stream=True))
    assert status == 200
    assert events(text)[-1]["error"]["message"] == "died"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("late", [False, True], ids=["at once", "after the first token"])
def test_a_bug_of_the_server_is_told_counted_and_logged(
    stream: bool, late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = Endpoint(Failing(IndexError("no place\n7"), late=late), PRESET, world=TINY)
    with served(endpoint) as base_url:
        status, headers, text = fetch("POST", f"{base_url}/chat/completions", body(stream=stream))
    told = events(text)[-1] if stream and late else json.loads(text)
    assert status == (200 if stream and late else 500)
    assert told["error"]["message"] == "a bug of the server: IndexError: no place 7"
    assert told["error"].keys() == {"message", "type", "param", "code"}
    assert headers["x-flashevolve-world"] == TINY.hash
    assert str(endpoint.tally) == "answered 0, refused 1, left by their clients 0"
    [record] = [r for r in caplog.records if r.name == "flashevolve.simulate.endpoint"]
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], IndexError)


def test_a_body_that_is_not_in_its_encoding_is_the_clients_mistake() -> None:
    endpoint = echoing(TINY)

    async def main(base_url: str) -> tuple[int, Any]:
        headers = {"content-encoding": "gzip", "content-type": "application/json"}
        async with (
            aiohttp.ClientSession(skip_auto_headers=["content-encoding"]) as session,
            session.post(
                f"{base_url}/chat/completions", data=body(), headers=headers, compress=None
            ) as response,
        ):
            return response.status, await response.json()

    with served(endpoint) as base_url:
        status, told = asyncio.run(asyncio.wait_for(main(base_url), PATIENCE_S))
    assert status == 400
    assert "expected a body in its encoding, found" in told["error"]["message"]
    assert endpoint.tally.refused == 1


def test_numbers_and_names_that_no_host_would_take_are_answered() -> None:
    call = {"id": "c\ud800", "function": {"name": "look\ud800", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    with served(echoing(TINY)) as base_url:
        assert chat(base_url, body(temperature=10**400))[0] == 200
        assert chat(base_url, body(messages=messages))[0] == 200


def test_models_and_health_say_what_is_simulated() -> None:
    with served(echoing(TINY)) as base_url:
        _, _, models = fetch("GET", f"{base_url}/models")
        _, _, one = fetch("GET", f"{base_url}/models/{PRESET}")
        status, _, health = fetch("GET", f"{base_url.removesuffix('/v1')}/health")
    assert json.loads(models)["data"] == [json.loads(one)]
    assert json.loads(one)["id"] == PRESET
    assert "simulated" in json.loads(one)["owned_by"]
    assert (status, json.loads(health)["simulated"]) == (200, True)


@pytest.mark.parametrize(
    ("method", "path", "data", "status", "message"),
    [
        ("GET", "/v1/nowhere", None, 404, "expected one of POST /v1/chat/completions, GET /v1"),
        ("GET", "/v1/chat/completions", None, 405, "found GET /v1/chat/completions"),
        ("GET", "/v1/models/gpt-5", None, 404, "expected model 'tiny' .simulated., found 'gpt-5'"),
        ("POST", "/v1/chat/completions", b"{", 400, "expected a JSON body"),
        ("POST", "/v1/chat/completions", body(n=2), 400, "expected n = 1, found 2"),
        ("POST", "/v1/chat/completions", body(model="gpt-5"), 404, "found 'gpt-5'"),
        ("POST", "/v1/chat/completions", body(), 200, ""),
    ],
)
def test_every_reply_names_the_world_and_mistakes_have_openais_shape(
    method: str, path: str, data: bytes | None, status: int, message: str
) -> None:
    with served(echoing(TINY), time_scale=500.0) as base_url:
        found, headers, text = fetch(method, base_url.removesuffix("/v1") + path, data)
    assert found == status
    assert headers["x-flashevolve-simulated"] == PRESET
    assert headers["x-flashevolve-world"] == TINY.hash
    assert headers["x-flashevolve-time-scale"] == "500"
    assert headers["x-request-id"]
    if status != 200:
        error = json.loads(text)["error"]
        assert re.search(message, error["message"])
        assert error.keys() == {"message", "type", "param", "code"}


def test_an_unknown_model_stops_our_client_at_once() -> None:
    with served(echoing(TINY)) as base_url, pytest.raises(Fatal, match="is the model name right"):
        ask(base_url, request("Hi"), name="gpt-5")


def test_a_body_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flashevolve.simulate.endpoint.MAX_BODY_BYTES", 1000)
    with served(echoing(TINY)) as base_url:
        status, _, told = chat(base_url, body("x" * 2000))
    assert (status, told["error"]["message"]) == (413, "expected a body of at most 1000 bytes")


def test_stopping_does_not_wait_for_answers_under_way() -> None:
    endless = world(mean_tokens=1_000_000, sigma=0.0)
    watched = Watched(model(endless))
    endpoint = Endpoint(watched, PRESET, world=endless)

    async def main() -> str:
        async with aiohttp.ClientSession() as session:
            async with listening(endpoint, "127.0.0.1", 0) as base_url:
                hanging = asyncio.ensure_future(
                    session.post(f"{base_url}/chat/completions", data=body())
                )
                await asyncio.to_thread(watched.asked.wait, PATIENCE_S)
            await asyncio.wait([hanging])
            return type(hanging.exception()).__name__

    lost = asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
    assert lost == "ServerDisconnectedError"


def test_a_port_that_is_taken_is_one_line() -> None:
    async def main(port: int) -> None:
        async with listening(echoing(TINY), "127.0.0.1", port):
            """Never gets here."""

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError,
            match=rf"127\.0\.0\.1:{port}: expected an address .* found it taken; .*--port",
        ):
            asyncio.run(main(port))


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'h100-qwen3-8b'"):
        Endpoint.from_preset("h100-qwen3")


def test_the_built_in_world_is_the_default() -> None:
    assert Endpoint.from_preset(REAL).world.hash == load_world().hash
