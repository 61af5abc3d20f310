"""Objectives: what a step carries of several scores by name from its sweep to its commit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

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


def objectives_of(
    outcomes: Mapping[str, Outcome], frontier: str, needed: bool
) -> dict[str, dict[str, float]]:
    """Returns the objectives of a sweep by example; examples that have none are left out.

    Raises `TaskError` if there are none at all, they are `needed` (as of the seed, by which all
    others are judged) and the frontier is made of them.
    """
    found = {e: dict(o.objectives) for e, o in outcomes.items() if o.objectives}
    if needed and not found and frontier != "instance":
        raise TaskError(
            f"frontier = {frontier!r} needs objectives, found none in the seed's {len(outcomes)} "
            "outcomes. Return fe.Outcome(score=..., objectives={name: score}) from the metric, or "
            "set frontier = 'instance'"
        )
    return found
