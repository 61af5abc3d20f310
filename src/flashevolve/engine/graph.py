"""Graph: a workflow checked and completed with what the policy adds, before anything runs.

Every route leads to a known stage, and every way back is declared: an undeclared cycle could fill
the queues and stop for ever, so it is an error here and not a hang later. Under the reflective
policy the engine inserts the stage `repair`; its way back to the gate is the one edge it declares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flashevolve.engine.workflow import Stage, Workflow
from flashevolve.errors import ConfigError, nearest

REPAIR = "repair"
COMMIT = "commit"
"""Not a stage: a route that leads past the remaining stages, for items that skip them."""


@dataclass(frozen=True)
class Graph:
    """Stages in order, and where each may lead."""

    stages: tuple[Stage[Any], ...]
    """The workflow's stages, with `repair` after the gate under the reflective policy."""
    gate: str
    """The stage on leaving which the gap is checked; the last one if the workflow has no gate."""
    back_edges: frozenset[tuple[str, str]]

    def stage(self, name: str) -> Stage[Any]:
        """Returns a stage by name."""
        return next(stage for stage in self.stages if stage.name == name)

    def following(self, name: str) -> str | None:
        """Returns the stage after `name`, repair left out; None after the last."""
        names = [stage.name for stage in self.stages if stage.name != REPAIR]
        at = names.index(name) + 1
        return names[at] if at < len(names) else None

    @property
    def last(self) -> str:
        """The stage after which items are committed."""
        return [stage.name for stage in self.stages if stage.name != REPAIR][-1]

    def is_back(self, origin: str, to: str) -> bool:
        """Says whether this way is a declared back edge."""
        return (origin, to) in self.back_edges


def build(workflow: Workflow[Any], repair: Stage[Any] | None = None) -> Graph:
    """Checks a workflow; inserts `repair` after its gate if given.

    Raises `ConfigError` for an unknown or doubled stage, gate or route, or an undeclared cycle.
    """
    names = [stage.name for stage in workflow.stages]
    where = f"workflow {workflow.name!r}"
    if not names:
        raise ConfigError(f"{where} has no stages; expected at least one")
    doubled = {name for name in names if names.count(name) > 1} | ({REPAIR, COMMIT} & set(names))
    if doubled:
        raise ConfigError(f"{where}: stage name {min(doubled)!r} is taken; names must be unique")
    for stage in workflow.stages:
        for route in stage.routes:
            _check_route(where, names, stage.name, route, workflow.cycles)
    gate = workflow.gate or names[-1]
    if gate not in names:
        raise ConfigError(f"{where}: its gate {gate!r} is not a stage.{nearest(gate, names)}")
    stages: Sequence[Stage[Any]] = workflow.stages
    back_edges = workflow.cycles
    if repair is not None:
        at = names.index(gate) + 1
        stages = [*workflow.stages[:at], repair, *workflow.stages[at:]]
        back_edges = back_edges | {(REPAIR, gate)}
    return Graph(tuple(stages), gate, back_edges)


def _check_route(
    where: str, names: list[str], origin: str, to: str, cycles: frozenset[tuple[str, str]]
) -> None:
    if to == COMMIT:
        return
    if to not in names:
        raise ConfigError(
            f"{where}: stage {origin!r} routes to unknown stage {to!r}.{nearest(to, names)}"
        )
    if names.index(to) <= names.index(origin) and (origin, to) not in cycles:
        raise ConfigError(
            f"{where}: {origin!r} -> {to!r} leads back and is not declared; "
            f"add ({origin!r}, {to!r}) to the workflow's cycles"
        )
