"""A run cut after any transaction and resumed: nothing recorded is asked again, nothing is lost."""

from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.item import Item, Needs
from flashevolve.engine.state import RunState
from flashevolve.engine.workflow import Stage, StageContext
from flashevolve.errors import ConfigError
from flashevolve.policies.staleness import Policy
from flashevolve.store.codec import record_to_json
from tests.engine.test_properties import SLOW, audit, benches, run, same
from tests.fakes.audit import Audit
from tests.fakes.runs import Bench
from tests.fakes.workflows import WORKFLOWS, Deltas, HeadWorkflow, Note, Reduction
from tests.fakes.writer import MemoryStore

POLICIES: tuple[Policy, ...] = ("full", "guarded", "reflective", "regenerate")
CASES = [pytest.param(w, p, id=f"{w.name}-{p}") for w in WORKFLOWS for p in POLICIES]
ANSWERED = {"ok", "refused", "truncated", "empty"}
N_ITEMS = 4


def new_bench(workflow: type[HeadWorkflow], policy: Policy, **changes: Any) -> Bench:
    return Bench(lambda setup: workflow(setup, N_ITEMS), policy=policy, **changes)


def cut(bench: Bench, n_records: int) -> MemoryStore:
    """Returns what a process that was killed after `n_records` left behind."""
    store = MemoryStore(bench.store.records[:n_records])
    store.boundaries = [b for b in bench.store.boundaries if b <= n_records]
    return store


def key_of(call: ev.CallReserved) -> tuple[object, ...]:
    return (
        call.ticket,
        call.stage,
        call.visit,
        call.map_key,
        call.name,
        call.request_hash,
        call.occurrence,
    )


def check_nothing_is_asked_twice(bench: Bench) -> None:
    """No call is reserved again once its key was answered, in whatever process."""
    answered: set[tuple[object, ...]] = set()
    reserved: dict[int, ev.CallReserved] = {}
    for record in bench.store.records:
        match record.event:
            case ev.CallReserved() as call:
                assert key_of(call) not in answered
                reserved[call.call] = call
            case ev.CallSettled() as settled if settled.status in ANSWERED:
                answered.add(key_of(reserved[settled.call]))


def check_orphans_cost_their_reservation(bench: Bench, n_records: int) -> None:
    opened = {e.call: e for r in bench.store.records[:n_records]
              if isinstance(e := r.event, ev.CallReserved)}  # fmt: skip
    for record in bench.store.records[:n_records]:
        if isinstance(record.event, ev.CallSettled):
            del opened[record.event.call]
    settled = {e.call: e for e in bench.store.events(ev.CallSettled)}
    for call in opened.values():
        assert settled[call.call].status == "orphaned"
        assert settled[call.call].usage.tokens == call.tokens
        assert settled[call.call].usage.usd == call.usd


def check_everything(bench: Bench, book: Audit, n_records: int) -> None:
    check_nothing_is_asked_twice(bench)
    check_orphans_cost_their_reservation(bench, n_records)
    book.check(bench.store.records)


def state_that_matters(state: RunState) -> dict[str, Any]:
    """All but money and time: a call that was in flight at the kill is paid twice."""
    spent = state.ledger.spent
    return {
        "pool": state.pool.dump(),
        "counters": {k: v for k, v in state.counters.items() if v},
        "ordinals": dict(state.ordinals),
        "tests": state.tests,
        "in_flight": sorted(state.in_flight),
        "spent": (spent["metric_calls"], spent["proposals"]),
    }


@pytest.mark.parametrize(("workflow", "policy"), CASES)
def test_a_run_killed_anywhere_repeats_nothing_and_loses_nothing(
    workflow: type[HeadWorkflow], policy: Policy
) -> None:
    whole = new_bench(workflow, policy, n_test=1)
    whole.run()
    for n_records in [0, *whole.store.boundaries]:
        bench = new_bench(workflow, policy, n_test=1)
        bench.store = cut(whole, n_records)
        state = bench.run()
        graph = bench.fresh_workflow()
        names = [stage.name for stage in graph.stages]
        book = Audit(bench, names, graph.gate or names[-1])
        book.writes = False
        check_everything(bench, book, n_records)
        book.finished(resumable=False)
        assert sum(state.conservation().values()) == 2 * state.n_created
        assert bench.folded().dump(vars) == state.dump(vars)


@pytest.mark.parametrize(("workflow", "policy"), CASES)
def test_one_step_at_a_time_ends_the_same_however_often_it_is_killed(
    workflow: type[HeadWorkflow], policy: Policy
) -> None:
    whole = new_bench(workflow, policy, in_flight=1, n_test=1)
    expected = state_that_matters(whole.run())
    for n_records in whole.store.boundaries:
        bench = new_bench(workflow, policy, in_flight=1, n_test=1)
        bench.store = cut(whole, n_records)
        assert state_that_matters(bench.run()) == expected
        done = [e for e in cut(whole, n_records).events(ev.CallSettled) if e.status == "ok"]
        assert len(done) + bench.model.n_requests == whole.model.n_requests


@pytest.mark.parametrize("budget", [{"metric_calls": 7}, {"proposals": 3}, {"tokens": 2500}])
def test_a_budget_holds_over_all_processes_together(budget: dict[str, int]) -> None:
    whole = new_bench(Reduction, "full", budget=budget)
    whole.run()
    for n_records in whole.store.boundaries:
        bench = new_bench(Reduction, "full", budget=budget)
        bench.store = cut(whole, n_records)
        bench.run()
        book = Audit(bench, ["reduce", "check"], "check")
        book.writes = False
        check_everything(bench, book, n_records)
        book.finished(resumable=False)


@pytest.mark.parametrize("budget", [{"tokens": 1000}, {"tokens": 2500}, {"usd": 0.0017}])
@pytest.mark.parametrize("workflow", [Deltas, Reduction])
def test_a_run_killed_after_its_drain_began_starts_no_step_and_ends_the_same(
    workflow: type[HeadWorkflow], budget: dict[str, float]
) -> None:
    def new() -> Bench:
        many = partial(workflow, n=50)
        return Bench(many, in_flight=1, n_test=3, budget=budget)

    whole = new()
    expected = state_that_matters(whole.run())
    kinds = [record.event.kind for record in whole.store.records]
    drained = kinds.index("drain_started") + 1
    for n_records in (b for b in whole.store.boundaries if b >= drained):
        bench = new()
        bench.store = cut(whole, n_records)
        state = bench.run()
        assert bench.reason == whole.reason
        assert state.n_created == len(whole.store.events(ev.ItemSelected))
        # Whether the money suffices for the test depends on what the killed calls are booked at.
        assert {**state_that_matters(state), "tests": 0} == {**expected, "tests": 0}


def test_a_visit_that_had_used_its_budget_up_is_redone_from_the_journal() -> None:
    """One item's validation is all the budget; killed after its outcomes, it still ends well."""
    whole = new_bench(Reduction, "full", in_flight=1, budget={"metric_calls": 2})
    counters = whole.run().counters
    assert not counters["dropped"]
    last = max(
        i for i, r in enumerate(whole.store.records, 1) if isinstance(r.event, ev.OutcomeRecorded)
    )
    bench = new_bench(Reduction, "full", in_flight=1, budget={"metric_calls": 2})
    bench.store = cut(whole, last)
    state = bench.run()
    assert state.counters == counters
    assert state.ledger.spent["metric_calls"] == 2


def test_outcomes_of_a_visit_that_is_dropped_after_the_kill_are_still_counted() -> None:
    whole = new_bench(Reduction, "full", in_flight=1)
    whole.run()
    first = next(
        i for i, r in enumerate(whole.store.records, 1) if isinstance(r.event, ev.OutcomeRecorded)
    )
    bench = new_bench(Reduction, "full", in_flight=1, deadline_s=0.0)
    bench.store = cut(whole, first)
    state = bench.run()
    assert state.counters["dropped"] == 1
    assert state.ledger.spent["metric_calls"] == 1


def test_resuming_a_finished_run_does_nothing_but_say_so() -> None:
    whole = new_bench(Deltas, "full", n_test=2)
    whole.run()
    bench = new_bench(Deltas, "full", n_test=2)
    bench.store = cut(whole, len(whole.store.records))
    bench.run()
    added = [r.event.kind for r in bench.store.records[len(whole.store.records) :]]
    assert added == ["run_resumed", "run_ended"]
    assert bench.model.n_requests == 0


def test_a_resume_after_the_deadline_starts_nothing() -> None:
    whole = new_bench(Deltas, "full")
    whole.run()
    bench = new_bench(Deltas, "full", deadline_s=0.0)
    bench.store = cut(whole, whole.store.boundaries[10])
    state = bench.run()
    assert bench.reason == "deadline"
    assert bench.model.n_requests == 0
    assert not state.in_flight


@settings(max_examples=50, deadline=None, suppress_health_check=SLOW)
@given(benches(), st.lists(st.floats(0, 1), min_size=1, max_size=3))
def test_any_workflow_survives_any_kills(bench: Bench, kills: list[float]) -> None:
    run(bench)
    n_records = 0
    for at in kills:
        places = [b for b in bench.store.boundaries if b >= n_records]
        n_records = places[int(at * (len(places) - 1))]
        again = same(bench)
        again.store = cut(bench, n_records)
        run(again)
        check_everything(again, audit(again), n_records)
        bench = again


# -- replicas ----------------------------------------------------------------------------------


class Sweeping(Reduction):
    """Checks by a sweep that is shared, and says so; `declared` is how it does."""

    declared: ClassVar[str] = "shared"

    async def check(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
        artifact = Artifact({"text": item.payload.text})
        await ctx.evaluate(artifact, "val", self.val_ids, fresh=False)
        return item

    def check_stage(self) -> Stage[Note]:
        needs = Needs(**{self.declared: len(self.val_ids)})
        return Stage(name="check", run=self.check, needs=lambda item, pool: needs)


class Plainly(Sweeping):
    """The same, declared as metric calls: all that there was before replicas."""

    declared = "metric_calls"


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_a_sweep_costs_its_examples_times_the_replicas(replicas: int) -> None:
    bench = new_bench(Sweeping, "full", n_val=3, n_test=2, replicas=replicas)
    state = bench.run()
    outcomes = bench.store.events(ev.OutcomeRecorded)
    assert state.ledger.spent["metric_calls"] == replicas * 3 * N_ITEMS
    assert sum(o.split == "val" for o in outcomes) == state.ledger.spent["metric_calls"]
    assert sum(o.split == "test" for o in outcomes) == replicas * 2 * 2
    assert {e.metric_calls for e in bench.store.events(ev.StageTaken) if e.stage == "check"} == {
        replicas * 3
    }


def test_without_replicas_the_log_is_what_it_was_before_there_were_any() -> None:
    logs = []
    for workflow in (Sweeping, Plainly):
        bench = new_bench(workflow, "full", n_val=3, n_test=2)
        bench.run()
        logs.append([record_to_json(record) for record in bench.store.records])
    assert logs[0] == logs[1]


def test_shared_evaluations_declared_as_metric_calls_are_refused_before_any_is_paid_for() -> None:
    bench = new_bench(Plainly, "full", n_val=3, replicas=2)
    expected = (
        r"^stage 'check': expected evaluations with fresh=False to be declared as "
        r"Needs\(shared=\.\.\.\), since task.replicas is 2, found none declared\. Mend"
    )
    with pytest.raises(ConfigError, match=expected):
        bench.run()
    assert bench.store.events(ev.OutcomeRecorded) == []


def test_a_sweep_of_replicas_that_is_killed_anywhere_ends_the_same() -> None:
    changes: dict[str, Any] = {"in_flight": 1, "n_val": 2, "n_test": 2, "replicas": 3}
    whole = new_bench(Sweeping, "full", **changes)
    expected = state_that_matters(whole.run())
    for n_records in whole.store.boundaries:
        bench = new_bench(Sweeping, "full", **changes)
        bench.store = cut(whole, n_records)
        assert state_that_matters(bench.run()) == expected
        check_nothing_is_asked_twice(bench)
        keys = [(o.artifact, o.example, o.replica) for o in bench.store.events(ev.OutcomeRecorded)]
        assert len(keys) == len(set(keys))
