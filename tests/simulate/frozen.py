"""What the simulated world does, as a digest, pinned to its hash and its revision.

The hash pins the parameters and the constants of the code; the digest pins what the code makes of
them: answers, lengths and times of fixed messages on every preset, latencies and shapes. After a
deliberate change, and before anything is compared in the new world:
python -m tests.simulate.frozen
"""

import asyncio
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from flashevolve.llm.messages import Message, Request, user
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.serving import Server
from flashevolve.simulate.shapes import ShapeSettings, is_success
from flashevolve.simulate.world import load_world
from tests.simulate.frozen_messages import messages

PINNED = Path(__file__).with_name("frozen.json")
RAISE = (
    "code changed what the same parameters of the world give, so that results before and after it "
    "must not be compared: raise `revision` in world.toml, then run "
    "python -m tests.simulate.frozen"
)
RENEW = (
    "world.toml or a constant of the code makes another world than the pinned one: if that is "
    "meant, run "
    "python -m tests.simulate.frozen"
)

SHAPES_ON = "h100-qwen3-8b"
AT_ONCE = 50
"""So many answers of any length an account's limits let through at once."""


def digest() -> str:
    """Returns 16 hexadecimal digits over what the world does today."""
    world = load_world()
    found: dict[str, Any] = {name: run_virtual(_replies(name)) for name in sorted(world.presets)}
    found["latency"] = {
        name: [_short(settings.draw_s(f"example {k}", k)) for k in range(5)]
        for name, settings in sorted(world.latency.items())
    }
    found["shapes"] = {
        name: run_virtual(_shape_replies(name, shape)) for name, shape in world.shapes.items()
    }
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def current() -> dict[str, Any]:
    """Returns what there is to pin."""
    world = load_world()
    return {"revision": world.revision, "hash": world.hash, "digest": digest()}


def problem(pinned: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Returns what to do where the world is not the pinned one."""
    if pinned == now:
        return None
    return RAISE if pinned["hash"] == now["hash"] else RENEW


async def _replies(preset: str) -> list[Any]:
    """Asks for everything, in waves, and returns texts, lengths and times."""
    loop = asyncio.get_running_loop()
    shared: dict[str, Server] = {}
    model = SimulatedModel.from_preset(preset, shared)

    async def ask(asked: tuple[Message, ...], seed: int) -> Any:
        reply = await model.complete(Request(messages=asked, seed=seed, max_output_tokens=32_768))
        return reply.text, reply.tokens_in, reply.tokens_out, _short(loop.time())

    asked = [(m, seed) for m, n in messages() for seed in range(n)]
    found: list[Any] = []
    for start in range(0, len(asked), AT_ONCE):
        wave = asked[start : start + AT_ONCE]
        found += await asyncio.gather(*(ask(m, seed) for m, seed in wave))
    return found


async def _shape_replies(name: str, shape: ShapeSettings) -> list[Any]:
    """Asks for evaluations, a reflection and a verdict, and returns texts and lengths."""
    model = SimulatedModel.from_preset(f"{SHAPES_ON}/{name}", {})
    asked = [shape.question(name, f"train {k}") for k in range(5)]
    asked += ["Rewrite the text.", 'Reply with JSON: {"verdict": "accept", "components": 1}']
    requests = [Request(messages=(user(text),), seed=0, max_output_tokens=32_768) for text in asked]
    replies = await asyncio.gather(*(model.complete(request) for request in requests))
    scored = [is_success(reply.text, shape.success_rate) for reply in replies]
    return [[reply.text, reply.tokens_in, reply.tokens_out] for reply in replies] + scored


def _short(seconds: float) -> str:
    # The last digits of a logarithm may differ between machines.
    return f"{seconds:.6g}"


def main() -> int:
    """Pins today's world, unless its behaviour changed under the same hash."""
    now = current()
    pinned = json.loads(PINNED.read_text(encoding="utf-8")) if PINNED.exists() else now
    if problem(pinned, now) == RAISE:
        sys.stderr.write(f"{RAISE}\n")
        return 1
    PINNED.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8", newline="\n")
    sys.stdout.write(f"pinned {now}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
