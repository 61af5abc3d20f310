"""Whole runs whose user code brings its own client."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import openai
import pytest

import flashevolve as fe
from flashevolve.errors import FlashEvolveError
from flashevolve.llm.gateway import watch
from flashevolve.rundir import read_records
from tests.fakes.endpoint import SILENCE, Endpoint, Received, Step, answer, status
from tests.fakes.gateway import HELLO

CANARY = "sk-canary-3141592653589793"
TRAIN = [{"id": f"t{i}", "input": f"question {i}"} for i in range(6)]
VAL = [{"id": f"v{i}", "input": f"other question {i}"} for i in range(4)]


def says(received: Received) -> Step:
    prompt = json.dumps(received.body["messages"])
    return answer(f"```\nwords {len(prompt)}\n```")


def asked(ctx: Any, artifact: Mapping[str, str], example: Mapping[str, Any]) -> str:
    """Asks as an agent would that knows nothing of us."""
    with openai.OpenAI(base_url=ctx.base_url, api_key=ctx.api_key) as client:
        reply = client.chat.completions.create(
            model="task",
            messages=[
                {"role": "system", "content": artifact["system"]},
                {"role": "user", "content": example["input"]},
            ],
        )
    return reply.choices[0].message.content or ""


def list_for_ever(ctx: Any) -> None:
    with openai.OpenAI(base_url=ctx.base_url, api_key=ctx.api_key) as client:
        while True:
            client.models.list()


def agent(artifact: Any, example: Any, ctx: Any) -> str:
    return asked(ctx, artifact, example)


def optimize(run_dir: Path, upstream: Endpoint, run: Any, **options: Any) -> fe.Result:
    return begun(run_dir, upstream, run, **options).result()


def begun(run_dir: Path, upstream: Endpoint, run: Any, **options: Any) -> fe.Run:
    options = {"budget": fe.Budget(metric_calls=24), "concurrency": 4, **options}
    model = fe.Model(
        "fake-1", base_url=upstream.base_url, key_env="CANARY_KEY", max_output_tokens=200
    )
    return fe.start(
        seed={"system": "Answer."},
        train=TRAIN,
        val=VAL,
        run=run,
        score=lambda example, output: min(len(output) / 500, 0.9),
        models=model,
        run_dir=run_dir,
        **options,
    )


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)


def test_a_clients_calls_are_the_runs_own_in_ledger_and_budget(tmp_path: Path) -> None:
    with Endpoint(says, key=CANARY) as upstream:
        result = optimize(tmp_path / "run", upstream, agent)
        assert result.usage.calls == len(upstream.received) >= 24
        assert result.usage.tokens_in == 10 * len(upstream.received)
    assert result.test_score is None


def test_the_real_key_is_in_no_file_no_answer_and_no_child(tmp_path: Path) -> None:
    seen: list[str] = []
    child = "import json, os; print(json.dumps(dict(os.environ)))"

    def run(artifact: Any, example: Any, ctx: Any) -> str:
        shown = subprocess.run(
            [sys.executable, "-c", child], env=ctx.environment, capture_output=True, text=True
        )
        seen.append(shown.stdout)
        assert json.loads(shown.stdout)["OPENAI_API_KEY"] == ctx.api_key
        with (
            pytest.raises(openai.OpenAIError) as caught,
            openai.OpenAI(base_url=ctx.base_url, api_key=CANARY[:5] + "wrong") as client,
        ):
            client.models.list()
        seen.append(str(caught.value))
        said = asked(ctx, artifact, example)
        seen.append(said)
        return said

    with Endpoint(says, key=CANARY) as upstream:
        optimize(tmp_path / "run", upstream, run, budget=fe.Budget(metric_calls=14))
    assert seen
    assert not any(CANARY in text for text in seen)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(CANARY.encode() in path.read_bytes() for path in files)


def test_no_token_is_in_any_file(tmp_path: Path) -> None:
    tokens: list[str] = []

    def run(artifact: Any, example: Any, ctx: Any) -> str:
        tokens.append(ctx.api_key)
        return asked(ctx, artifact, example)

    with Endpoint(says) as upstream:
        optimize(tmp_path / "run", upstream, run, budget=fe.Budget(metric_calls=14))
    assert len(set(tokens)) == len(tokens) > 8
    blobs = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(token.encode() in blob for token in tokens for blob in blobs)


def test_code_that_is_handed_no_context_finds_it(tmp_path: Path) -> None:
    def run(artifact: Any, example: Any) -> str:
        return asked(fe.current(), artifact, example)

    async def arun(artifact: Any, example: Any) -> str:
        return await asyncio.to_thread(lambda: asked(fe.current(), artifact, example))

    for i, function in enumerate((run, arun)):
        with Endpoint(says) as upstream:
            optimize(tmp_path / str(i), upstream, function, budget=fe.Budget(metric_calls=14))
            assert len(upstream.received) >= 8
    with pytest.raises(FlashEvolveError, match=r"flashevolve\.current\(\): expected to be called"):
        fe.current()


def test_what_interrupts_the_run_interrupts_it_though_the_agent_swallows_it(
    tmp_path: Path,
) -> None:
    def careless(artifact: Any, example: Any, ctx: Any) -> str:
        try:
            return asked(ctx, artifact, example)
        except openai.OpenAIError:
            return "never mind"

    with (
        Endpoint([status(401, "wrong key")]) as upstream,
        pytest.raises(FlashEvolveError, match="401"),
    ):
        optimize(tmp_path / "run", upstream, careless)
    assert len(upstream.received) <= 4


def test_a_budget_in_tokens_holds_for_a_clients_calls(tmp_path: Path) -> None:
    with Endpoint(says) as upstream:
        result = optimize(
            tmp_path / "run",
            upstream,
            agent,
            budget=fe.Budget(metric_calls=1000, tokens=3_000),
            metered=True,
        )
    assert result.usage.tokens_in + result.usage.tokens_out <= 3_000


@pytest.mark.slow
def test_a_killed_and_resumed_run_asks_nothing_twice(tmp_path: Path) -> None:
    class Cut:
        """After its ninth evaluation has asked once, the run is cut and its token dies."""

        def __init__(self, cuts: bool = False) -> None:
            self.n = 0
            self.cuts = cuts
            self.handle: fe.Run
            self.handed = threading.Event()

        def __call__(self, artifact: Any, example: Any, ctx: Any) -> str:
            first = asked(ctx, artifact, {"input": f"{example['input']}, first"})
            self.n += 1
            if self.n == 9 and self.cuts:
                assert self.handed.wait(20)
                self.handle.stop()
                self.handle.stop()
                with pytest.raises(openai.AuthenticationError, match=r"ctx\.api_key"):
                    list_for_ever(ctx)
            return first + asked(ctx, artifact, {"input": f"{example['input']}, then"})

    with Endpoint(says) as whole:
        uncut = optimize(tmp_path / "whole", whole, Cut(), schedule="sync", concurrency=1)
    with Endpoint(says) as upstream:
        cut = Cut(cuts=True)
        cut.handle = begun(tmp_path / "cut", upstream, cut, schedule="sync", concurrency=1)
        cut.handed.set()
        assert cut.handle.result().reason == "stop"
        n_before = len(upstream.received)
        resumed = optimize(tmp_path / "cut", upstream, Cut(), schedule="sync", concurrency=1)
    assert 9 <= n_before < len(whole.received)
    assert [r.body for r in upstream.received] == [r.body for r in whole.received]
    assert resumed.best == uncut.best


def test_a_run_that_never_asks_opens_nothing(tmp_path: Path) -> None:
    code = """
import sys
import flashevolve as fe
rows = [{"id": f"t{i}", "input": f"question {i}"} for i in range(4)]
fe.optimize(seed={"system": "Answer."}, train=rows[:2], val=rows[2:],
    score=lambda e, o: 0.5, models="sim/h100-qwen3-8b", budget=fe.Budget(metric_calls=14),
    run_dir=sys.argv[1])
print("aiohttp.web" in sys.modules, "flashevolve.llm.gateway.server" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "run")],
        env={**os.environ},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False False"


def test_no_thread_and_no_socket_is_left_behind(tmp_path: Path) -> None:
    urls: list[str] = []

    def run(artifact: Any, example: Any, ctx: Any) -> str:
        urls.append(ctx.base_url)
        return asked(ctx, artifact, example)

    with Endpoint(says) as upstream:
        during = set(threading.enumerate())
        optimize(tmp_path / "run", upstream, run, budget=fe.Budget(metric_calls=14))
        left = [t for t in set(threading.enumerate()) - during if t.is_alive()]
        for thread in left:
            thread.join(10)
        assert not [t for t in left if t.is_alive()]
    with (
        openai.OpenAI(base_url=urls[0], api_key="x", max_retries=0) as client,
        pytest.raises(openai.APIConnectionError),
    ):
        client.models.list()


def simulated(run_dir: Path, run: Any, **options: Any) -> fe.Result:
    return fe.optimize(
        seed={"system": "Answer."},
        train=TRAIN,
        val=VAL,
        run=run,
        score=lambda example, output: min(len(output) / 5000, 0.9),
        models="sim/h100-qwen3-8b",
        budget=fe.Budget(metric_calls=24),
        run_dir=run_dir,
        **options,
    )


def events_of(run_dir: Path) -> list[Any]:
    return [(r.t_s, r.event) for r in read_records(run_dir) if r.event.kind != "run_started"]


def test_a_client_in_a_thread_may_wait_in_virtual_time_and_nothing_differs(tmp_path: Path) -> None:
    def chats(artifact: Any, example: Any, ctx: Any) -> str:
        turns = [
            {"role": "system", "content": artifact["system"]},
            {"role": "user", "content": example["input"]},
        ]
        return str(ctx.chat("task", turns).text)

    for name, run in (("a", agent), ("b", agent), ("c", chats)):
        simulated(tmp_path / name, run, concurrency=8)
    # To the second, and whichever way its calls came.
    assert events_of(tmp_path / "a") == events_of(tmp_path / "b") == events_of(tmp_path / "c")


def test_threads_of_an_agents_own_are_served_in_virtual_time(tmp_path: Path) -> None:
    def run(artifact: Any, example: Any, ctx: Any) -> str:
        with ThreadPoolExecutor(3) as pool:
            said = pool.map(
                lambda i: asked(ctx, artifact, {"input": f"{i} {example['input']}"}), range(3)
            )
            return "".join(said)

    result = simulated(tmp_path / "run", run)
    assert result.usage.calls > 3 * 20


def test_an_async_function_is_told_that_its_client_cannot_wait_in_virtual_time(
    tmp_path: Path,
) -> None:
    async def run(artifact: Any, example: Any, ctx: Any) -> str:
        return str(ctx.base_url)

    async def careless(artifact: Any, example: Any, ctx: Any) -> str:
        try:
            return str(ctx.base_url)
        except FlashEvolveError as error:
            return repr(error)

    for i, function in enumerate((run, careless)):
        with pytest.raises(
            FlashEvolveError, match=r"ctx\.base_url: expected a function that is no"
        ):
            simulated(tmp_path / str(i), function)


def sse(*texts: str) -> Step:
    """An answer that comes as a stream."""
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": {"content": t}, "finish_reason": None} for t in texts
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks: list[dict[str, Any]] = [
        {"object": "chat.completion.chunk", "choices": [choice]} for choice in choices
    ]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    chunks.append({"object": "chat.completion.chunk", "choices": [], "usage": usage})
    lines = [*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"]
    return Step(body="".join(lines).encode(), headers={"content-type": "text/event-stream"})


def test_a_stream_passes_through_and_its_usage_is_booked(tmp_path: Path) -> None:
    def run(artifact: Any, example: Any, ctx: Any) -> str:
        with openai.OpenAI(base_url=ctx.base_url, api_key=ctx.api_key) as client:
            stream = client.chat.completions.create(
                model="task",
                messages=[{"role": "user", "content": example["input"]}],
                stream=True,
            )
            return "|".join(c.choices[0].delta.content or "" for c in stream)

    def script(received: Received) -> Step:
        return sse("one", "two") if received.body.get("stream") else says(received)

    with Endpoint(script) as upstream:
        result = optimize(tmp_path / "run", upstream, run, budget=fe.Budget(metric_calls=14))
        n = len(upstream.received)
    outputs = [e.output for _, e in events_of(tmp_path / "run") if e.kind == "outcome_recorded"]
    assert set(outputs) == {"one|two|"}
    assert result.usage.calls == n
    assert result.usage.tokens_in == 10 * n


def test_a_call_that_its_client_leaves_is_settled_at_its_whole_reservation(tmp_path: Path) -> None:
    def run(artifact: Any, example: Any, ctx: Any) -> str:
        with (
            openai.OpenAI(
                base_url=ctx.base_url, api_key=ctx.api_key, timeout=0.3, max_retries=0
            ) as client,
            pytest.raises(openai.APITimeoutError),
        ):
            client.chat.completions.create(
                model="task", messages=[{"role": "user", "content": "be quick"}]
            )
        return asked(ctx, artifact, example)

    def script(received: Received) -> Step:
        return SILENCE if "be quick" in str(received.body) else says(received)

    with Endpoint(script) as upstream:
        optimize(tmp_path / "run", upstream, run, budget=fe.Budget(metric_calls=14), concurrency=16)
    events = [event for _, event in events_of(tmp_path / "run")]
    settled = {e.call: e for e in events if e.kind == "call_settled"}
    reserved = {e.call: e for e in events if e.kind == "call_reserved"}
    assert settled.keys() == reserved.keys()
    left = [e for e in settled.values() if e.status == "orphaned"]
    assert len(left) > 8
    assert all(e.usage.tokens_in + e.usage.tokens_out == reserved[e.call].tokens for e in left)


def test_what_a_function_does_not_wait_for_has_it_called_once_in_virtual_time(
    tmp_path: Path,
) -> None:
    contexts, helpers, ends = list[Any](), list[threading.Thread](), list[str]()

    def run(artifact: Any, example: Any, ctx: Any) -> str:
        contexts.append(ctx)
        url, token = ctx.base_url, ctx.api_key

        def tell() -> None:
            try:
                with openai.OpenAI(base_url=url, api_key=token, max_retries=0) as client:
                    client.chat.completions.create(model="task", messages=HELLO)  # type: ignore[arg-type]
                ends.append("answered")
            except openai.OpenAIError:  # Too late, also for the run.
                ends.append("too late")

        helpers.extend(threading.Thread(target=tell) for _ in range(2))
        for helper in helpers[-2:]:
            helper.start()
        return "done"

    result = simulated(tmp_path / "run", run)
    for helper in helpers:
        helper.join(10)
    assert result.reason == "metric_calls"
    assert len({id(ctx) for ctx in contexts}) == len(contexts)
    assert len(ends) == len(helpers) == 2 * len(contexts)


def test_the_real_key_reaches_no_child_under_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_MODEL", CANARY)
    monkeypatch.setenv("COPIED", f"Bearer {CANARY}")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")  # The run sets them; they are put back.
    seen = list[Mapping[str, str]]()

    def run(artifact: Any, example: Any, ctx: Any) -> str:
        seen.append(ctx.environment)
        return asked(ctx, artifact, example)  # Not by way of the proxy, which is none.

    with Endpoint(says, key=CANARY) as upstream:
        model = fe.Model(
            "fake-1", base_url=upstream.base_url, key_env="MY_MODEL", max_output_tokens=200
        )
        result = fe.optimize(
            seed={"system": "Answer."},
            train=TRAIN,
            val=VAL,
            run=run,
            score=lambda example, output: 0.5,
            models=model,
            run_dir=tmp_path / "run",
            budget=fe.Budget(metric_calls=14),
        )
    assert result.usage.calls
    assert seen
    assert not any(CANARY in value for environment in seen for value in environment.values())
    assert all(e["no_proxy"] == "127.0.0.1,localhost" for e in seen)


def test_a_chosen_port_that_is_taken_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    def careless(artifact: Any, example: Any, ctx: Any) -> str:
        try:
            return asked(ctx, artifact, example)
        except Exception as error:
            return repr(error)

    with socket.create_server(("127.0.0.1", 0)) as taken, Endpoint(says) as upstream:
        chosen = {"port": taken.getsockname()[1]}
        with pytest.raises(FlashEvolveError, match=r"gateway\.port: expected a free port"):
            optimize(tmp_path / "run", upstream, careless, gateway=chosen)
    assert not upstream.received


def test_an_async_function_that_stops_the_loop_with_its_client_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked_soon = partial(watch.Watch, blocked_s=0.2)
    monkeypatch.setattr("flashevolve.llm.gateway.gateway.Watch", blocked_soon)

    async def run(artifact: Any, example: Any, ctx: Any) -> str:
        try:
            return asked(ctx, artifact, example)
        except openai.OpenAIError as error:
            told.append(str(error))
            return "never mind"

    told = list[str]()
    with (
        Endpoint(says) as upstream,
        pytest.raises(FlashEvolveError, match="is an `async def`, and has kept the event loop"),
    ):
        optimize(tmp_path / "run", upstream, run)
    assert "openai.AsyncOpenAI" in told[0]
    assert not upstream.received
