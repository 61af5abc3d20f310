from dataclasses import replace

import pytest

from flashevolve.bench.capacity import largest_c, tokens_per_s
from flashevolve.bench.published import SHAPES
from flashevolve.bench.suites.throughput import LARGEST_C
from flashevolve.errors import ConfigError
from flashevolve.simulate.batching import ServingSettings
from flashevolve.simulate.world import load_world


@pytest.mark.parametrize("preset", LARGEST_C)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_suite_uses_is_what_the_rule_gives(preset: str, shape: str) -> None:
    assert largest_c(preset, shape) == LARGEST_C[preset][shape]


def test_beyond_the_largest_c_a_tenth_more_brings_less_than_5_percent() -> None:
    world, c = load_world(), LARGEST_C["h100-qwen3-8b"]["ifbench"]
    speeds = [tokens_per_s("h100-qwen3-8b", "ifbench", n, world) for n in (c // 2, c, 2 * c)]
    assert speeds[1] > 1.05**7 * speeds[0]
    assert speeds[2] < 1.05**7.5 * speeds[1]


def test_a_backend_whose_steps_take_the_same_time_is_gained_from_up_to_its_slots() -> None:
    world = load_world()
    machine = world.preset("h100-qwen3-8b")
    assert isinstance(machine, ServingSettings)
    flat = replace(machine, t_per_sequence_s=0.0, prefill_tokens_per_s=1e9, max_sequences=50)
    assert largest_c("flat", world=replace(world, presets={"flat": flat})) in range(46, 56)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected a simulated model among"):
        largest_c("h100")
