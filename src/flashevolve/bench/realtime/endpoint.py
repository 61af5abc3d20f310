"""The endpoint of one run, in a process of its own (`python -m`).

It answers as the built-in reader does and takes the time that `slots` says. Each role has a base
URL of its own, so that what a client spent on which role is known without asking it; `test` answers
at once, outside of the slots. It serves until its standard input ends and then prints its log.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, astuple, dataclass, field, replace

from flashevolve.bench.realtime.brief import MODEL
from flashevolve.bench.realtime.slots import Numbered, Pace, Served, Slots
from flashevolve.bench.testing import Timeless
from flashevolve.errors import ConfigError
from flashevolve.simulate.endpoint import Endpoint, listening
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.serving import Server
from flashevolve.simulate.world import World, load_world

ROLES = ("task", "reflect", "test")
TEST = "test"
MAX_TOKENS = 2000
"""Of an answer: below what any client asks for at most, so that none is cut off."""


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What one endpoint is to be."""

    preset: str
    """Whose reader answers."""
    pace: Pace
    seed: int

    def to_json(self) -> str:
        """Returns it as the process takes it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Serving":
        """Returns what `to_json` wrote."""
        data = json.loads(text)
        return cls(preset=data["preset"], pace=Pace(**data["pace"]), seed=data["seed"])


@dataclass
class Seen:
    """Where the endpoint is, and what it saw; the latter is filled when it ends."""

    urls: Mapping[str, str]
    """Role -> base URL."""
    log: list[Served] = field(default_factory=list)
    cpu_s: float = 0.0
    """Its processor time, answers included."""
    pid: int = 0


@contextmanager
def endpoint(serving: Serving) -> Iterator[Seen]:
    """Serves in a process of its own while the block runs.

    Raises `ConfigError` if it does not start, or has ended before it is told to.
    """
    command = [sys.executable, "-m", __name__, serving.to_json()]
    # In a session of its own: Ctrl-C is for the suite, which then ends the endpoint.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        first = server.stdout.readline()
        if not first:
            raise ConfigError(
                f"bench: expected an endpoint in a process of its own, found that {sys.executable} "
                f"ended with status {server.wait()}; its error stands above"
            )
        seen = Seen(urls=json.loads(first), pid=server.pid)
        try:
            yield seen
        finally:
            server.stdin.close()
            last = server.stdout.read()
        # Only here, past the block's own errors: they say more than an endpoint that has ended.
        if not last:
            raise ConfigError(
                "bench: expected the endpoint's log at its end, found that it ended before, with "
                f"status {server.wait()}; its error stands above"
            )
        told = json.loads(last)
        seen.log = [Served(*entry) for entry in told["log"]]
        seen.cpu_s = told["cpu_s"]


def models_of(serving: Serving, slots: Slots, world: World) -> dict[str, Numbered]:
    """Returns the model of each role; all share the reader's parameters."""
    short = replace(world, lengths=replace(world.lengths, max_tokens=MAX_TOKENS))
    made = {}
    for role in ROLES:
        server: Server = Timeless() if role == TEST else slots.of(role)
        model = SimulatedModel.from_preset(serving.preset, {serving.preset: server}, world=short)
        made[role] = Numbered(model, serving.seed)
    return made


async def serve(serving: Serving) -> None:
    """Serves until standard input ends, and prints where and what."""
    world, slots = load_world(), Slots(serving.pace)
    async with AsyncExitStack() as stack:
        urls = {}
        for role, model in models_of(serving, slots, world).items():
            served = Endpoint(model, MODEL, world=world, seed=serving.seed)
            urls[role] = await stack.enter_async_context(listening(served, "127.0.0.1", 0))
        _tell(urls)
        await asyncio.to_thread(sys.stdin.read)
    log = [astuple(entry) for entry in slots.log]
    _tell({"log": log, "cpu_s": time.process_time()})


def _tell(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(Serving.from_json(sys.argv[1])))
