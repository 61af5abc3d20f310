import pytest

from flashevolve import events as ev
from flashevolve.policies.staleness import ASKING, Policy
from flashevolve.pools.head import HeadPool
from tests.fakes.runs import Bench
from tests.fakes.workflows import WORKFLOWS, Deltas, HeadWorkflow, Reduction, SolveEvolve

POLICIES: tuple[Policy, ...] = ("full", "guarded", "reflective", "regenerate")


def check_conservation(bench: Bench) -> None:
    """created = ended + in flight, after every single event."""
    n_created = n_ended = 0
    open_tickets = set()
    for record in bench.store.records:
        match record.event:
            case ev.ItemSelected(ticket=ticket):
                n_created += 1
                open_tickets.add(ticket)
            case ev.ItemEnded(ticket=ticket):
                n_ended += 1
                open_tickets.remove(ticket)
        assert n_created == n_ended + len(open_tickets)
        assert len(open_tickets) <= bench.in_flight


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_each_small_workflow_runs_to_its_end_under_each_policy(
    workflow: type[HeadWorkflow], policy: Policy
) -> None:
    bench = Bench(workflow, policy=policy)
    state = bench.run()
    assert bench.reason == "finished"
    assert not state.in_flight
    assert state.counters["committed"] > 0
    check_conservation(bench)


def test_no_line_is_lost_when_deltas_commute() -> None:
    bench = Bench(Deltas, in_flight=20, workers=20)
    state = bench.run()
    assert isinstance(state.pool, HeadPool)
    lines = state.pool.head["text"].splitlines()
    assert len(lines) == 1 + state.counters["committed"]
    assert state.counters["committed"] + state.counters["skipped"] == 20


def test_a_write_whose_target_changed_is_rebased_or_lost_under_every_policy() -> None:
    for policy in POLICIES:
        bench = Bench(Reduction, policy=policy, delta_max=100)
        bench.run()
        lost = [e for e in bench.store.events(ev.ItemEnded) if e.reason.startswith("conflict")]
        rebased = [e for e in bench.store.events(ev.PoolChanged) if " | " in e.text]
        if policy not in ASKING:
            assert lost, policy
            assert all(e.ticket % 2 for e in lost)
            assert rebased


def test_evidence_is_collected_by_one_source_and_used_once_by_another() -> None:
    bench = Bench(SolveEvolve)
    state = bench.run()
    assert isinstance(state.pool, HeadPool)
    assert len(state.pool.state["evidence"]) == 20
    assert state.pool.state["used"] == 18
    assert state.ordinals["evidence"] == 6


def test_collecting_evidence_does_not_bump_the_version() -> None:
    bench = Bench(SolveEvolve)
    state = bench.run()
    bumps = [e for e in bench.store.events(ev.PoolChanged) if e.bumped]
    assert state.pool.version == len(bumps)
    assert all(e.scopes == ["component:text"] for e in bumps)


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_with_one_step_in_flight_all_policies_give_the_same_log(
    workflow: type[HeadWorkflow],
) -> None:
    logs = []
    for policy in POLICIES:
        bench = Bench(workflow, policy=policy, in_flight=1, workers=1)
        bench.run()
        logs.append([r for r in bench.store.records if not isinstance(r.event, ev.RunStarted)])
    assert all(log == logs[0] for log in logs)
    assert all(e.gap == 0 for r in logs[0] if isinstance(e := r.event, ev.GapChecked))


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_seed_gives_the_same_log(policy: Policy) -> None:
    first, second = Bench(Reduction, policy=policy), Bench(Reduction, policy=policy)
    first.run()
    second.run()
    assert first.store.records == second.store.records


@pytest.mark.parametrize("policy", POLICIES)
def test_the_log_folded_again_gives_the_same_state(policy: Policy) -> None:
    bench = Bench(Reduction, policy=policy)
    state = bench.run()
    plain = dict.copy
    assert bench.folded().dump(plain) == state.dump(plain)


def test_guarded_discards_what_is_too_stale_and_says_so() -> None:
    bench = Bench(Reduction, policy="guarded", delta_max=0)
    bench.run()
    discarded = [e for e in bench.store.events(ev.ItemEnded) if e.reason.startswith("gap ")]
    assert discarded
    assert all(e.outcome == "discarded" for e in discarded)
    gaps = {e.ticket: e.gap for e in bench.store.events(ev.GapChecked)}
    assert {e.ticket for e in discarded} == {t for t, gap in gaps.items() if gap > 0}


def test_the_gap_is_checked_once_per_passed_gate_and_once_after_a_repair() -> None:
    bench = Bench(Reduction, policy="reflective", in_flight=10, workers=10)
    state = bench.run()
    assert state.counters["repaired"] > 0
    for ticket in range(1, state.next_ticket):
        repairs = [e for e in bench.store.events(ev.ItemRepaired) if e.ticket == ticket]
        asked = [
            e
            for e in bench.store.events(ev.GapChecked)
            if e.ticket == ticket and e.verdict == "repair"
        ]
        assert len(repairs) == len(asked) <= 1


def test_accept_and_patch_stamp_the_item_with_the_version_it_was_shown() -> None:
    bench = Bench(Reduction, policy="reflective", in_flight=10, workers=10)
    bench.run()
    version = 0
    for record in bench.store.records:
        match record.event:
            case ev.PoolChanged(version=version):
                pass
            case ev.ItemRepaired(version=shown):
                assert shown <= version


def test_a_patch_goes_back_to_the_gate_and_never_straight_into_the_pool() -> None:
    bench = Bench(Reduction, policy="reflective", in_flight=10, workers=10)
    bench.run()
    patched = {e.ticket for e in bench.store.events(ev.ItemRepaired) if e.verdict == "patch"}
    assert patched
    for ticket in patched:
        stages = [e.stage for e in bench.store.events(ev.StageTaken) if e.ticket == ticket]
        assert stages[stages.index("repair") + 1] == "check"


def test_every_item_takes_one_worker_of_its_stage_and_no_stage_has_more_than_k() -> None:
    bench = Bench(Reduction, workers=3, in_flight=8)
    bench.run()
    busy: dict[str, int] = {}
    for record in bench.store.records:
        match record.event:
            case ev.StageTaken(stage=stage):
                busy[stage] = busy.get(stage, 0) + 1
                assert busy[stage] <= 3
            case ev.StageEnded(stage=stage):
                busy[stage] -= 1
    assert bench.model.peak <= bench.concurrency
