from typing import Any

import pytest

from flashevolve.engine.graph import Graph, build
from flashevolve.engine.item import Item
from flashevolve.engine.workflow import Stage, StageContext
from flashevolve.errors import ConfigError
from tests.fakes.runs import Bench
from tests.fakes.workflows import Deltas, HeadWorkflow, Note


async def nothing(item: Item[Note], ctx: StageContext) -> Item[Note]:
    return item


def workflow(
    *stages: tuple[str, tuple[str, ...]],
    gate: str | None = None,
    cycles: frozenset[tuple[str, str]] = frozenset(),
) -> HeadWorkflow:
    made: Any = Deltas(Bench(Deltas).setup())
    made.stages = [Stage(name=name, run=nothing, routes=routes) for name, routes in stages]
    made.gate, made.cycles = gate, cycles
    return made  # type: ignore[no-any-return]


REPAIR = Stage[Any](name="repair", run=nothing)


def names(graph: Graph) -> list[str]:
    return [stage.name for stage in graph.stages]


def test_repair_stands_after_the_gate_and_leads_on_or_back_to_it() -> None:
    graph = build(workflow(("propose", ()), ("screen", ()), ("sweep", ()), gate="screen"), REPAIR)
    assert names(graph) == ["propose", "screen", "repair", "sweep"]
    assert graph.following("screen") == "sweep"
    assert graph.is_back("repair", "screen")
    assert graph.last == "sweep"


def test_without_a_gate_the_gap_is_checked_after_the_last_stage() -> None:
    graph = build(workflow(("a", ()), ("b", ())), REPAIR)
    assert graph.gate == "b"
    assert names(graph) == ["a", "b", "repair"]
    assert graph.following("b") is None
    assert graph.last == "b"


def test_an_undeclared_way_back_is_an_error_that_says_what_to_declare() -> None:
    expected = r"'b' -> 'a' leads back and is not declared; add \('b', 'a'\) to .* cycles"
    with pytest.raises(ConfigError, match=expected):
        build(workflow(("a", ()), ("b", ("a",))))


def test_a_stage_that_leads_to_itself_is_a_cycle_too() -> None:
    with pytest.raises(ConfigError, match="'a' -> 'a' leads back"):
        build(workflow(("a", ("a",))))


def test_a_declared_way_back_is_a_back_edge() -> None:
    graph = build(workflow(("a", ()), ("b", ("a",)), cycles=frozenset({("b", "a")})))
    assert graph.is_back("b", "a")
    assert not graph.is_back("a", "b")


def test_a_way_forward_and_the_way_to_commit_need_no_declaration() -> None:
    graph = build(workflow(("a", ("c", "commit")), ("b", ()), ("c", ())))
    assert not graph.back_edges


def test_an_unknown_route_is_told_the_nearest_stage() -> None:
    with pytest.raises(ConfigError, match=r"'a' routes to unknown stage 'swep'\. Did .*'sweep'"):
        build(workflow(("a", ("swep",)), ("sweep", ())))


def test_an_unknown_gate_is_told_the_nearest_stage() -> None:
    with pytest.raises(ConfigError, match=r"gate 'scren' is not a stage\. Did you mean 'screen'"):
        build(workflow(("screen", ()), gate="scren"))


@pytest.mark.parametrize("taken", ["repair", "commit", "b"])
def test_a_stage_name_that_is_taken_is_refused(taken: str) -> None:
    with pytest.raises(ConfigError, match=f"stage name '{taken}' is taken; names must be unique"):
        build(workflow(("b", ()), (taken, ())))


def test_a_workflow_without_stages_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no stages; expected at least one"):
        build(workflow())
