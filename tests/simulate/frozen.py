"""What the simulated world does, as a digest, pinned to its hash and its revision.

The hash pins the parameters and the constants of the code; the digest pins what the code makes of
them: answers, lengths and times of fixed messages on every preset, and latencies. After a
deliberate change, and before anything is compared in the new world:
python -m tests.simulate.frozen
"""

import asyncio
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

from flashevolve.llm.messages import Message, Request, system, user
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.serving import Server
from flashevolve.simulate.world import load_world
from tests.simulate.frozen_requests import OF_ALL_KINDS

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


AT_ONCE = 50
"""So many answers of any length an account's limits let through at once."""
LONG = "\n".join(
    [
        "Answer the request.",
        'Put any title on the first line between "<<" and ">>".',
        'Between paragraphs put a separator line "***".',
        "Write every placeholder in square brackets.",
        'Begin every heading line with "## ".',
        'A signature is the last line and begins with "-- ".',
        "Whenever a list is wanted, give exactly 4 bullets.",
        'Begin every bullet line with "* ".',
        'Begin every bullet line with "+ ".',
        "The archive of the year 1900 holds maps.",
        "The word lantern must appear at least 3 times.",
        "Never use an exclamation mark.",
    ]
)
"""More statements than a reader attends to."""
OPEN = "Write about a harbour. Use bullets, a title, 2 headings, one placeholder and a signature."
"""Leaves to habit how each of them looks."""


def messages() -> list[tuple[Message, ...]]:
    """Returns messages of all roles, as literal texts: no workload or algorithm changes them."""
    asked = [(system(advice), user(request)) for advice in ADVICE for request in REQUESTS]
    examples = "\n".join(
        f"# Example {k}\n## Inputs\n{request}\n## Generated Outputs\nTrams, salt, tides.\n"
        "## Feedback\nThe answer must contain no commas and no semicolons; it has 2."
        for k, request in enumerate(REQUESTS[:3], 1)
    )
    asked += [(system(LONG), user(request)) for request in (*REQUESTS, OPEN)]
    asked += [(system(ADVICE[0]), user(request)) for request in (*OF_ALL_KINDS, OPEN)]
    asks = "Improve the instructions of an assistant. They read:"
    wanted = "Write the new instructions within ``` blocks."
    known = f"{ADVICE[1]}\nThe answer must contain no commas and no semicolons."
    # One that learns, one whose lesson is known already, one that has nothing to learn from.
    reflect, repeat, blind = (
        f"{asks}\n\n```\n{text}\n```\n\n{shown}\n\n{wanted}"
        for text, shown in (
            (ADVICE[1], examples),
            (known, examples),
            (LONG, re.sub(r"(?m)^The answer must .*$", "", examples)),
        )
    )
    stale, current = (f"### system\n```\n{text}\n```" for text in TEXTS)
    repair = (
        f"## Stale text\n{stale}\n\n## Current text\n{current}\n\n## Updates since\n"
        "Version 2: a change\n\nGive a verdict as JSON: accept, patch or discard."
    )
    merge, long_merge = (
        f"Combine these two prompts into one that keeps what each says:\n\n### system\n```\n{one}\n"
        f"```\n\n### system\n```\n{other}\n```\n\nWrite the combined prompt within ``` blocks."
        for one, other in (TEXTS, (LONG, ADVICE[1]))
    )
    alone = (reflect, repeat, blind, repair, merge, long_merge)
    return [*asked, *((user(text),) for text in alone)]


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
    """Asks four times for everything, in waves, and returns texts, lengths and times."""
    loop = asyncio.get_running_loop()
    shared: dict[str, Server] = {}
    model = SimulatedModel.from_preset(preset, shared)

    async def ask(asked: tuple[Message, ...], seed: int) -> Any:
        reply = await model.complete(Request(messages=asked, seed=seed, max_output_tokens=32_768))
        return reply.text, reply.tokens_in, reply.tokens_out, _short(loop.time())

    asked = [(m, seed) for m in messages() for seed in range(4)]
    found: list[Any] = []
    for start in range(0, len(asked), AT_ONCE):
        wave = asked[start : start + AT_ONCE]
        found += await asyncio.gather(*(ask(m, seed) for m, seed in wave))
    return found


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
