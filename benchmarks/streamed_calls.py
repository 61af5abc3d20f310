"""CPU per streamed call beside a whole one, and how long a chunk takes from the wire to its relay.

Run: python benchmarks/streamed_calls.py [calls per round] [chunks]. The endpoint is another
process; it writes the machine's clock into each chunk. Rounds alternate between whole answers and
streams of the same text.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from statistics import median, quantiles
from typing import Any

from flashevolve.llm.http import HTTPModel
from flashevolve.llm.messages import Request, user

ANSWER_CHARS = 4_000
BETWEEN_S = 0.002
"""Between two chunks: 500 tokens a second, faster than most models."""
ROUNDS = 7
IN_FLIGHT = 16
TIMED_CALLS = 30
"""One after the other: beside others, a chunk waits for its turn on the processor first."""


class Upstream:
    """The endpoint: whole answers, or streams of `n_chunks`."""

    def __init__(self, n_chunks: int) -> None:
        self._n_chunks = n_chunks
        self._piece = "y" * (ANSWER_CHARS // n_chunks)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                await (self._stream if b'"stream": true' in body else self._whole)(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _whole(self, writer: asyncio.StreamWriter) -> None:
        message = {"role": "assistant", "content": self._piece * self._n_chunks}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"model": "fake", "choices": [choice], "usage": USAGE}).encode()
        head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        writer.write(b"transfer-encoding: chunked\r\n\r\n")
        for i in range(self._n_chunks):
            finish = "stop" if i == self._n_chunks - 1 else None
            choice = {"index": 0, "delta": {"content": self._piece}, "finish_reason": finish}
            self._send(writer, {"model": "fake", "choices": [choice]})
            await asyncio.sleep(BETWEEN_S)
        self._send(writer, {"model": "fake", "choices": [], "usage": USAGE})
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

    def _send(self, writer: asyncio.StreamWriter, chunk: dict[str, Any]) -> None:
        event = f"data: {json.dumps({**chunk, 'sent_s': time.monotonic()})}\n\n".encode()
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))


USAGE = {"prompt_tokens": 10, "completion_tokens": 1000, "total_tokens": 1010}


async def upstream(n_chunks: int) -> None:
    """Serves until the process is ended."""
    server = await asyncio.start_server(Upstream(n_chunks).serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


async def round_ms(model: HTTPModel, n_calls: int, *, stream: bool) -> float:
    """Returns our process's CPU time per call, in milliseconds."""
    request = Request(messages=(user("p" * 2_000),))
    left = n_calls

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            if stream:
                reply = await model.stream(request, lambda chunk: None)
            else:
                reply = await model.complete(request)
            assert len(reply.text) >= ANSWER_CHARS - 200

    began_s = time.process_time()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return (time.process_time() - began_s) * 1000 / n_calls


async def delays_ms(model: HTTPModel) -> tuple[list[float], list[float]]:
    """Returns what first chunks and later ones took from the endpoint's write to their relay."""
    first, later = list[float](), list[float]()
    for _ in range(TIMED_CALLS):
        took: list[float] = []

        def relay(chunk: Mapping[str, Any], took: list[float] = took) -> None:
            took.append((time.monotonic() - chunk["sent_s"]) * 1000)

        await model.stream(Request(messages=(user("hi"),)), relay)
        first.append(took[0])
        later += took[1:]
    return first, later


async def compare(base_url: str, n_calls: int, n_chunks: int) -> None:
    """Measures and prints."""
    model = HTTPModel("m", base_url, "sk-benchmark-0000")
    whole, streamed = list[float](), list[float]()
    for n in range(ROUNDS + 1):
        pair = [await round_ms(model, n_calls, stream=stream) for stream in (False, True)]
        if n > 0:  # The first round pays for connections and imports.
            whole.append(pair[0])
            streamed.append(pair[1])
    first, later = await delays_ms(model)
    await model.close()
    more_us = (median(streamed) - median(whole)) * 1000 / n_chunks
    print(f"CPU of a whole call, ms: {median(whole):.3f}")
    print(f"CPU of a call in {n_chunks} chunks, ms: {median(streamed):.3f}")
    print(f"CPU of a chunk, us: {more_us:.1f}")
    for name, found in (("first", first), ("later", later)):
        p95 = quantiles(found, n=20)[-1]
        print(f"{name} chunks reach the relay after, ms: {median(found):.3f}, p95 {p95:.3f}")


def main() -> None:
    """Starts the endpoint in a process of its own, and measures."""
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(upstream(int(sys.argv[2])))
        return
    n_calls = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    n_chunks = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    command = [sys.executable, __file__, "serve", str(n_chunks)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            asyncio.run(compare(server.stdout.readline().strip(), n_calls, n_chunks))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
