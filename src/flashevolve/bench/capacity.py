"""How many requests in flight a simulated backend gains from.

A backend gains from C as long as a tenth more of it brings at least 5 % more throughput. This is
asked of independent calls that are all as long as a shape's are on average, so that neither an
engine, nor an algorithm, nor the longest call has a say in it.
"""

from math import log
from random import Random

from flashevolve.simulate.ceiling import RecordedCall, ceiling_s
from flashevolve.simulate.hosted import HostedSettings
from flashevolve.simulate.world import World, load_world

STEP = 1.1
LEAST_ELASTICITY = log(1.05) / log(1.1)
"""Relative gain in throughput for each relative gain in requests in flight."""
N_CALLS_EACH = 40
"""Calls for each request in flight."""
LEAST_C, MOST_C = 16, 512
MAX_OUTPUT_TOKENS = 8192
"""A model's default, which a hosted account counts until a request ends."""


def largest_c(preset: str, shape: str = "ifbench", *, world: World | None = None) -> int:
    """Returns the largest C from which the backend gains, for independent calls of a shape.

    Raises `ConfigError` for an unknown preset or shape.
    """
    world, c = world or load_world(), LEAST_C
    speed = tokens_per_s(preset, shape, c, world)
    while (more := round(c * STEP)) <= MOST_C:
        faster = tokens_per_s(preset, shape, more, world)
        if log(faster / speed) < LEAST_ELASTICITY * log(more / c):
            break
        c, speed = more, faster
    return c


def tokens_per_s(preset: str, shape: str, c: int, world: World) -> float:
    """Returns the output tokens per second that the backend writes with `c` requests in flight."""
    calls = _calls(preset, shape, N_CALLS_EACH * c, world)
    makespan_s = ceiling_s(calls, world.preset(preset), max_in_flight=c)
    return sum(call.output_tokens for call in calls) / makespan_s


def _calls(preset: str, name: str, n: int, world: World) -> list[RecordedCall]:
    settings, shape, rng = world.preset(preset), world.shape(name), Random(0)
    tokens = round(shape.tokens_per_evaluation / shape.calls_per_evaluation)

    def latency_s() -> float | None:
        if not isinstance(settings, HostedSettings):
            return None
        speed = settings.speed(rng.getrandbits(64))
        return speed.first_token_s + tokens / speed.tokens_per_s

    return [
        RecordedCall(
            input_tokens=shape.input_tokens,
            output_tokens=tokens,
            max_output_tokens=MAX_OUTPUT_TOKENS,
            latency_s=latency_s(),
        )
        for _ in range(n)
    ]
