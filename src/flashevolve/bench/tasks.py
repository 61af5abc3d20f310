"""Tasks that a cell can name: examples, how they are run and scored, and where evolution starts.

The same cell and seed give the same examples, whatever the arm.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flashevolve.bench.cell import Cell
from flashevolve.bench.published import SHAPES
from flashevolve.data.loaders import Splits, load_splits
from flashevolve.errors import ConfigError, nearest
from flashevolve.task import RunFunction, ScoreFunction

SEED_TEXT = "Answer the request."


@dataclass(frozen=True, kw_only=True)
class TaskParts:
    """A task, ready for a run."""

    splits: Splits
    """Its test split is scored after the run, outside of it."""
    score: ScoreFunction
    run: RunFunction | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """A tree as a configuration file holds it: artifact, task and the like."""
    shape: str = ""
    """The shape that its simulated model answers as; empty = none."""

    def simulated(self, preset: str) -> str:
        """Returns the name of the simulated model that serves the task on a preset."""
        return f"sim/{preset}/{self.shape}" if self.shape else f"sim/{preset}"


def instructions(cell: Cell, seed: int) -> TaskParts:
    """Returns the task `instructions` with a prompt of one component."""
    return _instructions(cell, seed, {"system": SEED_TEXT})


def two_parts(cell: Cell, seed: int) -> TaskParts:
    """Returns the same task with a prompt of two components, as a merge needs."""
    return _instructions(cell, seed, {"manner": "Be careful.", "system": SEED_TEXT})


def _instructions(cell: Cell, seed: int, artifact: Mapping[str, str]) -> TaskParts:
    from flashevolve.workloads.instructions import generate, score

    data = generate(seed, n_train=cell.n_train, n_val=cell.n_val, n_test=max(1, cell.n_test))
    return TaskParts(
        splits=load_splits(data["train"], data["val"], data["test"], id_field="key"),
        score=score,
        settings={"artifact": dict(artifact), "task": {"input": "prompt"}},
    )


def shape(name: str, cell: Cell, seed: int) -> TaskParts:
    """Returns the task that puts a published workload's load on the backend; see `simulate`."""
    from flashevolve.workloads.shapes import SEED, generate, run, score

    data = generate(name, n_val=cell.n_val)
    return TaskParts(
        splits=load_splits(data["train"], data["val"], None),
        score=score,
        run=run,
        settings={"artifact": dict(SEED), "task": {"metered": True}},
        shape=name,
    )


SHAPE = "shape-"
"""What the name of a task that is a shape starts with."""
TASKS: dict[str, Callable[[Cell, int], TaskParts]] = {
    "instructions": instructions,
    "instructions-two-parts": two_parts,
    **{f"{SHAPE}{name}": partial(shape, name) for name in SHAPES},
}
"""Name -> function of a cell and a seed."""


def task_parts(cell: Cell, seed: int) -> TaskParts:
    """Returns the parts of the cell's task. Raises `ConfigError` for an unknown one."""
    if cell.task not in TASKS:
        raise ConfigError(
            f"task: expected one of {', '.join(TASKS)}, found {cell.task!r}."
            f"{nearest(cell.task, TASKS)}"
        )
    return TASKS[cell.task](cell, seed)
