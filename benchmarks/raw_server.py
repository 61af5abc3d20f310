"""A fake endpoint that costs next to nothing: one chat completion per request, after a while.

    python benchmarks/raw_server.py --mean-s 3 --sigma 0.5 --answer-chars 4000

It prints its base URL, serves until its standard input ends, and then prints as JSON what it saw:
every `SAMPLE_S` the seconds since it began, the requests that it held and those it had answered.
It reads nothing of a request but its length, so that the client in another process is what counts.
"""

import argparse
import asyncio
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

SAMPLE_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What the answers are like: latencies are lognormal, texts differ in their number alone."""

    mean_s: float
    sigma: float
    """Standard deviation of ln(latency); 0 = always the mean."""
    answer_chars: int


class Served:
    """What the server has to do and what it saw."""

    def __init__(self, shape: Shape) -> None:
        self._rng = Random(0)
        self._mu = math.log(shape.mean_s) - shape.sigma**2 / 2
        self._sigma = shape.sigma
        self._filling = "y" * shape.answer_chars
        self.n_in_flight = 0
        self.n_answered = 0
        self.samples: list[tuple[float, int, int]] = []

    def latency_s(self) -> float:
        """Returns how long the next answer takes."""
        return self._rng.lognormvariate(self._mu, self._sigma)

    def answer(self) -> bytes:
        """Returns the next answer: a fenced text, so that it serves every role of a run."""
        text = f"```\\n{self.n_answered} {self._filling}\\n```"
        body = (
            '{"object":"chat.completion","model":"fake","choices":[{"index":0,"message":'
            f'{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],'
            '"usage":{"prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000}}'
        ).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        return head.encode() + b"\r\n\r\n" + body

    async def sample(self) -> None:
        """Notes what is going on, until cancelled."""
        began_s = time.monotonic()
        while True:
            await asyncio.sleep(SAMPLE_S)
            self.samples.append((time.monotonic() - began_s, self.n_in_flight, self.n_answered))


class Connection(asyncio.Protocol):
    """One keep-alive connection; a client sends its next request after the answer."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._buffer = bytearray()
        self._missing: int | None = None
        """Bytes of the request that are still to come; None before its head is complete."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Counts bytes until a request is whole."""
        if self._missing is None:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._buffer[:end]).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            self._missing = length - (len(self._buffer) - end - 4)
            self._buffer.clear()
        else:
            self._missing -= len(data)
        if self._missing <= 0:
            self._missing = None
            self._served.n_in_flight += 1
            asyncio.get_running_loop().call_later(self._served.latency_s(), self._answer)

    def _answer(self) -> None:
        self._served.n_in_flight -= 1
        self._served.n_answered += 1
        if not self._transport.is_closing():
            self._transport.write(self._served.answer())


@dataclass
class Seen:
    """What the server saw; filled when it ends."""

    base_url: str
    samples: list[tuple[float, int, int]] = field(default_factory=list)
    """(seconds, requests in flight, requests answered)."""


@contextmanager
def raw_server(shape: Shape) -> Iterator[Seen]:
    """Starts the server in a process of its own; `samples` are there once the block is left."""
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in vars(shape).items()]
    command = [sys.executable, str(Path(__file__)), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        seen = Seen(server.stdout.readline().strip())
        try:
            yield seen
        finally:
            server.stdin.close()
            seen.samples = [tuple(sample) for sample in json.loads(server.stdout.read())]


async def serve(shape: Shape) -> None:
    """Serves until standard input ends."""
    served, loop = Served(shape), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(served), "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    sampling = asyncio.create_task(served.sample())
    await asyncio.to_thread(sys.stdin.read)
    sampling.cancel()
    print(json.dumps(served.samples), flush=True)


def main() -> None:
    """Serves what the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mean-s", type=float, required=True)
    parser.add_argument("--sigma", type=float, required=True)
    parser.add_argument("--answer-chars", type=int, required=True)
    asyncio.run(serve(Shape(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
