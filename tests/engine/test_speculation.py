"""Candidates that are believed before their sweep is over, and what follows if that was wrong."""

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve import events as ev
from flashevolve.algorithms.gepa import GEPA
from flashevolve.artifact import Artifact
from flashevolve.engine.item import Needs
from flashevolve.engine.state import RunState
from flashevolve.engine.workflow import Stage
from flashevolve.errors import ConfigError
from flashevolve.llm.errors import LLMError, Transient
from flashevolve.llm.messages import Request
from flashevolve.llm.retry import RetryPolicy
from flashevolve.policies.control import Control
from flashevolve.policies.speculation import OFF, Speculation, n_first
from flashevolve.policies.staleness import Policy
from flashevolve.pools.pareto import ParetoPool, pareto
from flashevolve.store.codec import record_to_json
from tests.engine.test_properties import SLOW, drive, run
from tests.engine.test_resume import check_nothing_is_asked_twice, cut, state_that_matters
from tests.fakes.audit import Audit
from tests.fakes.planned import Planned, planned_bench
from tests.fakes.runs import Bench
from tests.fakes.workflows import Reduction

B = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0]
GOOD = [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
BAD = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
SLOW_TAIL = [1.0, 1.0, *[9.0] * 6]
"""The prefix takes a second, the rest until the ninth."""
QUARTER = Speculation(evaluate=0.25, reorder="none")
POLICIES: tuple[Policy, ...] = ("full", "guarded", "reflective")


def base() -> dict[str, Planned]:
    return {"B": Planned(scores=B)}


def changes(bench: Bench) -> list[tuple[str | None, int, bool]]:
    """Returns what each pool change was, with the version after it."""
    return [(e.speculation, e.version, e.bumped) for e in bench.store.events(ev.PoolChanged)][1:]


def ends(bench: Bench) -> dict[str, tuple[str, str]]:
    """Returns how each planned item ended, by name."""
    names = {e.ticket: e.payload["child"]["text"] for e in bench.store.events(ev.ItemSelected)}
    return {names[e.ticket]: (e.outcome, e.reason) for e in bench.store.events(ev.ItemEnded)}


def bests(bench: Bench) -> list[float]:
    """Returns the best mean after each record, folded anew; checks who is the best."""
    state = RunState(ParetoPool(), {}, lambda payload: payload)
    found = []
    for record in bench.store.records:
        state.apply(record)
        best = state.pool.best()
        if best is not None:
            assert best.status == "confirmed"
            found.append(best.mean)
    return found


def check_counters(bench: Bench) -> None:
    """At any time: each candidate that was believed was right, wrong, or is not decided yet."""
    state = RunState(ParetoPool(), {}, lambda payload: payload)
    for record in bench.store.records:
        state.apply(record)
        n, pool = state.counters, pareto(state.pool)
        early = [pool.unconfirmed(ticket) for ticket in state.in_flight]
        # The seed, which is put in unscored, is no guess.
        undecided = sum(c is not None and c.reference is not None for c in early)
        assert n["speculated"] == n["confirmed"] + n["demoted"] + n["retracted"] + undecided
    statuses = [c.status for c in state.pool.candidates.values() if c.reference is not None]
    assert statuses.count("retracted") - n["retracted"] in range(undecided + 1)


def check(bench: Bench, *, resumable: bool = False) -> None:
    """Every promise that the records alone can prove."""
    workflow = bench.fresh_workflow()
    book = Audit(bench, [stage.name for stage in workflow.stages], workflow.gate or "")
    book.writes = False
    book.check(bench.store.records)
    book.finished(resumable=resumable)
    assert bests(bench) == sorted(bests(bench))
    check_counters(bench)
    check_nothing_is_asked_twice(bench)


# -- the worked examples -----------------------------------------------------------------------


def test_a_lead_on_the_prefix_inserts_and_a_lead_on_all_confirms_without_a_bump() -> None:
    plan = base() | {"C": Planned(scores=GOOD, parent="B")}
    bench = planned_bench(plan, speculation=QUARTER)
    state = bench.run()
    assert changes(bench) == [("inserted", 2, True), ("confirmed", 2, False)]
    best = state.pool.best()
    assert best is not None
    assert (best.id, best.mean, best.status) == (1, 0.75, "confirmed")
    assert state.counters["admitted"] == 2
    assert state.counters["best"] == state.counters["front"] == 1
    check(bench)


def test_the_literal_rule_removes_what_misses_and_the_best_never_moves() -> None:
    plan = base() | {"C": Planned(scores=BAD, parent="B")}
    literal = Speculation(evaluate=0.25, reorder="none", confirm="mean")
    bench = planned_bench(plan, speculation=literal)
    state = bench.run()
    assert changes(bench) == [("inserted", 2, True), ("retracted", 3, True)]
    assert set(bests(bench)) == {0.5}
    assert state.pool.candidates[1].status == "retracted"
    assert ends(bench)["C"] == ("rejected", "candidate 1 missed its confirmation")
    assert state.counters["admitted"] == 1
    check(bench)


def test_what_misses_is_otherwise_admitted_by_the_workflows_own_rule() -> None:
    plan = base() | {"C": Planned(scores=BAD, parent="B")}
    bench = planned_bench(plan, speculation=QUARTER)
    state = bench.run()
    assert changes(bench) == [("inserted", 2, True), ("demoted", 3, True)]
    assert set(bests(bench)) == {0.5}
    missed = state.pool.candidates[1]
    assert (missed.status, missed.mean) == ("confirmed", 0.375)
    assert state.counters["admitted"] == state.counters["committed"] == 2
    check(bench)


def test_no_lead_on_the_prefix_inserts_nothing_and_commits_as_ever() -> None:
    full = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    plan = base() | {"C": Planned(scores=full, parent="B")}
    bench = planned_bench(plan, speculation=QUARTER)
    state = bench.run()
    assert changes(bench) == [(None, 2, True)]
    assert state.pool.candidates[1].mean == 0.75
    check(bench)


def test_the_prefix_is_fixed_whatever_finishes_first() -> None:
    """In the order s5, s8, s1, s2: the release waits for s1 and s2."""
    took_s = [3.0, 4.0, 5.0, 5.0, 1.0, 5.0, 5.0, 2.0]
    plan = base() | {"C": Planned(scores=GOOD, parent="B", example_s=took_s)}
    bench = planned_bench(plan, speculation=QUARTER)
    bench.run()
    records = bench.store.records
    t_s = {
        (r.event.artifact, r.event.example): r.t_s
        for r in records
        if isinstance(r.event, ev.OutcomeRecorded)
    }
    inserted = next(
        r for r in records if isinstance(r.event, ev.PoolChanged) and r.event.speculation
    )
    text = Artifact({"text": "C"}).hash
    assert inserted.t_s == t_s[text, "val-1"] > t_s[text, "val-0"] > t_s[text, "val-7"]
    assert set(inserted.event.ops[0]["scores"]) == {"val-0", "val-1"}  # type: ignore[union-attr]


def test_a_sweep_that_is_believed_costs_each_example_once() -> None:
    plan = base() | {"C": Planned(scores=GOOD, parent="B")}
    bench = planned_bench(plan, speculation=QUARTER, replicas=2)
    state = bench.run()
    assert state.ledger.spent["metric_calls"] == 2 * 2 * 8
    assert state.ledger.reserved["metric_calls"] == 0
    assert len(bench.store.events(ev.OutcomeRecorded)) == 2 * 2 * 8


# -- switched off ------------------------------------------------------------------------------


def test_without_fractions_the_log_is_that_of_an_engine_that_cannot_speculate() -> None:
    logs = []
    for speculation in (
        OFF,
        Speculation(confirm="mean", reorder="literal", window=1, perfect_score=0.0),
    ):
        bench = evolving("reflective", speculation)
        bench.run()
        logs.append([record_to_json(record) for record in bench.store.records])
    assert logs[0] == logs[1]
    words = ("n_sweeps", '"tail"', "tainted", "speculation", "missed", "tail_ended")
    assert not any(word in line for line in logs[0] for word in words)


def test_a_sweep_needs_a_pool_that_can_speculate() -> None:
    class Sweeping(Reduction):
        def check_stage(self) -> Stage[Any]:
            needs = Needs(shared=len(self.val_ids))
            return Stage(
                name="check", run=self.check, needs=lambda item, pool: needs, release="sweep"
            )

    bench = Bench(Sweeping, speculation=QUARTER)
    with pytest.raises(ConfigError, match=r"needs a pool that can speculate .*, found HeadPool"):
        bench.run()


# -- GEPA as it is -----------------------------------------------------------------------------


def rewriting(failing: float = 0.0) -> Any:
    """Answers every role of GEPA's; fails by chance."""

    def answer(request: Request, rng: Random) -> str | LLMError:
        asked = request.messages[-1].text
        if rng.random() < failing:
            return Transient("not now")
        if "Choose one verdict" in asked:
            kind = rng.choice(["accept", "discard", "patch"])
            patch = f'"components": {{"text": "patched {rng.randrange(10**6)}"}}'
            return f'{{"verdict": "{kind}", "reason": "so", {patch}}}'
        if request.messages[0].role == "system":
            return f"{asked} {request.messages[0].text}"
        return f"```\ntext {rng.randrange(10**9)}\n```"

    return answer


async def coin(example: Mapping[str, Any], output: Any) -> float:
    return float(Random(str(output)).random() > 0.5)


def evolving(policy: Policy, speculation: Speculation, **options: Any) -> Bench:
    given = {
        "n_val": 8,
        "n_test": 0,
        "answer": rewriting(),
        "score": coin,
        "budget": {"metric_calls": 120},
        "retry": RetryPolicy(max_attempts=2),
        "drive": drive,
        **options,
    }
    return Bench(
        lambda setup: GEPA(merge=False, skip_perfect=False).workflow(setup),
        policy=policy,
        speculation=speculation,
        **given,
    )


FRACTIONS = st.sampled_from([1.0, 0.5, 0.25, 0.1])
SPECULATIONS = st.builds(
    Speculation,
    rollout=FRACTIONS,
    evaluate=FRACTIONS,
    confirm=st.sampled_from(["demote", "mean"]),
    reorder=st.sampled_from(["discriminative", "literal", "none"]),
    window=st.integers(1, 3),
)

CONTROLS = st.sampled_from(
    [
        Control(),
        Control(mode="adaptive", k_max=4, tick_s=1.0),
        Control(mode="adaptive", k_min=2, k_max=3, tick_s=0.1, workers={"rollout": 2}),
        Control(mode="paper", k_max=4, tick_s=1.0, window_s=2.0),
    ]
)
ACCOUNTS = st.sampled_from([{}, {}, {"reflect": 1}, {"repair": 1}])


@st.composite
def evolutions(draw: st.DrawFn) -> Bench:
    budget: dict[str, Any] = {"metric_calls": draw(st.sampled_from([40, 80, 160]))}
    if draw(st.integers(0, 3)) == 0:
        budget["tokens"] = draw(st.integers(1_000, 60_000))
    return evolving(
        draw(st.sampled_from(POLICIES)),
        draw(SPECULATIONS),
        in_flight=draw(st.sampled_from([1, 4, 8])),
        workers=draw(st.integers(1, 4)),
        queue=draw(st.integers(1, 3)),
        concurrency=draw(st.sampled_from([1, 4, 16])),
        accounts=draw(ACCOUNTS),
        control=draw(CONTROLS),
        delta_max=draw(st.integers(0, 3)),
        replicas=draw(st.sampled_from([1, 1, 2])),
        answer=rewriting(draw(st.sampled_from([0.0, 0.0, 0.2]))),
        budget=budget,
        run_seed=draw(st.integers(0, 9)),
        n_test=draw(st.sampled_from([0, 2])),
        deadline_s=draw(st.sampled_from([None, None, 10.0, 30.0])),
        grace_s=draw(st.sampled_from([0.0, 5.0])),
        stops_s=draw(st.sampled_from([(), (), (8.0,), (8.0, 9.0)])),
    )


def check_evolution(bench: Bench, ended: str) -> None:
    check(bench, resumable=ended in ("stop", "RunStopped", "TaskError"))
    folded = bench.folded()
    assert folded.ledger.reserved["metric_calls"] == sum(
        flight.reserved.get("metric_calls", 0) + sum(n for n, _ in flight.tails.values())
        for flight in folded.in_flight.values()
    )
    open_tickets = folded.in_flight.keys()
    pool = pareto(folded.pool)
    for candidate in pool.candidates.values():
        if candidate.status == "speculative":
            assert candidate.ticket in open_tickets
        if candidate.status == "confirmed":
            assert set(candidate.scores) == {f"val-{i}" for i in range(8)}
    recorded = [
        (e.artifact, e.example, e.replica)
        for e in bench.store.events(ev.OutcomeRecorded)
        if not e.fresh
    ]
    assert len(recorded) == len(set(recorded))
    again = ParetoPool.load(pool.dump())
    assert again.dump() == pool.dump()
    assert again.parent_weights == pool.parent_weights
    check_scores_are_those_of_their_ids(bench, pool)


def check_scores_are_those_of_their_ids(bench: Bench, pool: ParetoPool) -> None:
    by_id: dict[tuple[str, str], list[float]] = {}
    for e in bench.store.events(ev.OutcomeRecorded):
        if not e.fresh:
            by_id.setdefault((e.artifact, e.example), []).append(e.score)
    for candidate in pool.candidates.values():
        for example, score in candidate.scores.items():
            found = by_id[candidate.artifact.hash, example]
            assert score == pytest.approx(sum(found) / len(found))


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(evolutions())
def test_every_promise_holds_however_much_is_believed_early(bench: Bench) -> None:
    check_evolution(bench, run(bench))


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(evolutions(), st.lists(st.floats(0, 1), min_size=1, max_size=3))
def test_a_run_that_believes_survives_any_kills(bench: Bench, kills: list[float]) -> None:
    run(bench)
    n_records = 0
    fields = {n: getattr(bench, n) for n in bench.__dataclass_fields__}
    for at in kills:
        places = [b for b in bench.store.boundaries if b >= n_records]
        n_records = places[int(at * (len(places) - 1))]
        again = Bench(**fields)
        again.store = cut(bench, n_records)
        check_evolution(again, run(again))
        bench = again


@pytest.mark.parametrize(("confirm", "missed"), [("demote", "demoted"), ("mean", "retracted")])
def test_one_step_at_a_time_ends_the_same_wherever_it_is_killed(confirm: Any, missed: str) -> None:
    speculation = Speculation(rollout=0.5, evaluate=0.5, confirm=confirm)
    options = {"in_flight": 1, "budget": {"proposals": 14}, "n_val": 4, "run_seed": 2}

    def new() -> Bench:
        return evolving("reflective", speculation, **options)

    whole = new()
    expected = state_that_matters(whole.run())
    assert expected["counters"]["confirmed"] == expected["counters"][missed] == 1
    for n_records in whole.store.boundaries[::9]:
        bench = new()
        bench.store = cut(whole, n_records)
        found = state_that_matters(bench.run())
        assert {**found, "spent": 0} == {**expected, "spent": 0}
        check_nothing_is_asked_twice(bench)


def test_the_log_folded_again_and_a_dump_read_again_give_the_same_state() -> None:
    speculation = Speculation(rollout=0.5, evaluate=0.25)
    bench = evolving("reflective", speculation, stops_s=(12.0, 12.5), budget={"proposals": 99})
    state = bench.run()
    statuses = {c.status for c in state.pool.candidates.values()}
    assert "speculative" in statuses or any(f.tails for f in state.in_flight.values())
    dumped = state.dump(vars)
    assert bench.folded().dump(vars) == dumped
    workflow = bench.fresh_workflow()
    pool = ParetoPool.load(dumped["pool"])
    loaded = RunState.load(dumped, pool, {}, lambda p: type(workflow).payload(**p))
    assert loaded.dump(vars) == dumped


# -- rollouts ----------------------------------------------------------------------------------


def test_a_rollout_goes_on_with_its_prefix_and_what_comes_later_only_costs() -> None:
    bench = evolving("full", Speculation(rollout=0.5))
    state = bench.run()
    released = [e for e in bench.store.events(ev.StageEnded) if e.tail is not None]
    assert released
    selected = {e.ticket: e for e in bench.store.events(ev.ItemSelected)}
    for event in released:
        assert event.stage == "rollout"
        assert event.payload is not None
        chosen = selected[event.ticket].payload["examples"]
        assert event.payload["examples"] == chosen[: n_first(0.5, len(chosen))]
        assert set(event.payload["base_scores"]) == set(event.payload["examples"])
        proposed = [
            e
            for e in bench.store.events(ev.StageEnded)
            if (e.ticket, e.stage) == (event.ticket, "propose") and e.proposals
        ]
        assert len(proposed) <= 1
    settled = {(e.ticket, e.visit): e for e in bench.store.events(ev.TailEnded)}
    assert settled.keys() == {(e.ticket, e.visit) for e in released}
    spent = sum(e.metric_calls for e in bench.store.events(ev.StageEnded))
    spent += sum(e.metric_calls for e in settled.values())
    assert spent == state.ledger.spent["metric_calls"]
    assert len(bench.store.events(ev.OutcomeRecorded)) <= spent
    check(bench)


def test_an_item_that_ends_first_cuts_its_tail_in_the_same_transaction() -> None:
    async def agent(artifact: Mapping[str, str], example: Any, ctx: Any) -> str:
        place = int(example.id.split("-")[1])
        await ctx.chat("task", f"{artifact['text']} {example.id}")
        if example.id.startswith("train") and place % 2:
            await asyncio.sleep(500.0)
        return f"{artifact['text']} {example.id}"

    bench = evolving("full", Speculation(rollout=0.3), agent=agent, budget={"proposals": 8})
    bench.run()
    events = [r.event for r in bench.store.records]
    cut_ones = [
        e
        for i, e in enumerate(events)
        if isinstance(e, ev.TailEnded)
        and any(isinstance(f, ev.ItemEnded) and f.ticket == e.ticket for f in events[i : i + 3])
    ]
    assert cut_ones
    check(bench)
