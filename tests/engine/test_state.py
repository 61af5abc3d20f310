import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import TypeAdapter

from flashevolve import events as ev
from flashevolve.engine.state import USER_CODE, RunState
from flashevolve.outcome import Usage
from flashevolve.policies.staleness import Policy
from flashevolve.pools.head import HeadPool
from flashevolve.rundir import load_class
from tests.engine.test_properties import SLOW, benches, run
from tests.fakes.runs import Bench
from tests.fakes.workflows import Deltas, Reduction


def empty(bench: Bench) -> tuple[RunState, Any]:
    workflow = bench.fresh_workflow()
    codec = TypeAdapter(workflow.payload)

    def encode(payload: Any) -> Any:
        return codec.dump_python(payload, mode="json")

    return RunState(workflow.new_pool(), {}, codec.validate_python), encode


def check_every_prefix(bench: Bench) -> None:
    """Dumped through JSON and loaded after each transaction, the state goes on as if never left."""
    state, encode = empty(bench)
    boundaries = set(bench.store.boundaries)
    for n, record in enumerate(bench.store.records, 1):
        state.apply(record)
        conserved = state.conservation()
        assert conserved["created"] == sum(conserved.values()) - conserved["created"]
        if n in boundaries:
            data = json.loads(json.dumps(state.dump(encode)))
            pool = HeadPool.load(data["pool"])
            state = RunState.load(data, pool, {}, state.decode)
            assert json.loads(json.dumps(state.dump(encode))) == data
    expected = bench.folded()
    expected.ledger.limits = {}
    assert state.dump(encode) == expected.dump(encode)
    assert {t: f.item for t, f in state.in_flight.items()} == {
        t: f.item for t, f in expected.in_flight.items()
    }


@pytest.mark.parametrize("policy", ["full", "reflective"])
def test_dump_and_load_at_every_prefix_lose_nothing(policy: Policy) -> None:
    bench = Bench(lambda setup: Reduction(setup, 6), policy=policy, n_test=1)
    bench.run()
    check_every_prefix(bench)


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(benches())
def test_dump_and_load_at_every_prefix_lose_nothing_whatever_the_run(bench: Bench) -> None:
    run(bench)
    check_every_prefix(bench)


def test_a_dump_does_not_change_when_the_run_goes_on() -> None:
    bench = Bench(lambda setup: Reduction(setup, 4))
    bench.run()
    state, encode = empty(bench)
    half = bench.store.boundaries[len(bench.store.boundaries) // 2]
    for record in bench.store.records[:half]:
        state.apply(record)
    dumped = state.dump(encode)
    frozen = json.dumps(dumped)
    for record in bench.store.records[half:]:
        state.apply(record)
    assert json.dumps(dumped) == frozen


def test_updates_stay_while_an_item_in_flight_may_have_missed_them() -> None:
    bench = Bench(lambda setup: Deltas(setup, 30))
    bench.run()
    state, _ = empty(bench)
    bumped: list[int] = []
    for record in bench.store.records:
        state.apply(record)
        if isinstance(record.event, ev.PoolChanged) and record.event.bumped:
            bumped.append(record.event.version)
        for flight in state.in_flight.values():
            missed = [version for version in bumped if version > flight.item.version]
            assert [u.version for u in state.updates if u.version > flight.item.version] == missed
    assert len(state.updates) < len(bumped)


def record(seq: int, event: ev.Event) -> ev.Record:
    return ev.Record(seq=seq, t_s=float(seq), event=event)


def selected(ticket: int) -> ev.ItemSelected:
    return ev.ItemSelected(
        ticket=ticket, source="s", ordinal=ticket - 1, version=0, reads=["pool"], lineage=[],
        enter="a", payload={}, ops=[],
    )  # fmt: skip


def fold(*events: ev.Event, limits: Any = None) -> RunState:
    state = RunState(HeadPool(), limits or {}, lambda payload: payload)
    for seq, event in enumerate(events, 1):
        state.apply(record(seq, event))
    return state


TAKEN = ev.StageTaken(ticket=1, stage="a", visit=1, metric_calls=5, proposals=1)
OUTCOME = ev.OutcomeRecorded(
    ticket=1, stage="a", visit=1, artifact="x", split="val", example="v", replica=1, fresh=True,
    score=1.0, output="", feedback="", trace=None, error=None, usage=Usage(),
)  # fmt: skip


def test_a_reservation_becomes_what_was_spent_when_the_stage_ends() -> None:
    ended = ev.StageEnded(
        ticket=1, stage="a", visit=1, to="b", payload={"x": 1}, metric_calls=2, proposals=1,
        counts="proposed",
    )  # fmt: skip
    state = fold(selected(1), TAKEN, ended)
    assert state.ledger.spent["metric_calls"] == 2
    assert state.ledger.reserved["metric_calls"] == 0
    assert state.counters["proposed"] == 1
    assert state.in_flight[1].stage == "b"
    assert state.in_flight[1].item.payload == {"x": 1}
    assert state.n_to_propose == 0


def test_a_resume_books_what_a_visit_had_evaluated_and_refunds_the_rest() -> None:
    resumed = ev.RunResumed(changes={}, orphans=[])
    state = fold(selected(1), TAKEN, OUTCOME, OUTCOME, resumed)
    assert state.ledger.spent["metric_calls"] == 2
    assert set(state.ledger.reserved.values()) == {0}
    flight = state.in_flight[1]
    assert (flight.taken, flight.visit, flight.n_prepaid) == (False, 1, 2)
    assert state.n_to_propose == 1


def test_a_second_kill_books_only_what_was_evaluated_since_the_first() -> None:
    resumed = ev.RunResumed(changes={}, orphans=[])
    state = fold(selected(1), TAKEN, OUTCOME, OUTCOME, resumed, TAKEN, OUTCOME, resumed)
    assert state.ledger.spent["metric_calls"] == 3
    assert state.in_flight[1].n_prepaid == 3


def test_a_resume_forgets_the_end_and_a_drain_only_with_another_budget() -> None:
    drained = ev.DrainStarted(reason="tokens")
    ended = ev.RunEnded(reason="tokens", resumable=False)
    same = ev.RunResumed(changes={"limits": {"concurrency": 2}}, orphans=[])
    more = ev.RunResumed(changes={"budget": {"tokens": 9}}, orphans=[])
    state = fold(drained, ended, same)
    assert (state.drain, state.ended) == (drained, None)
    assert fold(drained, ended, same, more).drain is None
    assert fold(more, drained, ended, more).drain == drained
    assert fold(more, drained, ended, same).drain is None
    data = fold(more, drained).dump(vars)
    loaded = RunState.load(data, HeadPool.load(data["pool"]), {}, state.decode)
    loaded.apply(ev.Record(seq=9, t_s=9.0, event=more))
    assert loaded.drain == drained


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(TypeError, match="unknown event str"):
        fold("not an event")  # type: ignore[arg-type]


def test_a_class_is_loaded_by_its_import_path() -> None:
    assert load_class("flashevolve.pools.head:HeadPool") is HeadPool


def test_what_user_code_says_that_it_spent_is_charged_once_and_known_by_role() -> None:
    usage = Usage(calls=1, tokens_in=30, tokens_out=12, usd=0.5)
    costly = replace(OUTCOME, usage=usage)
    resumed = ev.RunResumed(changes={}, orphans=[])
    state = fold(selected(1), TAKEN, costly, resumed, limits={"tokens": 40})
    assert state.ledger.spent["tokens"] == 42
    assert state.ledger.spent["usd"] == 0.5
    assert state.usage_by_role == {USER_CODE: usage}
    assert state.in_flight[1].spent["tokens"] == 42
    assert state.ledger.overspent() == "tokens"


# -- who answered ------------------------------------------------------------------------------

WORLDS = ("0123456789ab", "ba9876543210")
STARTED = ev.RunStarted(
    run_id="r", algorithm="a", policy="full", schedule="async", rng_seed=0, artifact={}, config={},
    data={}, pool="", pool_state={}, stages=[], simulated=False, prices={}, package="0",
)  # fmt: skip


def settled(call: int, reply: Any, status: ev.CallStatus = "ok") -> tuple[ev.Event, ev.Event]:
    reserved = ev.CallReserved(
        call=call, ticket=1, stage="a", visit=1, map_key="", name="", request_hash="h",
        occurrence=0, attempt=0, role="task", model="m", tokens=9, usd=0.0, request={},
    )  # fmt: skip
    return reserved, ev.CallSettled(
        call=call, ticket=1, status=status, usage=Usage(calls=1), usage_known=True, reply=reply
    )


def answered_by(started: ev.RunStarted, *replies: Any) -> tuple[str, ...]:
    calls = [event for n, reply in enumerate(replies, 1) for event in settled(n, reply)]
    state = fold(started, *calls)
    again = RunState.load(json.loads(json.dumps(state.dump(lambda p: p))), HeadPool(), {}, dict)
    assert again.answered_by == state.answered_by
    return state.answered_by


@pytest.mark.parametrize(
    ("replies", "found"),
    [
        ((), ()),
        ((None,), ()),
        (({"text": "hi"}, None), ("real",)),
        (({"text": "hi", "world": WORLDS[0]}, None), (WORLDS[0],)),
        (({"text": "hi", "world": WORLDS[1]}, {"text": "hi", "world": WORLDS[0]}), WORLDS),
        (({"text": "hi", "world": WORLDS[0]}, {"text": "hi"}), (WORLDS[0], "real")),
    ],
)
def test_who_answered_is_what_the_replies_say(replies: tuple[Any, ...], found: Any) -> None:
    assert answered_by(STARTED, *replies) == found


def test_an_answer_of_which_nothing_can_be_used_counts_as_one_too() -> None:
    cut = settled(1, {"text": "", "finish": "length", "world": WORLDS[0]}, "truncated")
    assert fold(STARTED, *cut).answered_by == (WORLDS[0],)


def test_in_virtual_time_the_first_event_names_the_world_of_all_answers() -> None:
    virtual = replace(STARTED, simulated=True, world=WORLDS[0])
    assert answered_by(virtual) == (WORLDS[0],)
    assert answered_by(virtual, {"text": "hi"}) == (WORLDS[0],)
    assert answered_by(virtual, {"text": "hi", "world": WORLDS[1]}) == WORLDS
    assert answered_by(replace(virtual, world=""), {"text": "hi"}) == ("unrecorded",)
