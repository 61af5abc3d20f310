"""Options: what GEPA and the algorithms in its pool have in common to be configured."""

from dataclasses import KW_ONLY
from typing import Literal

from pydantic import ConfigDict, Field, field_validator
from pydantic.dataclasses import dataclass

from flashevolve.config.settings import OneLine
from flashevolve.templates import own_template

MANDATORY = ("{{current}}", "{{examples}}")
"""A reflection template without one of these would reflect on nothing."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class Options(metaclass=OneLine):
    """What GEPA and the algorithms in its pool have in common."""

    _: KW_ONLY
    selection: Literal["pareto", "current_best", "epsilon_greedy", "top_k_pareto"] = "pareto"
    """How a parent is chosen: by fronts won, always the best mean, the best mean but for a share
    of `epsilon` draws, or by fronts won among the `top_k` best means."""
    epsilon: float = Field(default=0.1, ge=0, le=1)
    """Share of uniform draws under `epsilon_greedy`."""
    top_k: int = Field(default=5, ge=1)
    """Candidates that can become parents under `top_k_pareto`."""
    frontier: Literal["instance", "objective", "hybrid", "cartesian"] = "instance"
    """What fronts are kept for: examples, objectives by their mean, both, or every objective on
    every example. All but the first need a metric that names objectives."""
    components: Literal["round_robin", "all"] = "round_robin"
    """Which components a step rewrites: the candidate's next one, or all of them."""
    acceptance: Literal["strict", "improvement_or_equal"] = "strict"
    """What the sum of a child's minibatch scores must be, compared with its parent's."""
    merge: bool = False
    """Whether to combine candidates that improved different components of a common ancestor."""
    merge_max: int = Field(default=5, ge=0)
    """Merges admitted and in flight together, at most."""
    merge_overlap_floor: int = Field(default=5, ge=1)
    """Validation examples that two candidates must have in common to be merged."""
    skip_perfect: bool = True
    """Whether to end a step whose parent is perfect on the whole minibatch."""
    reflect: str | None = None
    """The reflection prompt: a template, or the path of one. It must hold {{current}} and
    {{examples}}, and may hold {{component}}. None = the package's own."""

    @field_validator("reflect")
    @classmethod
    def _read_template(cls, value: str | None) -> str | None:
        return None if value is None else own_template(value, MANDATORY)

    @property
    def needs_objectives(self) -> bool:
        """Whether the frontier is made of objectives, so that a metric must name some."""
        return self.frontier != "instance"

    @property
    def objectives_fix(self) -> str:
        """What to do where a metric names none although it must."""
        return (
            "Return fe.Outcome(score=..., objectives={name: score}) from the metric, or set "
            "frontier = 'instance'"
        )

    def n_examples(self, n_train: int) -> int:
        """Returns how many training examples a step takes at most."""
        raise NotImplementedError
