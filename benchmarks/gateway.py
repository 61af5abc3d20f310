"""What the gateway costs: CPU per call, calls per second, and the delay of a stream's first byte.

    python benchmarks/gateway.py [calls]

A run's call service with a store on disk asks a fake endpoint in another process. The same calls
are made once directly (`ctx.chat`'s way) and once through the gateway by clients in a third
process, 64 at a time; rounds alternate. What is compared is the CPU time of our process. Streams go
one at a time: the endpoint writes the time into its first chunk, and the client compares.

Aims: at most 1 ms CPU per call added, at least 500 calls/s, the first byte within 5 ms.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # What it shares with the tests.

import aiohttp
from pydantic import TypeAdapter
from raw_server import Shape, raw_server

from flashevolve.engine.ask import OriginAsk
from flashevolve.engine.funds import Funds
from flashevolve.engine.log import EventLog
from flashevolve.llm.calls import CallService, Endpoint, Origin
from flashevolve.llm.gateway.gateway import Gateway
from flashevolve.llm.gateway.known import known_to
from flashevolve.llm.http import HTTPModel
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.messages import system, user
from flashevolve.llm.retry import RetryPolicy
from flashevolve.store.writer import StoreWriter
from tests.fakes.runs import Bench
from tests.fakes.workflows import Reduction

PROMPT_CHARS, ANSWER_CHARS = 8_000, 4_000
IN_FLIGHT = 64
ROUNDS = 5
STREAMS = 200
AIM_CPU_MS, AIM_CALLS_PER_S, AIM_FIRST_MS = 1.0, 500.0, 5.0
UPSTREAM_S = 0.02


def body(i: int, **more: Any) -> dict[str, Any]:
    """Returns a request that no other equals."""
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"{i} " + "p" * PROMPT_CHARS},
    ]
    return {"model": "task", "messages": messages, **more}


async def ask_all(url: str, token: str, start: int, n_calls: int) -> None:
    """The client's side of a round: 64 at a time over the gateway."""
    todo = iter(range(start, start + n_calls))
    headers = {"authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

        async def work() -> None:
            for i in todo:
                async with http.post(url, json=body(i), headers=headers) as response:
                    assert response.status == 200, await response.text()
                    await response.read()

        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


async def time_first_bytes(url: str, token: str, n_calls: int) -> list[float]:
    """Returns for each stream the ms from the endpoint's first byte to the client's."""
    headers = {"authorization": f"Bearer {token}"}
    delays: list[float] = []
    async with aiohttp.ClientSession() as http:
        for i in range(n_calls):
            async with http.post(url, json=body(-i - 1, stream=True), headers=headers) as response:
                line = await response.content.readline()
                now_s = time.time()
                told = json.loads(line.removeprefix(b"data: "))
                sent_s = float(told["choices"][0]["delta"]["content"])
                delays.append((now_s - sent_s) * 1000)
                await response.read()
    return delays


async def client() -> None:
    """The third process: does what its standard input says, one JSON line at a time."""
    for line in sys.stdin:
        job = json.loads(line)
        if "streams" in job:
            told: Any = await time_first_bytes(job["url"], job["token"], job["streams"])
        else:
            began_s = time.monotonic()
            await ask_all(job["url"], job["token"], job["start"], job["calls"])
            told = time.monotonic() - began_s
        print(json.dumps(told), flush=True)


async def serve_streams() -> None:
    """The endpoint for streams: its first chunk holds the time at which it was written."""
    from aiohttp import web

    async def chat(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for i in range(5):
            # The time is asked for last, so that nothing of ours is counted.
            finish = "stop" if i == 4 else None
            delta = {"content": f"{time.time():.6f}"}
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"object": "chat.completion.chunk", "model": "fake", "choices": [choice]}
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
            await asyncio.sleep(0.005)
        await response.write(b"data: [DONE]\n\n")
        return response

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)


@dataclass
class Way:
    """A call service with a store on disk, and a door to it."""

    ask: Callable[..., Awaitable[Any]]
    url: str
    token: str


@asynccontextmanager
async def way_to(base_url: str, run_dir: Path) -> AsyncIterator[Way]:
    """Opens a call service that asks `base_url`, and a gateway before it."""
    bench = Bench(Reduction)
    state = bench.folded()
    writer = StoreWriter.create(run_dir, "threaded")
    codec = TypeAdapter(bench.fresh_workflow().payload)
    log = EventLog(writer, state, time.monotonic, partial(codec.dump_python, mode="json"))
    log.append(bench.plan(bench.fresh_workflow()).start)
    model = HTTPModel("fake", base_url)
    limiter = Limiter("fake", IN_FLIGHT, IN_FLIGHT)
    endpoint = Endpoint(label="fake", model=model, limiter=limiter, price=None)
    calls = CallService({"": [endpoint]}, log, Funds(state.ledger), RetryPolicy(max_attempts=1), 0)
    origin = Origin(0, "rollout", 1, "", (0,), ("bench",), {})
    gateway = Gateway(known_to({"": [endpoint]}, ()))
    ask = OriginAsk(calls, origin)
    door = gateway.door(ask)
    try:
        yield Way(ask, door.base_url + "/chat/completions", door.token)
    finally:
        await door.close()
        await gateway.close()
        await model.close()
        await log.flush()
        writer.close()


async def direct(way: Way, start: int, n_calls: int) -> None:
    """Makes the same calls as a client would, without a gateway."""
    todo = iter(range(start, start + n_calls))

    async def work() -> None:
        for i in todo:
            await way.ask("task", [system("Be brief."), user(f"{i} " + "p" * PROMPT_CHARS)])

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


async def told_by(process: "subprocess.Popen[str]", **job: Any) -> Any:
    """Has the client do a job and returns what it tells."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(job) + "\n")
    process.stdin.flush()
    return json.loads(await asyncio.to_thread(process.stdout.readline))


async def whole_calls(
    base_url: str, run_dir: Path, process: "subprocess.Popen[str]", n_calls: int
) -> None:
    """Measures CPU and rate of whole answers, and prints them."""
    rows: list[tuple[float, float, float, float]] = []
    async with way_to(base_url, run_dir) as way:
        for n in range(ROUNDS + 1):
            start = 10**6 * n
            began_s, cpu_s = time.monotonic(), time.process_time()
            await direct(way, start, n_calls)
            bare_s, bare_cpu_s = time.monotonic() - began_s, time.process_time() - cpu_s
            cpu_s = time.process_time()
            job = {"url": way.url, "token": way.token, "start": start + n_calls, "calls": n_calls}
            took_s = await told_by(process, **job)
            row = (bare_cpu_s, time.process_time() - cpu_s, n_calls / bare_s, n_calls / took_s)
            if n > 0:  # The first round pays for connections and imports.
                rows.append(row)
    bare_ms = median(row[0] for row in rows) * 1000 / n_calls
    ours_ms = median(row[1] for row in rows) * 1000 / n_calls
    added_ms = median(row[1] - row[0] for row in rows) * 1000 / n_calls
    rate = median(row[3] for row in rows)
    print(f"CPU per call: direct {bare_ms:.2f} ms, through the gateway {ours_ms:.2f} ms")
    print(f"added: {added_ms:.2f} ms (aim: at most {AIM_CPU_MS:g})")
    print(
        f"calls per second at {IN_FLIGHT} clients: {rate:.0f} (aim: at least {AIM_CALLS_PER_S:g}); "
        f"direct {median(row[2] for row in rows):.0f}"
    )


async def streams(base_url: str, run_dir: Path, process: "subprocess.Popen[str]") -> None:
    """Measures how long the first byte of a stream takes, and prints it."""
    bare = await told_by(process, url=base_url + "/chat/completions", token="none", streams=STREAMS)
    async with way_to(base_url, run_dir) as way:
        await told_by(process, url=way.url, token=way.token, streams=10)
        found = await told_by(process, url=way.url, token=way.token, streams=STREAMS)
    print(
        f"first byte after the endpoint's: median {median(found):.2f} ms, p95 "
        f"{quantiles(found, n=20)[-1]:.2f} ms (aim: {AIM_FIRST_MS:g}); "
        f"without a gateway {median(bare):.2f} ms, p95 {quantiles(bare, n=20)[-1]:.2f} ms"
    )


def main() -> None:
    """Measures, or is one of the other processes."""
    match sys.argv[1:]:
        case ["client"]:
            asyncio.run(client())
            return
        case ["streams"]:
            asyncio.run(serve_streams())
            return
    n_calls = int(sys.argv[1]) if sys.argv[1:] else 1000
    command = [sys.executable, str(Path(__file__))]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    shape = Shape(mean_s=UPSTREAM_S, sigma=0.0, answer_chars=ANSWER_CHARS)
    with (
        tempfile.TemporaryDirectory() as place,
        subprocess.Popen([*command, "client"], **pipes) as process,
        subprocess.Popen([*command, "streams"], **pipes) as upstream,
        raw_server(shape) as served,
    ):
        asyncio.run(whole_calls(served.base_url, Path(place) / "whole", process, n_calls))
        assert upstream.stdout is not None
        base_url = upstream.stdout.readline().strip()
        asyncio.run(streams(base_url, Path(place) / "streams", process))


if __name__ == "__main__":
    main()
