"""What a draining run waits for: only what can still come to something."""

from dataclasses import replace
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.algorithms.gepa import GEPA
from flashevolve.engine.flight import InFlight
from flashevolve.engine.graph import REPAIR, Graph, build
from flashevolve.engine.item import Item, Needs
from flashevolve.engine.outlook import Outlook
from flashevolve.engine.state import RunState
from flashevolve.engine.workflow import Setup, Stage
from flashevolve.policies.staleness import Policy, Staleness, Update
from tests.engine.test_plain_log import answer, coin
from tests.fakes.runs import SEED, Bench
from tests.fakes.workflows import Note, Reduction
from tests.fakes.writer import MemoryStore

N_SWEEP = 10


async def onward(item: Item[Note], ctx: Any) -> Item[Note]:
    return item


class Long(Reduction):
    """Four stages, the third of them the gate."""

    gate = "screen"

    def __init__(self) -> None:
        super().__init__(Setup(seed=SEED, train_ids=("t",), val_ids=("v",)))
        needs = Needs(metric_calls=N_SWEEP)
        self.stages = [
            Stage(name="rollout", run=onward),
            Stage(name="propose", run=onward),
            Stage(name="screen", run=onward),
            Stage(name="evaluate", run=onward, needs=lambda item, pool: needs),
        ]


def outlook(graph: Graph, *, policy: Policy = "reflective", left: int = 100) -> Outlook:
    """Version 1 of the pool touched what all items read."""
    state = RunState(Long().new_pool(), {"metric_calls": left}, lambda payload: payload)
    state.updates.append(Update(1, ("pool",), "changed"))
    return Outlook(graph, Staleness(policy, 0), state, replicas=1)


def flight(stage: str, **changes: Any) -> InFlight:
    item = Item(ticket=1, source="step", payload=Note(), version=1)
    bound_for = changes.pop("bound_for", None)
    return InFlight(item=replace(item, **changes), stage=stage, bound_for=bound_for)


def long_graph() -> Graph:
    return build(Long(), Stage(name=REPAIR, run=onward))


@pytest.mark.parametrize(
    ("stage", "hopeless"),
    [("rollout", True), ("propose", True), ("screen", False), ("evaluate", False)],
)
def test_hope_is_where_the_next_stage_is_the_last(stage: str, hopeless: bool) -> None:
    assert outlook(long_graph()).is_hopeless(flight(stage)) is hopeless


@pytest.mark.parametrize(
    ("policy", "repairs", "hopeless"),
    [("reflective", 0, True), ("guarded", 0, True), ("full", 0, False), ("reflective", 1, False)],
)
def test_a_stale_item_at_the_gate_has_hope_if_it_may_pass(
    policy: Policy, repairs: int, hopeless: bool
) -> None:
    looking = outlook(long_graph(), policy=policy)
    assert looking.is_hopeless(flight("screen", version=0, repairs=repairs)) is hopeless


@pytest.mark.parametrize(("left", "hopeless"), [(N_SWEEP, False), (N_SWEEP - 1, True)])
def test_an_item_in_repair_has_hope_while_its_sweep_can_be_paid(left: int, hopeless: bool) -> None:
    looking = outlook(long_graph(), left=left)
    assert looking.is_hopeless(flight(REPAIR, bound_for="evaluate")) is hopeless


def test_what_is_reserved_might_be_refunded() -> None:
    looking = outlook(long_graph(), left=N_SWEEP)
    looking._state.ledger.reserve({"metric_calls": N_SWEEP})
    assert not looking.is_hopeless(flight(REPAIR, bound_for="evaluate"))


def test_a_way_to_the_commit_is_hope() -> None:
    workflow = Long()
    first, *others = workflow.stages
    workflow.stages = [replace(first, routes=("commit",)), *others]
    assert not outlook(build(workflow)).is_hopeless(flight("rollout"))


def test_a_stage_that_is_gate_and_last_is_never_hopeless() -> None:
    workflow = Long()
    workflow.gate = "evaluate"  # type: ignore[misc]
    graph = build(workflow, Stage(name=REPAIR, run=onward))
    assert not outlook(graph).is_hopeless(flight("evaluate", version=0))
    assert not outlook(graph).is_hopeless(flight(REPAIR, version=0))


def draining(run_seed: int, **changes: Any) -> Bench:
    return Bench(
        lambda setup: GEPA(merge=False, skip_perfect=False).workflow(setup),
        policy="reflective",
        in_flight=16,
        workers=16,
        queue=32,
        concurrency=16,
        n_val=20,
        answer=answer,
        score=coin,
        run_seed=run_seed,
        **{"budget": {"metric_calls": 250}, **changes},
    )


SEEDS = range(12)


def cut(bench: Bench) -> list[ev.ItemEnded]:
    return [e for e in bench.store.events(ev.ItemEnded) if "nothing can follow" in e.reason]


def test_a_draining_run_cuts_at_once_what_leads_to_nothing() -> None:
    n_cut = 0
    for run_seed in SEEDS:
        bench = draining(run_seed)
        state = bench.run()
        n_cut += len(cut(bench))
        assert {e.outcome for e in cut(bench)} <= {"dropped"}
        drained_s = [r.t_s for r in bench.store.records if isinstance(r.event, ev.DrainStarted)]
        for record in bench.store.records:
            event = record.event
            if isinstance(event, ev.StageEnded) and event.stage in ("rollout", "propose"):
                assert record.t_s <= drained_s[0]
        assert state.ledger.spent["metric_calls"] <= 250
        assert state.ledger.reserved["metric_calls"] == state.ledger.reserved["tokens"] == 0
        assert not state.in_flight
        assert not state.calls
        assert bench.model.in_flight == bench.n_tasks_left == 0
    assert n_cut > 0


def test_a_run_that_cut_steps_goes_on_with_a_larger_budget() -> None:
    bench = next(b for b in map(draining, SEEDS) if b.run() and cut(b))
    before = bench.folded()
    again = draining(bench.run_seed, budget={"metric_calls": 600})
    again.store = MemoryStore(bench.store.records)
    again.store.append([ev.RunResumed(changes={"budget": 600}, orphans=[])], before.t_s)
    state = again.run()
    assert state.counters["committed"] > before.counters["committed"]
    assert state.pool.candidates.keys() > before.pool.candidates.keys()
    assert 250 < state.ledger.spent["metric_calls"] <= 600
