"""Config: GEPA's settings for a run whose steps go through an adapter."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from flashevolve.algorithms.gepa.config import GEPA
from flashevolve.engine.workflow import Setup
from flashevolve.errors import ConfigError

if TYPE_CHECKING:
    from flashevolve.integrations.gepa.workflow import AdaptedWorkflow

Proposer = Literal["model", "adapter", "function", "strategy"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class Adapted(GEPA):
    """GEPA through gepa's adapters, made by `integrations.gepa.optimize`.

    That adds the objects which no configuration can hold.
    """

    _: KW_ONLY
    proposer: Proposer = "model"
    """Who writes new texts: a model of ours, the adapter, a function, or gepa's ReflectionLM."""
    own: tuple[str, ...] = ()
    """Arguments that were objects of the user's."""

    @property
    def needs_objectives(self) -> bool:
        """Whether the adapter must give objectives; beside examples it may say that it need not."""
        objects = getattr(self, "_objects", None)
        optional = getattr(objects and objects.port.adapter, "objectives_optional", False)
        return super().needs_objectives and not (optional and self.frontier == "hybrid")

    @property
    def objectives_fix(self) -> str:
        """What to do where an adapter names none although it must."""
        return (
            "Return EvaluationBatch(objective_scores=[{name: score}, ...]) from the adapter, or "
            "set frontier_type='instance'"
        )

    def with_objects(self, objects: Any) -> Self:
        """Returns the settings with a `workflow.Objects`, which is not recorded."""
        object.__setattr__(self, "_objects", objects)
        return self

    def workflow(self, setup: Setup) -> "AdaptedWorkflow":
        """Returns the workflow for one run. Raises `ConfigError` without the user's objects."""
        from flashevolve.integrations.gepa.workflow import AdaptedWorkflow

        objects = getattr(self, "_objects", None)
        if objects is None:
            raise ConfigError(
                "this run was started by flashevolve.integrations.gepa with objects that its "
                "directory does not hold; call optimize again with the same arguments and run_dir"
            )
        return AdaptedWorkflow(self, setup, objects)
