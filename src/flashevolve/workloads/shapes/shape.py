"""A shape as a task: its examples, how an artifact runs on one, and the coin that scores it.

Examples carry what they need of their shape, so that neither function looks at a world; they are to
be run by a simulated model of the same shape (`model_name`). The same name gives the same examples:
seeds of a run differ in what it draws, not in its questions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flashevolve.errors import ConfigError, DataError
from flashevolve.llm.messages import Reply, system, user
from flashevolve.simulate.shapes import COMPONENT, is_success
from flashevolve.simulate.world import World, load_world
from flashevolve.task import place_of
from flashevolve.workloads.files import write_rows

Data = dict[str, Any]

SEED: Mapping[str, str] = {COMPONENT: "The first text."}
"""An artifact to start from; its words have no effect."""
CALLS, SUCCESS_RATE = "calls", "success_rate"
"""Fields of an example: what `run` and `score` read of its shape."""


class Asking(Protocol):
    """What `run` needs of its context."""

    async def chat(self, role: str, messages: Any) -> Reply:
        """Asks a model of `role`."""
        ...


def generate(
    name: str, *, n_val: int | None = None, world: World | None = None
) -> dict[str, list[Data]]:
    """Returns a shape's examples under `train` and `val`.

    An example is `{"id", "prompt", "calls", "success_rate"}`. `n_val` None = as the shape says,
    `world` None = the package's own. Raises `ConfigError` for an unknown shape or `n_val` below 1.
    """
    shape = (world or load_world()).shape(name)
    n_val = shape.n_val if n_val is None else n_val
    if n_val < 1:
        raise ConfigError(f"n_val: expected at least 1 example, found {n_val}")
    told = {CALLS: shape.calls_per_evaluation, SUCCESS_RATE: shape.success_rate}
    return {
        split: [
            {"id": f"{split}-{k}", "prompt": shape.question(name, f"{split} {k}"), **told}
            for k in range(n)
        ]
        for split, n in (("train", shape.n_train), ("val", n_val))
    }


def write(directory: Path, name: str, *, world: World | None = None) -> None:
    """Writes a shape's `train.jsonl` and `val.jsonl`. Raises `ConfigError` for an unknown shape."""
    # First, since an unknown shape shall leave no directory behind.
    made = generate(name, world=world)
    write_rows(directory, made)


def model_name(preset: str, name: str) -> str:
    """Returns the name of the model that answers as a shape at a preset's speed."""
    return f"sim/{preset}/{name}"


async def run(artifact: Mapping[str, str], example: Mapping[str, Any], ctx: Asking) -> str:
    """Makes the example's calls, each of which reads the answer before it; returns the last one."""
    n_calls, said = int(example[CALLS]), ""
    for k in range(1, n_calls + 1):
        told = f"{artifact[COMPONENT]}\n\nCall {k} of {n_calls}.{said}"
        # The question comes last, and is the same in all calls: it decides how long they are.
        reply = await ctx.chat("task", [system(told), user(str(example["prompt"]))])
        said = f" The call before gave: {reply.text}"
    return reply.text


@dataclass(frozen=True)
class Coin:
    """A score function that looks at nothing but a hash of the output."""

    def __call__(self, example: Mapping[str, Any], output: Any) -> float:
        """Returns 1 or 0, at the example's success rate."""
        return float(is_success(str(output), float(example[SUCCESS_RATE])))

    def check_examples(self, examples: Iterable[Mapping[str, Any]]) -> None:
        """Raises `DataError` for the first example that is none of a shape."""
        for example in examples:
            rate, n_calls = example.get(SUCCESS_RATE), example.get(CALLS)
            if not (isinstance(rate, int | float) and 0 <= rate <= 1):
                raise DataError(
                    f"{place_of(example)}: expected {SUCCESS_RATE!r}, a number from 0 to 1, found "
                    f"{rate!r:.40}; generate the examples of a shape"
                )
            if type(n_calls) is not int or n_calls < 1:
                raise DataError(
                    f"{place_of(example)}: expected {CALLS!r}, an integer of at least 1, found "
                    f"{n_calls!r:.40}; generate the examples of a shape"
                )


score = Coin()
"""1 or 0, by chance alone."""
