"""Registry: the built-in tasks that a configuration can name.

A task brings its own scoring and says how its examples are laid out. Nothing of it is imported
before it is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_INSTRUCTIONS = "flashevolve.workloads.instructions"
_SHAPES = "flashevolve.workloads.shapes"
_HOTPOTQA = "flashevolve.workloads.hotpotqa"
_HOVER = "flashevolve.workloads.hover"
_AIME = "flashevolve.workloads.aime"
_IFBENCH = "flashevolve.workloads.ifbench"


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One built-in task, or one way of scoring it."""

    score: str
    """module:name of its score function."""
    run: str | None = None
    """module:name of what runs an artifact on an example, whose calls all go through us; None =
    one chat call."""
    program: str | None = None
    """In place of `run`, module:name of a function that makes it of all examples and of the file
    that `task.corpus` names, or None."""
    input: str = "input"
    """Field of an example that is the user message. Where there is no `run`, `task.input` may name
    another."""
    other_inputs: tuple[str, ...] = ()
    """What files may call `input` instead; `run` reads them as well."""
    id: str = "id"
    """Field that names an example, unless `data.id` names another."""
    component: str | None = None
    """Component that an artifact must have for `run`; None = any will do."""
    components: tuple[str, ...] = ()
    """All components that `run` reads, where it would ignore others in silence; empty = any."""
    shows_input_only: bool = False
    """Whether a model that reflects is shown `input` alone of an example that `run` ran on: the
    rest is what scoring knows, or too long."""


def _instructions(score: str) -> Workload:
    return Workload(score=f"{_INSTRUCTIONS}:{score}", input="prompt", id="key")


def _ifbench(score: str) -> Workload:
    return Workload(
        score=f"{_IFBENCH}:{score}",
        run=f"{_IFBENCH}:run",
        input="prompt",
        id="key",
        component="respond",
        components=("respond", "revise"),
        shows_input_only=True,
    )


def _hotpotqa(score: str) -> Workload:
    return Workload(
        score=f"{_HOTPOTQA}:{score}",
        program=f"{_HOTPOTQA}:program",
        input="question",
        id="_id",
        component="answer",
        components=("query", "second_query", "summarize", "answer"),
        shows_input_only=True,
    )


def _hover(score: str, component: str, *more: str) -> Workload:
    return Workload(
        score=f"{_HOVER}:{score}",
        program=f"{_HOVER}:program",
        input="claim",
        id="uid",
        component=component,
        components=("query", "second_query", "third_query", "fourth_query", "summarize", *more),
        shows_input_only=True,
    )


WORKLOADS: Mapping[str, Workload] = {
    "instructions": _instructions("score"),
    "instructions-loose": _instructions("score_loose"),
    "instructions-whole": _instructions("score_whole"),
    "instructions-whole-loose": _instructions("score_whole_loose"),
    "shape": Workload(
        score=f"{_SHAPES}:score", run=f"{_SHAPES}:run", input="prompt", component="system"
    ),
    "aime": Workload(
        score=f"{_AIME}:score",
        run=f"{_AIME}:run",
        input="problem",
        other_inputs=("question",),
        component="solve",
        components=("solve",),
        shows_input_only=True,
    ),
    "ifbench": _ifbench("score"),
    "ifbench-loose": _ifbench("score_loose"),
    "ifbench-whole": _ifbench("score_whole"),
    "ifbench-whole-loose": _ifbench("score_whole_loose"),
    "hotpotqa": _hotpotqa("score"),
    "hotpotqa-f1": _hotpotqa("score_f1"),
    "hover": _hover("score", "second_query"),
    "hover-recall": _hover("score_recall", "second_query"),
    "hover-label": _hover("score_label", "label", "label"),
}
"""`task.workload` -> the task."""
