"""What a workflow learns from ended items, and how many candidates an item stands for."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.engine.item import Item
from flashevolve.pools.pool import Pool
from tests.engine.test_resume import cut
from tests.fakes.runs import Bench
from tests.fakes.workflows import Note, Reduction


class Learning(Reduction):
    """Keeps how long the stages worked on each item that ended."""

    def learnt(
        self, item: Item[Note], worked_s: Mapping[str, float], pool: Pool
    ) -> tuple[dict[str, Any], ...]:
        return tuple(
            {"op": "add", "key": f"{item.ticket} {stage}", "amount": seconds}
            for stage, seconds in worked_s.items()
        )


def learnt_by(records: list[ev.Record]) -> dict[str, float]:
    ended = [r.event for r in records if isinstance(r.event, ev.ItemEnded)]
    return {op["key"]: op["amount"] for event in ended for op in event.ops}


def worked(records: list[ev.Record]) -> Counter[str]:
    """Seconds from each `stage_taken` to its `stage_ended`."""
    found = Counter[str]()
    for r in records:
        match r.event:
            case ev.StageTaken(ticket=ticket, stage=stage):
                found[f"{ticket} {stage}"] -= r.t_s  # type: ignore[assignment]
            case ev.StageEnded(ticket=ticket, stage=stage):
                found[f"{ticket} {stage}"] += r.t_s  # type: ignore[assignment]
    return found


def test_what_an_ended_item_has_shown_is_kept_whatever_became_of_it() -> None:
    bench = Bench(Learning, policy="guarded", delta_max=0)
    state = bench.run()
    outcomes = {event.outcome for event in bench.store.events(ev.ItemEnded)}
    assert {"committed", "discarded"} <= outcomes
    learnt = learnt_by(bench.store.records)
    assert learnt == pytest.approx(dict(worked(bench.store.records)))
    assert {key: state.pool.state[key] for key in learnt} == learnt  # type: ignore[attr-defined]
    n_bumps = sum(
        r.event.bumped for r in bench.store.records if isinstance(r.event, ev.PoolChanged)
    )
    assert state.pool.version == n_bumps
    assert bench.folded().pool.dump() == state.pool.dump()


@pytest.mark.parametrize("n_records", range(10, 120, 11))
def test_of_an_item_that_was_worked_on_at_a_kill_no_times_are_told(n_records: int) -> None:
    whole = Bench(Learning)
    whole.run()
    bench = Bench(Learning)
    bench.store = cut(whole, n_records)
    at_work = {f.item.ticket for f in bench.folded().in_flight.values() if f.taken}
    state = bench.run()
    told = {int(key.split()[0]) for key in learnt_by(bench.store.records)}
    assert told == set(range(1, state.n_created + 1)) - at_work
    assert bench.folded().pool.dump() == state.pool.dump()


class Triple(Reduction):
    """Each step stands for as many candidates as its ticket says."""

    def __init__(self, setup: Any) -> None:
        super().__init__(setup, n=6)
        self.stages = [replace(stage, stands_for=lambda item: item.ticket) for stage in self.stages]


def test_a_counter_rises_by_what_the_items_stand_for() -> None:
    bench = Bench(Triple, policy="full")
    state = bench.run()
    assert state.counters["proposed"] == state.counters["screened"] == sum(range(1, 7))
    plain = Bench(Reduction)
    plain.run()
    assert {
        r.event.n_counted for r in plain.store.records if isinstance(r.event, ev.StageEnded)
    } == {1}
