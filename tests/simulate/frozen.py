"""What the simulated world does, as a digest, pinned to the hash and the revision of its file.

The hash pins the parameters; the digest pins what the code makes of them: answers, lengths and
times of fixed messages on every preset, and latencies. After a deliberate change, and before
anything is compared in the new world: python -m tests.simulate.frozen
"""

import asyncio
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from flashevolve.llm.messages import Message, Request, system, user
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.serving import Server
from flashevolve.simulate.world import load_world

PINNED = Path(__file__).with_name("frozen.json")
RAISE = (
    "code changed what the same parameters of the world give, so that results before and after it "
    "must not be compared: raise `revision` in world.toml, then run "
    "python -m tests.simulate.frozen"
)
RENEW = (
    "world.toml holds another world than the one that is pinned: if that is meant, run "
    "python -m tests.simulate.frozen"
)

REQUESTS = (
    "Describe a tram. Avoid commas.",
    "Write about salt. Use 3 bullet points. Add a title.",
    'List the parts of a bicycle. End with "That is all." Write at least 60 words.',
    "Explain tides in 2 paragraphs. Add a postscript. Use only lower case letters.",
    "Answer as a JSON object: what is a lighthouse?",
)
ADVICE = (
    "Answer the request.",
    'Answer the request.\nBegin every bullet line with "* ".\nA postscript begins with "P.S.".',
)
TEXTS = ("Be kind.\nCount the words.", "Be kind.\nTitles are short.")


def messages() -> list[tuple[Message, ...]]:
    """Returns messages of all roles, as literal texts: no workload or algorithm changes them."""
    asked = [(system(advice), user(request)) for advice in ADVICE for request in REQUESTS]
    examples = "\n".join(
        f"# Example {k}\n## Inputs\n{request}\n## Generated Outputs\nTrams, salt, tides.\n"
        "## Feedback\nThe answer must contain no commas and no semicolons; it has 2."
        for k, request in enumerate(REQUESTS[:3], 1)
    )
    reflect = (
        f"Improve the instructions of an assistant. They read:\n\n```\n{ADVICE[1]}\n```\n\n"
        f"{examples}\n\nWrite the new instructions within ``` blocks."
    )
    stale, current = (f"### system\n```\n{text}\n```" for text in TEXTS)
    repair = (
        f"## Stale text\n{stale}\n\n## Current text\n{current}\n\n## Updates since\n"
        "Version 2: a change\n\nGive a verdict as JSON: accept, patch or discard."
    )
    merge = (
        f"Combine these two prompts into one that keeps what each says:\n\n{stale}\n\n{current}\n\n"
        "Write the combined prompt within ``` blocks."
    )
    return [*asked, *((user(text),) for text in (reflect, repair, merge))]


def digest() -> str:
    """Returns 16 hexadecimal digits over what the world does today."""
    world = load_world()
    found: dict[str, Any] = {name: run_virtual(_replies(name)) for name in sorted(world.presets)}
    found["latency"] = {
        name: [_short(settings.draw_s(f"example {k}", k)) for k in range(5)]
        for name, settings in sorted(world.latency.items())
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
    """Asks for everything at once, four samples each, and returns texts, lengths and times."""
    loop = asyncio.get_running_loop()
    shared: dict[str, Server] = {}
    model = SimulatedModel.from_preset(preset, shared)

    async def ask(asked: tuple[Message, ...], seed: int) -> Any:
        reply = await model.complete(Request(messages=asked, seed=seed, max_output_tokens=32_768))
        return reply.text, reply.tokens_in, reply.tokens_out, _short(loop.time())

    return await asyncio.gather(*(ask(m, seed) for m in messages() for seed in range(4)))


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
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
