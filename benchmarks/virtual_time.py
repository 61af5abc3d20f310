"""CPU time per simulated request: 20,000 requests, 64 in flight, in virtual time.

Run: python benchmarks/virtual_time.py. Aim: at most 60 microseconds for serving model and loop.
"""

import asyncio
import time
from random import Random

from flashevolve.simulate.loop import VirtualLoop, run_virtual
from flashevolve.simulate.serving import Job, server_of
from flashevolve.simulate.world import load_world

N_REQUESTS = 20_000
MAX_IN_FLIGHT = 64


async def serve_all(in_threads: bool) -> float:
    """Serves all requests; returns the virtual seconds that this took."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    model = server_of(load_world().preset("h100-qwen3-8b"))
    rng = Random(0)
    requests = iter([(500, int(rng.lognormvariate(6, 1)) + 1) for _ in range(N_REQUESTS)])

    async def sender() -> None:
        for tokens_in, tokens_out in requests:
            if in_threads:
                coro = model.serve(Job(tokens_in, tokens_out))
                await asyncio.to_thread(loop.call_from_thread, coro)
            else:
                await model.serve(Job(tokens_in, tokens_out, range(31)))

    await asyncio.gather(*(sender() for _ in range(MAX_IN_FLIGHT)))
    return loop.time()


def main() -> None:
    """Prints one line per way of calling."""
    for label, in_threads in (("from tasks", False), ("from threads", True)):
        started_s = time.process_time()
        virtual_s = run_virtual(serve_all(in_threads))
        cpu_us = (time.process_time() - started_s) / N_REQUESTS * 1e6
        print(f"{label:13} {cpu_us:6.1f} us of CPU per request, {virtual_s:8.1f} virtual seconds")


if __name__ == "__main__":
    main()
