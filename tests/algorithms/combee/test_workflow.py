from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from pydantic import TypeAdapter

from flashevolve import events as ev
from flashevolve.algorithms.combee import Combee
from flashevolve.algorithms.combee.sources import CombeeStep, timed
from flashevolve.algorithms.combee.workflow import CombeeWorkflow
from flashevolve.algorithms.gepa import GEPA
from flashevolve.artifact import Artifact
from flashevolve.engine.item import Commit, End, Item, Minimum, Needs
from flashevolve.engine.workflow import Setup
from flashevolve.llm.errors import LLMError
from flashevolve.llm.messages import Message, Request
from flashevolve.policies.batch import choose_size
from flashevolve.pools.pareto import put
from tests.engine.test_resume import cut
from tests.fakes.context import FakeContext, run_stages, started, step
from tests.fakes.runs import Bench, echo

TRAIN, VAL = tuple(f"t{i:02d}" for i in range(40)), tuple(f"v{i}" for i in range(6))


def workflow_of(config: Combee, n_train: int = 40, **seed: str) -> CombeeWorkflow:
    texts = Artifact(seed or {"system": "seed"})
    return config.workflow(Setup(seed=texts, train_ids=TRAIN[:n_train], val_ids=VAL))


def is_reduce(messages: Sequence[Message]) -> bool:
    return "Their versions:" in messages[0].text


class Scribe:
    """A reflecting model whose proposals are numbered, and which reduces to `child`."""

    def __init__(self, child: str = "child") -> None:
        self.child, self.n = child, 0

    def __call__(self, messages: Sequence[Message]) -> str:
        if is_reduce(messages):
            return f"```\n{self.child}\n```"
        self.n += 1
        return f"```\nproposal {self.n}\n```"


def seeded(workflow: CombeeWorkflow, answer: Any = None) -> FakeContext:
    pool = workflow.new_pool()
    ctx = FakeContext(
        pool,
        score=lambda artifact, split, example: float("child" in " ".join(artifact.values())),
        answer=answer or Scribe(),
    )
    assert isinstance(step(workflow, pool, ctx, Random(0)), Commit)
    ctx.evaluations.clear()
    return ctx


def inputs_in(text: str) -> list[str]:
    return [line.removeprefix("the input of ") for line in text.splitlines() if "input of" in line]


# -- the tree ------------------------------------------------------------------------------------


def test_ten_reflections_take_four_calls_over_groups_of_seven_seven_and_six() -> None:
    workflow = workflow_of(Combee(batch=10))
    ctx = seeded(workflow)
    commit = step(workflow, ctx.pool, ctx, Random(1), 2)
    assert isinstance(commit, Commit)
    *groups, reduction = [chat.messages[0].text for chat in ctx.chats]
    assert [len(inputs_in(text)) for text in groups] == [7, 7, 6]
    copies = Counter(e for text in groups for e in inputs_in(text))
    batch = ctx.evaluations[0].example_ids
    assert copies == dict.fromkeys(batch, 2)
    assert len(batch) == 10
    assert inputs_in(reduction) == [], "raw records never reach the reduction"
    for shown in ("seed", "proposal 1", "proposal 2", "proposal 3"):
        assert f"```\n{shown}\n```" in reduction
    assert [chat.name for chat in ctx.chats] == ["", "", "", "reduce"]
    assert {chat.role for chat in ctx.chats} == {"reflect"}
    assert dict(ctx.pool.candidates[1].artifact) == {"system": "child"}


def test_three_reflections_take_the_one_call_that_gepa_makes() -> None:
    config = Combee(batch=3)
    workflow = workflow_of(config)
    ctx = seeded(workflow, lambda messages: "```\nchild\n```")
    assert isinstance(step(workflow, ctx.pool, ctx, Random(1), 2), Commit)
    gepas = GEPA().workflow(workflow.setup)
    pool = gepas.new_pool()
    other = FakeContext(pool, score=ctx.score, answer=ctx.answer)
    step(gepas, pool, other, Random(0))
    step(gepas, pool, other, Random(1), 2)
    assert ctx.chats == other.chats
    assert len(ctx.chats) == 1


def test_every_component_has_a_tree_of_its_own_and_none_is_lost() -> None:
    workflow = workflow_of(Combee(batch=10, components="all"), a="A", b="B", c="C")
    ctx = seeded(workflow)
    assert isinstance(step(workflow, ctx.pool, ctx, Random(1), 2), Commit)
    assert len(ctx.chats) == 3 * (3 + 1)
    assert dict(ctx.pool.candidates[1].artifact) == {"a": "child", "b": "child", "c": "child"}


def test_what_is_not_rewritten_stays() -> None:
    workflow = workflow_of(Combee(batch=10), a="A", b="B")
    ctx = seeded(workflow)
    step(workflow, ctx.pool, ctx, Random(1), 2)
    assert dict(ctx.pool.candidates[1].artifact) == {"a": "child", "b": "B"}


@pytest.mark.parametrize("where", ["group", "reduction"])
def test_a_reply_without_a_fence_is_asked_for_once_more(where: str) -> None:
    class Forgetful(Scribe):
        forgot = False

        def __call__(self, messages: Sequence[Message]) -> str:
            if not self.forgot and is_reduce(messages) == (where == "reduction"):
                self.forgot = True
                return "Let me think."
            return super().__call__(messages)

    workflow = workflow_of(Combee(batch=10))
    ctx = seeded(workflow, Forgetful())
    assert isinstance(step(workflow, ctx.pool, ctx, Random(1), 2), Commit)
    assert len(ctx.chats) == 5
    again = "again" if where == "group" else "reduce-again"
    assert [chat.name for chat in ctx.chats].count(again) == 1


def test_one_group_without_a_usable_reply_skips_the_step() -> None:
    workflow = workflow_of(Combee(batch=10))
    ctx = seeded(workflow, lambda messages: "Let me think.")
    end = step(workflow, ctx.pool, ctx, Random(1), 2)
    assert isinstance(end, End)
    assert (end.outcome, end.useless) == ("skipped", True)


def test_needs_and_minimum_are_those_of_the_batch() -> None:
    workflow = workflow_of(Combee(batch=10))
    ctx = seeded(workflow)
    item, _ = started(workflow, ctx.pool, Random(1))
    rollout, propose, *_ = workflow.stages
    assert rollout.needs(item, ctx.pool) == Needs(metric_calls=10)
    assert propose.needs(item, ctx.pool) == Needs(proposals=1)
    why = "6 for the seed on val, 2 x 10 and 6 for one step"
    assert workflow.minimum() == Minimum(metric_calls=20, shared=12, seed=6, proposals=1, why=why)


def test_payloads_survive_json() -> None:
    workflow = workflow_of(Combee(batch=10))
    ctx = seeded(workflow)
    codec = TypeAdapter(workflow.payload)
    item, _ = started(workflow, ctx.pool, Random(1))
    rolled = run_stages(workflow, item, ctx, "rollout", "rollout")
    assert isinstance(rolled, Item)
    assert len(rolled.payload.reflections) == 10
    for payload in (item.payload, rolled.payload):
        assert codec.validate_json(codec.dump_json(payload)) == payload


# -- whole runs ----------------------------------------------------------------------------------


def answering(request: Request, rng: Random) -> str | LLMError:
    said = echo(request, rng)
    is_verdict = isinstance(said, LLMError) or said.startswith("{")
    return said if is_verdict else f"```\n{rng.randrange(10**9)}\n```"


def bench(config: Combee, **changes: Any) -> Bench:
    defaults: dict[str, Any] = {
        "answer": answering,
        "agent": lambda artifact, example: f"{dict(artifact)} {example['input']}",
        "score": lambda example, output: Random(output).random(),
        "n_val": 4,
        "budget": {"metric_calls": 200},
    }
    return Bench(config.workflow, **{**defaults, **changes})


@pytest.mark.parametrize("policy", ["full", "guarded", "reflective"])
@pytest.mark.parametrize("batch", [4, "dynamic"])
def test_a_run_conserves_its_steps_and_stays_within_its_budget(batch: Any, policy: Any) -> None:
    state = bench(Combee(batch=batch, batch_trials=(2, 4)), policy=policy).run()
    assert state.ledger.spent["metric_calls"] <= 200
    conserved = state.conservation()
    assert conserved.pop("created") == sum(conserved.values())
    assert len(state.pool.candidates) > 2
    assert bool(state.counters["repaired"]) == (policy == "reflective")
    assert all(set(c.artifact) == {"text"} for c in state.pool.candidates.values())


def ten_seconds(rng: Random) -> float:
    """Every call takes 10 s, however much it holds."""
    return 10.0


def sizes_of(run: Bench) -> list[tuple[str, int]]:
    return [
        (r.event.source, len(r.event.payload["examples"]))
        for r in run.store.records
        if isinstance(r.event, ev.ItemSelected) and r.event.source != "seed"
    ]


DYNAMIC = Combee(batch="dynamic", batch_trials=(2, 4), skip_perfect=False)


def test_a_dynamic_batch_tries_each_size_alone_and_then_takes_the_one_chosen() -> None:
    run = bench(DYNAMIC, latency_s=ten_seconds)
    state = run.run()
    (first, n_first), (second, n_second), *rest = sizes_of(run)
    assert (first, second) == ("trial", "trial")
    pool: Any = state.pool
    timed = pool.state["batch.timed"]
    assert {size: n for size, (n, _) in timed.items()} == {"2": n_first, "4": n_second}
    assert {source for source, _ in rest} == {"mutate"}
    epochs_s = {n: seconds * 5 / n for n, seconds in timed.values()}
    chosen = choose_size(epochs_s, None, largest=5)
    assert chosen > n_first, "a call takes as long however much it holds"
    # Padding may repeat examples, which count once.
    assert max(n for _, n in rest) == chosen
    assert_trials_run_alone(run)


def assert_trials_run_alone(run: Bench) -> None:
    under_way: dict[int, str] = {}
    n_trials = 0
    for record in run.store.records:
        match record.event:
            case ev.ItemSelected(ticket=ticket, source=source):
                assert not (under_way and source == "trial"), "a trial starts beside nothing"
                assert "trial" not in under_way.values(), "nothing starts beside a trial"
                under_way[ticket] = source
                n_trials += source == "trial"
            case ev.ItemEnded(ticket=ticket):
                del under_way[ticket]
    assert n_trials >= 2


def test_nothing_starts_beside_the_last_try_of_a_trial_that_is_given_up() -> None:
    slow_and_perfect: dict[str, Any] = {"agent": None, "perfect_score": 0.0}
    config = Combee(batch="dynamic", batch_trials=(2, 4))
    run = bench(config, latency_s=ten_seconds, budget={"metric_calls": 60}, **slow_and_perfect)
    pool: Any = run.run().pool
    assert pool.state["batch.tried"] == {"2": 3, "4": 3}
    assert "mutate" in {source for source, _ in sizes_of(run)}
    assert_trials_run_alone(run)


def test_merges_wait_for_the_trials_and_admitted_trials_make_them_due() -> None:
    config = Combee(
        batch="dynamic", batch_trials=(2, 3, 4, 5), merge=True, merge_overlap_floor=1,
        skip_perfect=False,
    )  # fmt: skip
    n_early = 0
    for seed in range(6):
        texts = Artifact({"text": "seed", "more": "seed"})
        run = bench(config, latency_s=ten_seconds, seed=texts, run_seed=seed)
        run.run()
        assert_trials_run_alone(run)
        order = [source for source, _ in sizes_of(run)]
        if "merge" in order:
            first_merge = order.index("merge")
            n_early += "mutate" not in order[:first_merge]
            assert "trial" in order[:first_merge]
    assert n_early, "an admitted trial made it due"


def test_a_trial_is_timed_without_waiting_in_queues_and_without_the_full_validation() -> None:
    run = bench(DYNAMIC, latency_s=ten_seconds)
    state = run.run()
    took: dict[tuple[int, str], float] = {}
    trials: dict[int, int] = {}
    for r in run.store.records:
        match r.event:
            case ev.ItemSelected(ticket=ticket, source="trial", payload=payload):
                trials[ticket] = payload["trial"]
            case ev.StageTaken(ticket=ticket, stage=stage) if ticket in trials:
                took[ticket, stage] = -r.t_s
            case ev.StageEnded(ticket=ticket, stage=stage) if ticket in trials:
                took[ticket, stage] += r.t_s
    expected = {
        str(size): sum(
            seconds for (t, stage), seconds in took.items() if t == ticket and stage != "evaluate"
        )
        for ticket, size in trials.items()
    }
    pool: Any = state.pool
    timed = {size: seconds for size, (_, seconds) in pool.state["batch.timed"].items()}
    assert timed == pytest.approx(expected)


def test_a_trial_that_goes_on_early_counts_for_the_batch_that_it_began_with() -> None:
    step = CombeeStep(parents=(0,), examples=("t0", "t1"), trial=4, n_drawn=4)
    worked_s = {"rollout": 1.0, "propose": 2.0, "screen": 3.0}
    once = put("batch.tried", {"4": 1})
    assert timed(step, worked_s, {}) == (once, put("batch.timed", {"4": [4, 6.0]}))
    assert timed(step, {"rollout": 1.0}, {}) == (once,)
    assert timed(CombeeStep(parents=(0,)), worked_s, {}) == ()


def test_what_the_trials_showed_survives_a_resume() -> None:
    run = bench(DYNAMIC, latency_s=ten_seconds, in_flight=1)
    run.stops_s = (15.0,)
    state = run.run()
    assert run.reason == "stop"
    pool: Any = state.pool
    before = dict(pool.state["batch.timed"])
    assert set(before) == {"2"}
    run.stops_s = ()
    pool = run.run().pool
    assert pool.state["batch.timed"]["2"] == before["2"]
    sources = [source for source, _ in sizes_of(run)]
    assert sources.count("trial") == 2
    assert run.folded().pool.dump() == pool.dump()


def test_a_trial_that_a_kill_interrupts_is_run_again_instead_of_timed_from_its_journal() -> None:
    budget = {"metric_calls": 60}
    whole = bench(DYNAMIC, latency_s=ten_seconds, budget=budget)
    whole.run()
    n_again = 0
    for n_records in whole.store.boundaries[::3]:
        run = bench(DYNAMIC, latency_s=ten_seconds, budget=budget)
        run.store = cut(whole, n_records)
        pool: Any = run.run().pool
        timed = pool.state["batch.timed"]
        assert all(seconds >= 10.0 for _, seconds in timed.values())
        n_again += sum(pool.state["batch.tried"].values()) > 2
    assert n_again > 2


def test_a_trial_that_never_gets_as_far_as_its_screening_is_given_up_after_three_tries() -> None:
    run = bench(DYNAMIC, perfect_score=0.0, budget={"metric_calls": 60})
    run.workflow = Combee(batch="dynamic", batch_trials=(2, 4)).workflow
    state = run.run()
    pool: Any = state.pool
    assert "batch.timed" not in pool.state
    assert pool.state["batch.tried"] == {"2": 3, "4": 3}
    later = sizes_of(run)[6:]
    assert {source for source, _ in later} == {"mutate"}
    assert max(n for _, n in later) == 2, "the smallest"


def test_a_fixed_batch_has_no_trials() -> None:
    run = bench(Combee(batch=4))
    state = run.run()
    pool: Any = state.pool
    assert {source for source, _ in sizes_of(run)} == {"mutate"}
    assert "batch.tried" not in pool.state
    ended = [r.event for r in run.store.records if isinstance(r.event, ev.ItemEnded)]
    assert all(not event.ops for event in ended)
