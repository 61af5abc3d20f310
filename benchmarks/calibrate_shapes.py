"""Solves what the shapes of world.toml need from the published synchronous baseline alone.

    .venv/bin/python benchmarks/calibrate_shapes.py [--samples 400]

A synchronous step is played on the world's own accelerator, without any engine: a minibatch is run,
a reflection is written, the child is run on the same minibatch, and with the gate's rate there
follows a sweep, all with at most the baseline's requests in flight. As many facts as unknowns:

- ifbench: the spread of lengths from the rollout's share of 20 s, the reflection's length from the
  rest, the requests in flight from 96 s for a sweep of 300. The last two hold for all shapes (same
  prompt, same client).
- hover: tokens per evaluation and the gate's rate from tokens/s and proposals/min.
- aime: as few tokens as its token rate says leave its steps too short, whatever the gate's rate. So
  that is the rate at which half of all runs admit nothing in the 30 minutes in which the score is
  reported not to move, and tokens per evaluation miss both figures by as little as can be.
- hotpotqa: its token rate is unusable; tokens per evaluation from proposals/min, at the gate's rate
  of hover, which has the same program but for its last call.

Nothing that an asynchronous run or Combee is reported to reach is looked at.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from random import Random
from statistics import fmean

from flashevolve.bench.published import AIME_STILL_MIN, GEPA_TABLE, IFBENCH
from flashevolve.simulate.batching import Batch, Entry, ServingSettings
from flashevolve.simulate.shapes import ShapeSettings
from flashevolve.simulate.world import load_world

PRESET = "h100-qwen3-8b"
N_SWEEPS = 12
STEPS = 12
"""Halvings: beyond, the noise of the samples is larger."""
MOST_IN_FLIGHT = 64
NONE = 1.0
"""Tokens of a reflection that is left out."""


class Player:
    """Plays synchronous steps of a shape on one accelerator."""

    def __init__(self, samples: int) -> None:
        settings = load_world().preset(PRESET)
        assert isinstance(settings, ServingSettings)
        self._settings = settings
        self._samples = samples

    def stage_s(self, shape: ShapeSettings) -> float:
        """Returns the mean seconds of rollout, reflection and screen."""
        return fmean(self._stages(shape))

    def rollout_s(self, shape: ShapeSettings) -> float:
        """Returns the mean seconds of a rollout."""
        return self.stage_s(replace(shape, reflection_tokens=NONE)) / 2

    def _stages(self, shape: ShapeSettings) -> Iterator[float]:
        # The same draws for every shape, so that solving meets a smooth function.
        rng = Random("stages")
        for _ in range(self._samples):
            bent = [rng.gauss(0, 1) for _ in range(shape.minibatch)]
            reflection = [[self._tokens(shape, shape.reflection_tokens, rng.gauss(0, 1), rng)]]
            if shape.reflection_tokens == NONE:
                reflection = []
            yield sum(
                self.makespan_s(evaluations, shape)
                for evaluations in (
                    self._evaluations(shape, bent, rng),
                    reflection,
                    self._evaluations(shape, bent, rng),
                )
            )

    def sweep_s(self, shape: ShapeSettings) -> float:
        """Returns the mean seconds of a sweep over the validation set."""
        rng = Random("sweeps")
        times: list[float] = []
        for _ in range(N_SWEEPS):
            bent = [rng.gauss(0, 1) for _ in range(shape.n_val)]
            times.append(self.makespan_s(self._evaluations(shape, bent, rng), shape))
        return fmean(times)

    def step_s(self, shape: ShapeSettings) -> float:
        """Returns the mean seconds per proposal."""
        return self.stage_s(shape) + shape.gate_rate * self.sweep_s(shape)

    def _evaluations(
        self, shape: ShapeSettings, bent: Sequence[float], rng: Random
    ) -> list[list[int]]:
        mean = shape.tokens_per_evaluation / shape.calls_per_evaluation
        return [
            [self._tokens(shape, mean, z, rng) for _ in range(shape.calls_per_evaluation)]
            for z in bent
        ]

    def _tokens(self, shape: ShapeSettings, mean: float, example: float, rng: Random) -> int:
        # As simulate.lengths has it.
        sigma = (shape.sigma_example, shape.sigma_sample)
        log_factor = sigma[0] * example + sigma[1] * rng.gauss(0, 1)
        drawn = mean * exp(log_factor - (sigma[0] ** 2 + sigma[1] ** 2) / 2)
        return max(1, min(8192, round(drawn)))

    def makespan_s(self, evaluations: Sequence[Sequence[int]], shape: ShapeSettings) -> float:
        """Returns the seconds in which all are done, each call after the one before it."""
        batch, waiting, running = Batch(self._settings), list(evaluations)[::-1], 0

        def submit(calls: list[int]) -> None:
            batch.submit(shape.input_tokens, calls[0], (), calls[1:])

        while waiting or running:
            while waiting and running < shape.baseline_in_flight:
                submit(list(waiting.pop()))
                running += 1
            due_s = batch.due_s()
            assert due_s is not None
            finished: list[Entry] = batch.advance(due_s)
            for entry in finished:
                assert isinstance(entry.tag, list)
                if entry.tag:
                    submit(entry.tag)
                else:
                    running -= 1
        return batch.clock_s


def root(found: Callable[[float], float], goal: float, low: float, high: float) -> float:
    """Returns where a function that does not fall reaches the goal, between `low` and `high`."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        if found(middle) < goal:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def spread(shape: ShapeSettings, factor: float) -> ShapeSettings:
    """Returns the shape with the spread of lengths of `[lengths]`, times a factor."""
    lengths = load_world().lengths
    return replace(
        shape,
        sigma_example=factor * lengths.sigma_example,
        sigma_sample=factor * lengths.sigma_sample,
    )


def solve_ifbench(player: Player, shape: ShapeSettings) -> ShapeSettings:
    """Returns the shape with the spread, reflection and requests in flight that its times imply."""
    shape = replace(
        shape, tokens_per_evaluation=IFBENCH.tokens_per_evaluation, gate_rate=IFBENCH.gate_rate
    )
    stage_s = IFBENCH.rollout_and_propose_s
    rollout_s = IFBENCH.rollout_share * stage_s
    factor = root(lambda f: player.rollout_s(spread(shape, f)), rollout_s, 0.1, 2.0)
    shape = spread(shape, factor)
    n = min(
        range(8, MOST_IN_FLIGHT + 1),
        key=lambda n: abs(player.sweep_s(replace(shape, baseline_in_flight=n)) - IFBENCH.sweep_s),
    )
    shape = replace(shape, baseline_in_flight=n)
    tokens = root(
        lambda t: player.stage_s(replace(shape, reflection_tokens=t)), stage_s, 1.0, 4000.0
    )
    return replace(shape, reflection_tokens=tokens)


def solve_hover(player: Player, shape: ShapeSettings) -> ShapeSettings:
    """Returns the shape whose steps take the published tokens and time per proposal."""
    published = GEPA_TABLE["hover"]
    tokens = published.tokens_per_proposal - shape.reflection_tokens

    def at(per_evaluation: float) -> ShapeSettings:
        rate = (tokens / per_evaluation - 2 * shape.minibatch) / shape.n_val
        return replace(shape, tokens_per_evaluation=per_evaluation, gate_rate=max(rate, 1e-4))

    # With more tokens in an evaluation fewer are left for sweeps, and a step becomes longer.
    goal_s, most = 60 / published.proposals_per_min, tokens / (2 * shape.minibatch)
    return at(root(lambda t: player.step_s(at(t)), goal_s, most / 10, most))


def solve_aime(player: Player, shape: ShapeSettings) -> ShapeSettings:
    """Returns the shape with the gate's rate of a score that does not move."""
    published = GEPA_TABLE["aime"]
    rate = 1 - 0.5 ** (1 / (AIME_STILL_MIN * published.proposals_per_min))
    shape = replace(shape, gate_rate=rate)

    def miss(per_evaluation: float) -> float:
        found = replace(shape, tokens_per_evaluation=per_evaluation)
        time = player.step_s(found) * published.proposals_per_min / 60
        return log(time) ** 2 + log(found.tokens_per_step / published.tokens_per_proposal) ** 2

    return replace(shape, tokens_per_evaluation=min(range(500, 1300, 10), key=miss))


def solve_hotpotqa(player: Player, shape: ShapeSettings, gate_rate: float) -> ShapeSettings:
    """Returns the shape whose steps take the published time at a gate's rate."""
    shape = replace(shape, gate_rate=gate_rate)
    goal_s = 60 / GEPA_TABLE["hotpotqa"].proposals_per_min
    tokens = root(
        lambda t: player.step_s(replace(shape, tokens_per_evaluation=t)), goal_s, 10.0, 2000.0
    )
    return replace(shape, tokens_per_evaluation=tokens)


def solve(player: Player, shapes: Mapping[str, ShapeSettings]) -> Mapping[str, ShapeSettings]:
    """Returns the shapes as the published facts imply them."""
    ifbench = solve_ifbench(player, shapes["ifbench"])
    same = {
        name: getattr(ifbench, name)
        for name in ("baseline_in_flight", "reflection_tokens", "sigma_example", "sigma_sample")
    }
    hover = solve_hover(player, replace(shapes["hover"], **same))
    hotpotqa = replace(shapes["hotpotqa"], **same)
    return {
        "ifbench": ifbench,
        "hotpotqa": solve_hotpotqa(player, hotpotqa, hover.gate_rate),
        "hover": hover,
        "aime": solve_aime(player, replace(shapes["aime"], **same)),
    }


def show(player: Player, name: str, shape: ShapeSettings) -> None:
    """Prints what was solved, and what it gives beside what is published."""
    stage_s, sweep_s, published = player.stage_s(shape), player.sweep_s(shape), GEPA_TABLE[name]
    tokens = shape.tokens_per_step
    per_min = 60 / (stage_s + shape.gate_rate * sweep_s)
    print(
        f"{name:<9}tokens_per_evaluation {shape.tokens_per_evaluation:.0f}, reflection_tokens "
        f"{shape.reflection_tokens:.0f}, gate_rate {shape.gate_rate:.4f}, in flight "
        f"{shape.baseline_in_flight}, sigma {shape.sigma_example:.3f} {shape.sigma_sample:.3f}: "
        f"stages {stage_s:.1f} s, sweep {sweep_s:.1f} s, "
        f"{per_min:.2f} proposals/min ({published.proposals_per_min}), {tokens:.0f} tokens per "
        f"proposal ({published.tokens_per_proposal:.0f})"
    )


def main() -> None:
    """Prints the shapes of world.toml, then what solving them anew gives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=400, help="steps behind each mean")
    options = parser.parse_args()
    player, shapes = Player(options.samples), load_world().shapes
    print("as in world.toml (published figures in brackets)")
    for name, shape in shapes.items():
        show(player, name, shape)
    print("\nsolved anew")
    for name, shape in solve(player, shapes).items():
        show(player, name, shape)


if __name__ == "__main__":
    main()
