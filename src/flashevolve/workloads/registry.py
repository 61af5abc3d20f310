"""Registry: the built-in tasks that a configuration can name.

A task brings its own scoring and says how its examples are laid out. Nothing of it is imported
before it is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_INSTRUCTIONS = "flashevolve.workloads.instructions"
_SHAPES = "flashevolve.workloads.shapes"


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One built-in task, or one way of scoring it."""

    score: str
    """module:name of its score function."""
    run: str | None = None
    """module:name of what runs an artifact on an example, whose calls all go through us; None =
    one chat call."""
    input: str = "input"
    """Field of an example that is the user message, unless `task.input` names another."""
    id: str = "id"
    """Field that names an example, unless `data.id` names another."""
    component: str | None = None
    """Component that an artifact must have for `run`; None = any will do."""


def _instructions(score: str) -> Workload:
    return Workload(score=f"{_INSTRUCTIONS}:{score}", input="prompt", id="key")


WORKLOADS: Mapping[str, Workload] = {
    "instructions": _instructions("score"),
    "instructions-loose": _instructions("score_loose"),
    "instructions-whole": _instructions("score_whole"),
    "instructions-whole-loose": _instructions("score_whole_loose"),
    "shape": Workload(
        score=f"{_SHAPES}:score", run=f"{_SHAPES}:run", input="prompt", component="system"
    ),
}
"""`task.workload` -> the task."""
