"""What becomes of what comes from a candidate that missed, and how a sweep runs its examples."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.algorithms.gepa.sources import Step
from flashevolve.engine.item import Item
from flashevolve.engine.workflow import Stage, StageContext
from flashevolve.llm.messages import Request, user
from flashevolve.policies.speculation import Speculation
from flashevolve.policies.staleness import Policy
from tests.engine.test_resume import check_nothing_is_asked_twice, cut
from tests.engine.test_speculation import (
    BAD,
    GOOD,
    POLICIES,
    QUARTER,
    SLOW_TAIL,
    B,
    base,
    changes,
    check,
    ends,
)
from tests.fakes.planned import Planned, PlannedWorkflow, planned_bench
from tests.fakes.runs import Bench

# -- what was derived meanwhile ----------------------------------------------------------------


def family(child: Sequence[float] = GOOD, **timing: Any) -> dict[str, Planned]:
    """C is believed from second 2 to 10 and misses; D is derived from it meanwhile."""
    return base() | {
        "C": Planned(scores=BAD, parent="B", example_s=SLOW_TAIL),
        "D": Planned(scores=child, parent="C", **timing),
    }


def verdicts(*said: str) -> Any:
    """Answers the repairing model's questions in turn."""
    rest = iter(said)
    return lambda request, rng: next(rest)


ACCEPT = '{"verdict": "accept", "reason": "good"}'
PATCH = '{"verdict": "patch", "reason": "better", "components": {"text": "E"}}'


def test_guarded_discards_at_the_gate_what_comes_from_a_missed_candidate() -> None:
    bench = planned_bench(family(screen_s=20.0), policy="guarded", speculation=QUARTER)
    bench.run()
    reason = "tainted: candidate 1, which it comes from, missed"
    assert ends(bench)["D"] == ("discarded", reason)
    assert bench.store.events(ev.GapChecked)[-1].tainted
    check(bench)


def test_full_lets_the_full_validation_decide_but_does_not_believe_it_early() -> None:
    bench = planned_bench(family(screen_s=20.0), policy="full", speculation=QUARTER)
    state = bench.run()
    assert changes(bench)[2:] == [(None, 4, True)]
    assert state.pool.best() == state.pool.candidates[2]
    check(bench)


@pytest.mark.parametrize(("said", "parents"), [(ACCEPT, (1,)), (PATCH, (0,))])
def test_reflective_repairs_it_onto_the_best_confirmed(said: str, parents: tuple[int, ...]) -> None:
    plan = family(screen_s=20.0) | {"E": Planned(scores=GOOD, parent="nobody")}
    bench = planned_bench(plan, policy="reflective", speculation=QUARTER, answer=verdicts(said))
    state = bench.run()
    assert [e.verdict for e in bench.store.events(ev.GapChecked)][2] == "repair"
    assert state.pool.candidates[2].parents == parents
    check(bench)


def test_reflective_discards_what_was_repaired_before_its_parent_missed() -> None:
    """X makes D stale, so that it is repaired; then it waits for a worker until C misses."""
    plan = base() | {
        "C": Planned(scores=BAD, parent="B", example_s=SLOW_TAIL),
        "X": Planned(scores=B[::-1], parent="B", example_s=[2.5] * 8),
        "Y": Planned(scores=B, parent="B", example_s=[30.0] * 8),
        "D": Planned(scores=GOOD, parent="C", screen_s=3.0),
    }
    bench = planned_bench(
        plan,
        policy="reflective",
        workers=2,
        speculation=QUARTER,
        answer=verdicts(ACCEPT),
        latency_s=lambda rng: 1.0,
    )
    bench.run()
    assert [e.verdict for e in bench.store.events(ev.ItemRepaired)] == ["accept"]
    assert ends(bench)["D"] == ("discarded", "tainted: candidate 1, which it comes from, missed")
    assert bench.store.events(ev.ItemRecalled) == []
    check(bench)


def queued(policy: Policy, **options: Any) -> Bench:
    """D passes the gate and waits for the only worker, which C holds until it misses."""
    return planned_bench(family(), policy=policy, workers=1, speculation=QUARTER, **options)


def test_guarded_discards_what_waits_for_its_sweep_when_its_parent_misses() -> None:
    bench = queued("guarded")
    bench.run()
    assert ends(bench)["D"][0] == "discarded"
    assert ends(bench)["D"][1].startswith("tainted: candidate 1")
    assert [e.ticket for e in bench.store.events(ev.StageTaken) if e.stage == "evaluate"] == [1, 2]
    check(bench)


def test_reflective_recalls_what_waits_for_its_sweep_and_lets_it_go_on_once_accepted() -> None:
    bench = queued("reflective", answer=verdicts(ACCEPT))
    bench.run()
    (recalled,) = bench.store.events(ev.ItemRecalled)
    assert (recalled.ticket, recalled.stage, recalled.to) == (3, "evaluate", "repair")
    assert ends(bench)["D"] == ("committed", "")
    stages = [e.stage for e in bench.store.events(ev.StageTaken) if e.ticket == 3]
    assert stages == ["screen", "repair", "evaluate"]
    check(bench)


def test_full_takes_it_as_it_is() -> None:
    bench = queued("full")
    bench.run()
    assert ends(bench)["D"] == ("committed", "")
    assert bench.store.events(ev.ItemRecalled) == []
    check(bench)


def test_a_speculative_child_falls_with_its_parent_finishes_and_is_judged_by_all_scores() -> None:
    slower = [1.0, 1.0, *[30.0] * 6]
    plan = family([1.0] * 8, example_s=slower)
    for policy in POLICIES:
        for confirm, outcome in (("demote", "committed"), ("mean", "committed")):
            speculation = Speculation(evaluate=0.25, reorder="none", confirm=confirm)  # type: ignore[arg-type]
            bench = planned_bench(plan, policy=policy, speculation=speculation)
            state = bench.run()
            steps = [kind for kind, _, _ in changes(bench)]
            assert steps[:2] == ["inserted", "inserted"]
            assert steps[3] == "confirmed"
            fallen = bench.store.events(ev.PoolChanged)[3]
            assert {"op": "retract", "id": 2} in fallen.ops
            assert fallen.tainted == [3]
            assert ends(bench)["D"][0] == outcome
            best = state.pool.best()
            assert best is not None
            assert best.artifact["text"] == "D"
            check(bench)


@pytest.mark.parametrize("confirm", ["demote", "mean"])
def test_a_child_that_fell_with_its_parent_and_is_no_good_counts_as_retracted(confirm: Any) -> None:
    plan = family([1.0, 1.0, *[0.0] * 6], example_s=[1.0, 1.0, *[30.0] * 6])
    speculation = Speculation(evaluate=0.25, reorder="none", confirm=confirm)
    bench = planned_bench(plan, policy="guarded", speculation=speculation)
    n = bench.run().counters
    assert n["speculated"] == n["demoted"] + n["retracted"] == 2
    assert n["retracted"] == (2 if confirm == "mean" else 0)
    check(bench)


def test_a_confirmed_child_stays_when_its_parent_misses() -> None:
    plan = family([1.0] * 8, example_s=[0.5] * 8)
    literal = Speculation(evaluate=0.25, reorder="none", confirm="mean")
    bench = planned_bench(plan, speculation=literal)
    state = bench.run()
    assert [c.status for c in state.pool.candidates.values()] == [
        "confirmed",
        "retracted",
        "confirmed",
    ]
    check(bench)


def test_a_step_that_is_cut_takes_its_speculative_candidate_with_it() -> None:
    bench = planned_bench(family(), speculation=QUARTER, deadline_s=5.0, grace_s=1.0)
    state = bench.run()
    assert state.pool.candidates[1].status == "retracted"
    cut_ones = [e.speculation for e in bench.store.events(ev.PoolChanged)]
    assert cut_ones[-1] == "retracted"
    assert ends(bench)["C"][0] == "dropped"
    check(bench)


def test_nothing_is_believed_once_the_run_drains() -> None:
    plan = base() | {"C": Planned(scores=GOOD, parent="B", example_s=SLOW_TAIL)}
    bench = planned_bench(plan, speculation=QUARTER, deadline_s=2.5, grace_s=60.0)
    bench.run()
    assert changes(bench) == [(None, 2, True)]


# -- order -------------------------------------------------------------------------------------


def order_of(bench: Bench, ticket: int) -> list[str]:
    """Returns the examples of an item's sweep, in the order in which they were done."""
    return [e.example for e in bench.store.events(ev.OutcomeRecorded) if e.ticket == ticket]


def test_a_sweep_begins_with_what_earlier_sweeps_did_not_solve_each_time() -> None:
    names = ["C", "D", "E", "F"]
    scores = [1.0, 0.5, 0.0, 0.0]
    plan: dict[str, Planned] = {"B": Planned(scores=scores)}
    for before, name in zip(["B", *names], names, strict=False):
        plan[name] = Planned(scores=scores, parent=before)
    literal = Speculation(evaluate=0.5, reorder="literal", window=3)
    bench = planned_bench(plan, speculation=literal, concurrency=1)
    bench.run()
    first = [order_of(bench, ticket)[0] for ticket in range(1, 6)]
    assert first == ["val-0", "val-0", "val-0", "val-1", "val-1"]
    assert [e.n_sweeps for e in bench.store.events(ev.StageTaken) if e.stage == "evaluate"] == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip
    for candidate in bench.folded().pool.candidates.values():
        assert dict(candidate.scores) == {f"val-{i}": s for i, s in enumerate(scores)}


def test_a_sweep_keeps_the_order_of_its_start_over_a_kill() -> None:
    plan = base() | {
        "C": Planned(scores=GOOD, parent="B", example_s=[5.0] * 8),
        "D": Planned(scores=BAD, parent="B", example_s=[1.0] * 8),
    }
    speculation = Speculation(evaluate=0.25, reorder="discriminative")
    whole = planned_bench(plan, speculation=speculation)
    whole.run()
    done = next(
        i
        for i, r in enumerate(whole.store.records, 1)
        if isinstance(r.event, ev.ItemEnded) and r.event.ticket == 3
    )
    bench = planned_bench(plan, speculation=speculation)
    bench.store = cut(whole, done)
    bench.run()
    seen = [e.n_sweeps for e in bench.store.events(ev.StageTaken) if e.ticket == 2]
    assert [n for n in seen if n is not None] == [1, 1]
    inserted = [e for e in bench.store.events(ev.PoolChanged) if e.speculation == "inserted"]
    assert set(inserted[-1].ops[0]["scores"]) == {"val-0", "val-1"}
    check(bench)


# -- stages that ask models themselves -----------------------------------------------------------


class Asking(PlannedWorkflow):
    """Has a model score each example, in a map of the stage's own."""

    def __init__(self, setup: Any) -> None:
        plan = {n: Planned(scores=[0.0] * 8, parent=p) for n, p in (("B", None), ("C", "B"))}
        super().__init__(plan, setup)
        self.stages = (Stage(name="evaluate", run=self.judge, release="sweep"),)

    gate = None

    async def judge(self, item: Item[Step], ctx: StageContext) -> Item[Step]:
        name = (item.payload.child or {})["text"]
        await ctx.chat("judge", [user(f"{name}: what counts?")])

        async def one(example: str, ctx: StageContext) -> float:
            return float((await ctx.chat("judge", [user(f"{name}: score {example}")])).text)

        scores = await ctx.map(one, self.setup.val_ids)
        await ctx.chat("judge", [user(f"{name}: {len(scores)} scored")])
        return item.with_payload(scores=scores)


def judged(request: Request, rng: Random) -> str:
    return "1" if request.messages[-1].text.startswith("C: score") else "0"


def test_a_stage_that_asks_models_is_run_again_and_asks_nothing_again() -> None:
    bench = Bench(Asking, n_val=8, speculation=QUARTER, answer=judged)
    state = bench.run()
    assert changes(bench) == [("inserted", 2, True), ("confirmed", 2, False)]
    assert state.pool.candidates[1].mean == 1.0
    asked = [e.request["messages"][-1]["content"] for e in bench.store.events(ev.CallReserved)]
    texts = [a if isinstance(a, str) else a[0]["text"] for a in asked]
    of_c = [text for text in texts if text.startswith("C: ")]
    assert len(of_c) == len(set(of_c)) == 1 + 8 + 2
    assert "C: 2 scored" in of_c
    assert "C: 8 scored" in of_c
    for n_records in bench.store.boundaries:
        again = Bench(Asking, n_val=8, speculation=QUARTER, answer=judged)
        again.store = cut(bench, n_records)
        again.run()
        assert changes(again) == changes(bench)
        check_nothing_is_asked_twice(again)


def test_a_sweep_that_is_over_when_its_prefix_is_judged_leaves_nothing_to_believe() -> None:
    """The stage has more to do with the prefix; meanwhile the rest comes in."""

    class Dawdling(Asking):
        async def judge(self, item: Item[Step], ctx: StageContext) -> Item[Step]:
            done = await super().judge(item, ctx)
            await asyncio.sleep(30.0)
            return done

    bench = Bench(Dawdling, n_val=8, speculation=QUARTER, answer=judged)
    state = bench.run()
    assert changes(bench) == [(None, 2, True)]
    assert state.counters["speculated"] == 0
    assert state.pool.candidates[1].mean == 1.0
    check_nothing_is_asked_twice(bench)
