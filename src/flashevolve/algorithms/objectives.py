"""Objectives: what a step carries of several scores by name from its sweep to its commit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

from flashevolve.algorithms.options import Options
from flashevolve.errors import TaskError
from flashevolve.outcome import Outcome


@dataclass(frozen=True, kw_only=True)
class Named:
    """A payload with a child's objectives."""

    objectives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Validation example -> objective -> the child's score; none where the metric names none."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Where nobody names objectives the log shall look as if there were no such field.
        data: dict[str, Any] = dump(self)
        if not data["objectives"]:
            del data["objectives"]
        return data


def swept(outcomes: Mapping[str, Outcome], config: Options, *, is_seed: bool) -> dict[str, Any]:
    """Returns the fields of a step that say how its child did on the validation set.

    Examples without objectives are left out of these. Raises `TaskError` if the seed has none at
    all where the frontier is made of them.
    """
    found = {e: dict(o.objectives) for e, o in outcomes.items() if o.objectives}
    if is_seed and not found and config.needs_objectives:
        raise TaskError(
            f"frontier = {config.frontier!r} needs objectives, found none in the seed's "
            f"{len(outcomes)} outcomes. {config.objectives_fix}"
        )
    return {"scores": {e: o.score for e, o in outcomes.items()}, "objectives": found}
