"""CPU per call of HTTPModel beside bare aiohttp, against a fake endpoint in another process.

Run: python benchmarks/http_client.py [calls per round] [in flight]. Rounds alternate between the
two, so that a machine that slows down slows both. Aim: at most 0.15 ms more than bare aiohttp.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median, quantiles

import aiohttp

from flashevolve.llm.http import HTTPModel
from flashevolve.llm.messages import Request, system, user

PROMPT_CHARS, ANSWER_CHARS = 8_000, 4_000
ROUNDS = 15
AIM_MS = 0.15
SERVER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from tests.fakes.endpoint import Endpoint, answer
step = answer("x" * {ANSWER_CHARS}, latency_s=0.02)
with Endpoint(lambda received: step) as endpoint:
    print(endpoint.base_url, flush=True)
    sys.stdin.read()
"""


async def round_ms(call: Callable[[], Awaitable[object]], n_calls: int, in_flight: int) -> float:
    """Returns our process's CPU time per call, in milliseconds."""
    left = n_calls

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await call()

    began_s = time.process_time()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return (time.process_time() - began_s) * 1000 / n_calls


async def compare(base_url: str, n_calls: int, in_flight: int) -> None:
    """Measures both and prints the result."""
    request = Request(messages=(system("Be brief."), user("p" * PROMPT_CHARS)))
    body = {
        "model": "m",
        "messages": [{"role": m.role, "content": m.text} for m in request.messages],
        "max_tokens": request.max_output_tokens,
    }
    model = HTTPModel("m", base_url, "sk-benchmark-0000")
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def bare() -> object:
            headers = {"authorization": "Bearer sk-benchmark-0000"}
            url = f"{base_url}/chat/completions"
            async with session.post(url, json=body, headers=headers) as response:
                return json.loads(await response.read())["choices"][0]["message"]["content"]

        async def ours() -> object:
            return await model.complete(request)

        pairs: list[tuple[float, float]] = []
        for n in range(ROUNDS + 1):
            pair = (
                await round_ms(bare, n_calls, in_flight),
                await round_ms(ours, n_calls, in_flight),
            )
            if n > 0:  # The first round pays for connections and imports.
                pairs.append(pair)
    await model.close()
    show("bare aiohttp, ms", [b for b, _ in pairs])
    show("HTTPModel, ms", [o for _, o in pairs])
    show("added, ms", [o - b for b, o in pairs])
    show("ratio", [o / b for b, o in pairs])
    added_ms = median(o - b for b, o in pairs)
    print(f"aim: added <= {AIM_MS} ms: {'met' if added_ms <= AIM_MS else 'MISSED'}")


def show(what: str, values: list[float]) -> None:
    """Prints median and quartiles."""
    low, middle, high = quantiles(values, n=4)
    print(f"{what:18} {middle:7.3f}  (quartiles {low:.3f} to {high:.3f}, {len(values)} rounds)")


def main() -> None:
    """Starts the fake endpoint, measures, and stops it."""
    n_calls = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    in_flight = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        asyncio.run(compare(server.stdout.readline().strip(), n_calls, in_flight))
        server.communicate("")


if __name__ == "__main__":
    main()
