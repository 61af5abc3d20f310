"""The seed is a candidate from the start: nobody waits for the last of its scores."""

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.algorithms.gepa import GEPA
from flashevolve.algorithms.pxn.workflow import PxNWorkflow
from flashevolve.engine.state import RunState
from flashevolve.engine.usercode import AsyncContext
from flashevolve.engine.workflow import Setup, Workflow
from flashevolve.llm.errors import LLMError
from flashevolve.llm.messages import Request
from flashevolve.pools.pareto import ParetoPool, confirm, expect, insert, pareto, retract
from flashevolve.task import Example
from tests.engine.test_plain_log import answer, coin
from tests.fakes.audit import Audit
from tests.fakes.runs import SEED, Bench
from tests.fakes.writer import MemoryStore

STRAGGLER_S = 100.0
ALL = {"a": 1.0, "b": 0.0}


def gepa(setup: Setup) -> Workflow[Any]:
    return GEPA(merge=False, skip_perfect=False).workflow(setup)


def pxn(setup: Setup) -> Workflow[Any]:
    return PxNWorkflow(GEPA(merge=False, skip_perfect=False, parents=2, proposals=2), setup)


async def straggling(artifact: Mapping[str, str], example: Example, ctx: AsyncContext) -> str:
    """Takes a second, but for the seed's last validation example."""
    slow = artifact["text"] == SEED["text"] and example.id == "val-3"
    await asyncio.sleep(STRAGGLER_S if slow else 1.0)
    return f"{example.id} {artifact['text']}"


def straggler(**changes: Any) -> Bench:
    options: dict[str, Any] = {
        "workflow": gepa,
        "policy": "reflective",
        "in_flight": 8,
        "workers": 8,
        "n_val": 4,
        "agent": straggling,
        "answer": answer,
        "score": coin,
        "latency_s": lambda rng: 1.0,
        "budget": {"metric_calls": 200},
    }
    return Bench(**{**options, **changes})


def audited(bench: Bench) -> Bench:
    workflow = bench.fresh_workflow()
    book = Audit(bench, [stage.name for stage in workflow.stages], workflow.gate or "")
    book.writes = False
    book.check(bench.store.records)
    book.finished(resumable=False)
    return bench


def seed_scored_s(bench: Bench) -> float:
    return next(
        r.t_s
        for r in bench.store.records
        if isinstance(r.event, ev.ItemEnded) and r.event.ticket == 1
    )


def ended_before(bench: Bench, t_s: float) -> list[ev.ItemEnded]:
    found = [r.event for r in bench.store.records if r.t_s < t_s]
    return [e for e in found if isinstance(e, ev.ItemEnded)]


@pytest.mark.parametrize("workflow", [gepa, pxn])
def test_steps_go_on_while_the_seeds_validation_waits_for_a_straggler(workflow: Any) -> None:
    bench = straggler(workflow=workflow, budget={"metric_calls": 400})
    state = bench.run()
    audited(bench)
    assert seed_scored_s(bench) >= STRAGGLER_S
    early = ended_before(bench, STRAGGLER_S)
    assert len(early) > 8
    assert "committed" in {e.outcome for e in early}
    seed = state.pool.candidates[0]
    assert (seed.status, len(seed.scores), seed.ticket) == ("confirmed", 4, 1)
    assert not {"speculated", "confirmed", "retracted", "demoted"} & (+state.counters).keys()


def test_the_seeds_scores_make_nothing_stale() -> None:
    bench = straggler(policy="guarded", delta_max=0)
    bench.run()
    own = [e for e in bench.store.events(ev.PoolChanged) if e.ticket == 1]
    assert [(e.bumped, e.speculation, e.marks) for e in own] == [(False, None, [])]
    assert bench.store.events(ev.ItemSelected)[0].version == own[0].version - sum(
        e.bumped for e in bench.store.events(ev.PoolChanged) if e.version <= own[0].version
    )


def test_there_is_no_best_before_something_is_scored_in_full() -> None:
    bench = straggler()
    bench.run()
    state = RunState(ParetoPool(), {}, lambda payload: payload)
    for record in bench.store.records:
        state.apply(record)
        known = [c for c in state.pool.candidates.values() if c.status == "confirmed"]
        assert (state.pool.best() is None) == (not known)


def test_one_step_at_a_time_begins_with_the_seed_as_ever() -> None:
    bench = straggler(in_flight=1)
    bench.run()
    assert not ended_before(bench, STRAGGLER_S)
    second = next(
        r.t_s
        for r in bench.store.records
        if isinstance(r.event, ev.ItemSelected) and r.event.ticket == 2
    )
    assert second == seed_scored_s(bench)


@pytest.mark.parametrize("resource", ["tokens", "usd"])
def test_where_money_is_limited_the_seed_is_scored_before_anything_else(resource: str) -> None:
    bench = straggler(budget={"metric_calls": 60, resource: 10**9})
    bench.run()
    assert not ended_before(bench, STRAGGLER_S)
    assert len(bench.store.events(ev.ItemSelected)) > 1


def test_what_the_seed_cost_is_known_though_another_step_was_committed_first() -> None:
    bench = straggler()
    state = bench.run()
    assert state.first_cost["metric_calls"] == 4
    assert state.n_forecast == state.n_created - 1


def test_a_seed_that_is_cut_is_retracted_and_nothing_follows_on_a_resume() -> None:
    bench = straggler(deadline_s=0.5, grace_s=1.0)
    state = bench.run()
    assert state.pool.candidates[0].status == "retracted"
    assert state.counters["retracted"] == 0
    assert not state.in_flight
    again = straggler()
    again.store = MemoryStore(bench.store.records)
    n_before = len(bench.store.events(ev.ItemSelected))
    assert again.run().n_created == n_before


def test_an_early_step_that_fails_does_not_stop_the_run() -> None:
    refused: list[str] = []

    def refusing(request: Request, rng: Random) -> str | LLMError:
        if "Choose one verdict" not in request.messages[-1].text and len(refused) < 1:
            refused.append("once")
            return LLMError("broken once")
        return answer(request, rng)

    bench = straggler(answer=refusing)
    state = bench.run()
    assert state.counters["failed"] == 1
    assert state.counters["committed"] > 1


def test_a_run_killed_while_the_seed_is_awaited_goes_on() -> None:
    whole = straggler()
    whole.run()
    at = next(i for i, r in enumerate(whole.store.records) if r.t_s > STRAGGLER_S / 2)
    again = straggler()
    again.store = MemoryStore(whole.store.records[:at])
    pool = pareto(again.folded().pool)
    assert pool.awaited is not None
    assert ParetoPool.load(pool.dump()).awaited == pool.awaited
    state = again.run()
    audited(again)
    assert state.pool.candidates[0].status == "confirmed"
    assert not state.in_flight


# -- the pool ----------------------------------------------------------------------------------


def awaiting() -> ParetoPool:
    pool = ParetoPool()
    pool.apply([{**expect(SEED), "ticket": 1}], version=0)
    return pool


def test_an_awaited_candidate_has_no_standing_but_lets_steps_begin() -> None:
    pool = awaiting()
    assert pool.awaited is not None
    assert (pool.awaited.id, pool.awaited.status) == (0, "speculative")
    assert not pool.fronts
    assert not pool.means
    assert not pool.parent_weights
    assert pool.best() is None
    assert pool.contains(SEED) == 0
    assert pool.ramp(64, 0) == 8
    assert ParetoPool().ramp(64, 0) == 1


def test_confirmed_it_is_as_if_it_had_been_inserted_with_its_scores() -> None:
    pool, plain = awaiting(), ParetoPool()
    pool.apply([confirm(0, ALL)], version=0)
    plain.apply([insert(SEED, (), ALL, 1)], version=0)
    assert pool.dump() == plain.dump()
    assert pool.awaited is None


def test_retracted_it_lets_nothing_begin() -> None:
    pool = awaiting()
    pool.apply([retract(0)], version=1)
    assert (pool.awaited, pool.contains(SEED), pool.ramp(64, 0)) == (None, None, 1)
    assert ParetoPool.load(pool.dump()).dump() == pool.dump()
    source = gepa(straggler().setup()).sources[-1]
    assert source.select(pool, Random(0)) is None


def test_the_order_of_sweeps_outlives_a_snapshot_where_a_child_was_first() -> None:
    pool = awaiting()
    pool.apply([insert(SEED.replace({"text": "child"}), (0,), ALL, 2)], version=1)
    pool.apply([confirm(0, {"a": 0.0, "b": 0.0})], version=1)
    again = ParetoPool.load(pool.dump())
    assert again.sweeps(1) == pool.sweeps(1) == [ALL]
    assert again.dump() == pool.dump()
