"""Requests in flight and calls per second of one process over real HTTP, beside bare aiohttp.

    python benchmarks/throughput.py [--calls 60000] [--concurrency 2000] [--mean-s 3] [--sigma 0.5]

A whole durable GEPA run (engine, store on disk, limiter, user's metric in threads; 8 KB prompts,
4 KB answers) against a fake endpoint in another process, whose latencies are lognormal. The
endpoint itself counts what is in flight. "steady" is the middle of the run, from 40 % to 80 % of
its calls: before it the limiter doubles from 16 upward, after it the work runs out. The most that
can be served is concurrency / mean latency. Lag is how much later than asked the event loop woke a
task that slept 10 ms; RSS is the process's. Aims: 500 calls per second, and in flight on average
at least 95 % of the concurrency, which is 2,000 unless given. With less than a core and a half for
client and endpoint together, what is measured is the machine: the system's load is printed beside.
"""

import argparse
import asyncio
import gc
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

import aiohttp
from memory import rss_mb
from raw_server import Shape, raw_server

import flashevolve as fe

PROMPT_CHARS, ANSWER_CHARS = 8_000, 4_000
N_TRAIN, N_VAL = 60, 300
STEADY = (0.4, 0.8)
TICK_S = 0.01
EARLY_CALLS = 10_000
"""From here on memory should stay."""
AIM_IN_FLIGHT, AIM_CALLS_PER_S = 2000, 500
TOLERANCE = 0.05
"""The mean lies below the limit by what is being settled and refilled at each moment."""
MIN_CALLS, MIN_ROUNDS = 2000, 10
"""Calls at least, and calls per request in flight: with fewer there is no steady middle."""
MIN_SAMPLES = 10


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one client did."""

    name: str
    calls: int
    wall_s: float
    cpu_s: float
    lags_s: list[float]
    rss_mb: list[tuple[float, float]]
    """(seconds, megabytes)."""
    samples: list[tuple[float, int, int]]
    """(seconds, requests in flight, requests answered), as the endpoint saw it."""

    @property
    def most_mb(self) -> float:
        """The largest RSS."""
        return max(mb for _, mb in self.rss_mb)

    def steady(self) -> tuple[float, float] | None:
        """Returns steady calls per second and requests in flight; None if too few were seen."""
        steady = [s for s in self.samples if STEADY[0] < s[2] / self.calls < STEADY[1]]
        if len(steady) < MIN_SAMPLES:
            return None
        per_s = (steady[-1][2] - steady[0][2]) / (steady[-1][0] - steady[0][0])
        return per_s, fmean(s[1] for s in steady)

    def show(self) -> None:
        """Prints it."""
        cuts = quantiles(self.lags_s, n=1000)
        print(f"{self.name}: {self.calls} calls in {self.wall_s:.1f} s")
        if steady := self.steady():
            print(f"  steady: {steady[0]:.0f} calls/s, in flight {steady[1]:.0f} on average")
        else:
            print("  steady: the run was too short to tell; raise --calls")
        print(f"  whole:  {self.calls / self.wall_s:.0f} calls/s, ", end="")
        print(f"in flight at most {max(s[1] for s in self.samples)}")
        print(f"  CPU {1000 * self.cpu_s / self.calls:.3f} ms per call, ", end="")
        print(f"{100 * self.cpu_s / self.wall_s:.0f} % of one core; load {os.getloadavg()[0]:.1f}")
        early_s = next((s[0] for s in self.samples if s[2] >= EARLY_CALLS), None)
        early = ""
        if early_s is not None:
            early_mb = next(mb for at_s, mb in self.rss_mb if at_s >= early_s)
            early = f"{early_mb:.0f} MB after {EARLY_CALLS} calls, "
        print(f"  RSS {early}most {self.most_mb:.0f} MB")
        print(f"  lag of the loop: p50 {1000 * cuts[499]:.1f} ms, ", end="")
        print(f"p99 {1000 * cuts[989]:.1f} ms, most {1000 * max(self.lags_s):.0f} ms")

    def show_aims(self, concurrency: int) -> None:
        """Prints whether the aims were met, with what was allowed."""
        if (steady := self.steady()) is None:
            print("aims: not judged; the run was too short")
            return
        per_s, in_flight = steady
        least = (1 - TOLERANCE) * concurrency
        full = "met" if in_flight >= least else "MISSED"
        fast = "met" if per_s >= AIM_CALLS_PER_S else "MISSED"
        print(f"aims: at least {least:.0f} in flight on average ({1 - TOLERANCE:.0%} of ", end="")
        print(f"{concurrency}): {full}; {AIM_CALLS_PER_S} calls/s: {fast}")
        if concurrency < AIM_IN_FLIGHT:
            print(f"  the aim of {AIM_IN_FLIGHT} needs --concurrency {AIM_IN_FLIGHT}")


Client = Callable[[str, argparse.Namespace], Awaitable[int]]
"""(base URL, options) -> number of calls made."""


async def run_client(base_url: str, options: argparse.Namespace) -> int:
    """Runs GEPA to the end of its budget."""
    examples: list[dict[str, Any]] = [
        {"id": str(i), "input": f"{i} " + "p" * PROMPT_CHARS} for i in range(N_TRAIN + N_VAL)
    ]
    with tempfile.TemporaryDirectory() as directory:
        result = await fe.aoptimize(
            seed={"system": "Be brief."},
            train=examples[:N_TRAIN],
            val=examples[N_TRAIN:],
            score=lambda example, output: (sum(output[:8].encode()) % 5) / 5,
            models=fe.Model("m", base_url=base_url),
            policy="full",
            budget=fe.Budget(metric_calls=options.calls),
            concurrency=options.concurrency,
            run_dir=Path(directory) / "run",
        )
    return result.usage.calls


async def bare_client(base_url: str, options: argparse.Namespace) -> int:
    """Sends the same sizes with aiohttp alone, from as many tasks as requests may be in flight."""
    turns = [{"role": "user", "content": "p" * (PROMPT_CHARS + ANSWER_CHARS)}]
    body = json.dumps({"model": "m", "messages": turns}).encode()
    headers = {"Content-Type": "application/json"}
    url, left = f"{base_url}/chat/completions", options.calls
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def worker() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                async with session.post(url, data=body, headers=headers) as response:
                    json.loads(await response.read())

        await asyncio.gather(*(worker() for _ in range(options.concurrency)))
    return int(options.calls)


def measure(name: str, client: Client, options: argparse.Namespace) -> Row:
    """Runs one client against a server of its own."""
    lags_s: list[float] = []
    sizes_mb: list[tuple[float, float]] = []

    async def watch() -> None:
        began_s = time.perf_counter()
        while True:
            asked_s = time.perf_counter()
            await asyncio.sleep(TICK_S)
            lags_s.append(time.perf_counter() - asked_s - TICK_S)
            if len(lags_s) % 100 == 0:
                sizes_mb.append((asked_s - began_s, rss_mb()))

    async def main(base_url: str) -> int:
        watching = asyncio.create_task(watch())
        try:
            return await client(base_url, options)
        finally:
            watching.cancel()

    gc.collect()
    shape = Shape(mean_s=options.mean_s, sigma=options.sigma, answer_chars=ANSWER_CHARS)
    with raw_server(shape) as seen:
        began_s, cpu_s = time.monotonic(), time.process_time()
        calls = asyncio.run(main(seen.base_url))
        cpu_s, wall_s = time.process_time() - cpu_s, time.monotonic() - began_s
        sizes_mb.append((wall_s, rss_mb()))
    return Row(
        name=name,
        calls=calls,
        wall_s=wall_s,
        cpu_s=cpu_s,
        lags_s=lags_s,
        rss_mb=sizes_mb,
        samples=seen.samples,
    )


def main() -> None:
    """Measures bare aiohttp, then a whole run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=60_000)
    parser.add_argument("--concurrency", type=int, default=2000)
    parser.add_argument("--mean-s", type=float, default=3.0)
    parser.add_argument("--sigma", type=float, default=0.5)
    parser.add_argument("--only", choices=("bare", "run"), help="measure just one of the two")
    options = parser.parse_args()
    least = max(MIN_CALLS, MIN_ROUNDS * options.concurrency)
    if options.calls < least:
        parser.error(
            f"--calls: expected at least {least} ({MIN_ROUNDS} for each of {options.concurrency} "
            f"in flight, and never below {MIN_CALLS}), found {options.calls}; raise it, or lower "
            "--concurrency"
        )
    most = options.concurrency / options.mean_s
    print(f"concurrency {options.concurrency}, mean latency {options.mean_s:g} s: ", end="")
    print(f"at most {most:.0f} calls/s")
    if options.only != "run":
        measure("bare aiohttp", bare_client, options).show()
    if options.only != "bare":
        row = measure("whole run", run_client, options)
        row.show()
        row.show_aims(options.concurrency)


if __name__ == "__main__":
    main()
