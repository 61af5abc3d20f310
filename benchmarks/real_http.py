"""All-in CPU per LLM call of a whole run over real HTTP: client, engine and store together.

    .venv/bin/python benchmarks/real_http.py [--calls 6000] [--rounds 5] [--profile]

GEPA evolves a prompt against a fake endpoint in another process (8 KB prompts, 4 KB answers, 50 ms)
with 64 requests in flight; the CPU is that of our whole process, store thread included. Each round
also times bare aiohttp on the same machine at the same moment, so that the ratio holds when the
machine's speed drifts. Aim: 0.8 ms per call, at most 1.5.
"""

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

import flashevolve as fe

PROMPT_CHARS, ANSWER_CHARS, LATENCY_S, IN_FLIGHT = 8_000, 4_000, 0.05, 64
SERVER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from itertools import count
from tests.fakes.endpoint import Endpoint, answer
numbers = count()
def reply(received):
    # A different text each time, so that no proposal is a duplicate.
    text = f"```\\n{{next(numbers)}} " + "y" * {ANSWER_CHARS} + "\\n```"
    return answer(text, latency_s={LATENCY_S})
with Endpoint(reply) as endpoint:
    print(endpoint.base_url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def endpoint() -> Iterator[str]:
    """Starts the fake in a process of its own; yields its base URL."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def whole_run(base_url: str, n_calls: int) -> tuple[float, int]:
    """Returns CPU milliseconds per call and the number of calls of one run."""
    examples: list[dict[str, Any]] = [
        {"id": str(i), "input": f"{i} " + "p" * PROMPT_CHARS} for i in range(160)
    ]
    with tempfile.TemporaryDirectory() as directory:
        began_s = time.process_time()
        result = fe.optimize(
            seed={"system": "Be brief."},
            train=examples[:60],
            val=examples[60:],
            score=lambda example, output: (hash(output) % 5) / 5,
            models=fe.Model("m", base_url=base_url),
            policy="full",
            budget=fe.Budget(metric_calls=n_calls),
            concurrency=IN_FLIGHT,
            run_dir=Path(directory) / "run",
        )
        cpu_s = time.process_time() - began_s
    return 1000 * cpu_s / result.usage.calls, result.usage.calls


def bare(base_url: str, n_calls: int) -> float:
    """Returns CPU milliseconds per call of aiohttp alone, with the same sizes."""
    turns = [{"role": "user", "content": "p" * PROMPT_CHARS}]
    body = json.dumps({"model": "m", "messages": turns}).encode()

    async def main() -> None:
        left = n_calls
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def worker() -> None:
                nonlocal left
                while left > 0:
                    left -= 1
                    headers = {"Content-Type": "application/json"}
                    url = f"{base_url}/chat/completions"
                    async with session.post(url, data=body, headers=headers) as response:
                        json.loads(await response.read())

            await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))

    began_s = time.process_time()
    asyncio.run(main())
    return 1000 * (time.process_time() - began_s) / n_calls


def main() -> None:
    """Alternates the two and prints medians with their range."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="say where the run's time goes")
    options = parser.parse_args()
    os.environ.setdefault("PYTHONHASHSEED", "0")
    with endpoint() as base_url:
        if options.profile:
            profile_run(base_url, options.calls)
            return
        pairs = []
        for number in range(options.rounds):
            run_ms, n_calls = whole_run(base_url, options.calls)
            bare_ms = bare(base_url, options.calls // 2)
            pairs.append((run_ms, bare_ms))
            print(f"round {number + 1}: {n_calls} calls, run {run_ms:.3f} ms, bare {bare_ms:.3f}")
    for name, values in (
        ("CPU ms per call, whole run", [run for run, _ in pairs]),
        ("CPU ms per call, bare aiohttp", [b for _, b in pairs]),
        ("ratio", [run / b for run, b in pairs]),
    ):
        print(f"{name:<32}{median(values):.3f} [{min(values):.3f}, {max(values):.3f}]")


def profile_run(base_url: str, n_calls: int) -> None:
    """Prints the functions in which the event loop's thread spends its own time."""
    profiler = cProfile.Profile()
    original = asyncio.run

    def profiled(main: Any) -> Any:
        # The run's loop lives in a thread of its own, which a profiler sees only from inside.
        return profiler.runcall(original, main)

    asyncio.run = profiled  # type: ignore[assignment]  # restored below
    try:
        whole_run(base_url, n_calls)
    finally:
        asyncio.run = original
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    main()
