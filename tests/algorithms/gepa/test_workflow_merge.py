"""The steps of GEPA that merge two candidates."""

import json
from random import Random

import pytest
from pydantic import TypeAdapter

from flashevolve import events as ev
from flashevolve.algorithms.gepa import GEPA
from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
from flashevolve.artifact import Artifact
from flashevolve.engine.item import Commit, End, Item, Needs
from flashevolve.llm.messages import Request
from flashevolve.pools.pareto import insert, put
from tests.algorithms.gepa.test_workflow import (
    VAL,
    by_text,
    next_step,
    pool_of,
    says,
    seeded,
    workflow_of,
)
from tests.fakes.context import FakeContext, repaired, run_stages, started
from tests.fakes.runs import Bench

MERGING = GEPA(merge=True)


def family(ctx: FakeContext) -> None:
    """Two candidates that improved different components, each best on half of the examples."""
    for texts, low in ((("1", "0"), "v0 v1 v2"), (("0", "2"), "v3 v4 v5")):
        scores = {e: 0.25 if e in low else 0.75 for e in VAL}
        artifact = Artifact({"a": texts[0], "b": texts[1]})
        op = insert(artifact, parents=(0,), scores=scores, ticket=9)
        ctx.pool.apply([op, put("merge.due", 1)], version=ctx.pool.version + 1)


def merging(scores: dict[str, float], config: GEPA = MERGING) -> tuple[GEPAWorkflow, FakeContext]:
    workflow = workflow_of(config, a="0", b="0")
    ctx = seeded(workflow, scores, *["```\nnever better\n```"] * 9)
    family(ctx)
    return workflow, ctx


def test_a_due_merge_goes_straight_to_the_gate_and_uses_up_one() -> None:
    workflow, ctx = merging({"1 2": 0.75})
    item, enter = started(workflow, ctx.pool, Random(0))
    assert (item.source, enter, item.lineage) == ("merge", "screen", (1, 2))
    assert pool_of(ctx).state["merge.due"] == 0
    assert workflow.artifact(item) == Artifact({"a": "1", "b": "2"})
    _, _, screen, evaluate = workflow.stages
    assert screen.needs(item, ctx.pool) == Needs(shared=5)
    assert evaluate.needs(item, ctx.pool) == Needs(shared=1)
    result = run_stages(workflow, item, ctx, "screen")
    assert isinstance(result, Item)
    assert [(e.split, e.fresh, len(e.example_ids)) for e in ctx.evaluations] == [
        ("val", False, 5), ("val", False, 6),
    ]  # fmt: skip
    commit = workflow.commit(result, ctx.pool)
    assert isinstance(commit, Commit)
    assert commit.ops[0]["parents"] == [1, 2]
    assert put("merge.admitted", 1) in commit.ops
    assert "its parent 1 scores 0.5; its parent 2 scores 0.5" in commit.text


def test_a_merge_passes_if_it_equals_its_better_parent_and_not_below() -> None:
    workflow, ctx = merging({})
    item, _ = started(workflow, ctx.pool, Random(0))
    stored = [ctx.pool.candidates[c].scores for c in (1, 2)]
    best = max(sum(scores[e] for e in item.payload.examples) for scores in stored)
    ctx.score = by_text({"1 2": best / 5})
    assert isinstance(run_stages(workflow, item, ctx, "screen", "screen"), Item)
    ctx.score = by_text({"1 2": best / 5 - 0.125})
    end = run_stages(workflow, item, ctx, "screen")
    assert end == End("rejected", f"{best - 0.625} < {best} on 5 examples")


def test_without_a_triplet_nothing_is_recorded_and_a_mutation_is_started() -> None:
    workflow, ctx = merging({"1 2": 0.75})
    assert isinstance(next_step(workflow, ctx), Commit)
    ctx.pool.apply([put("merge.due", 2)], version=ctx.pool.version)
    item, _ = started(workflow, ctx.pool, Random(0))
    assert item.source == "mutate"
    assert pool_of(ctx).state["merge.due"] == 2


def test_an_admitted_mutation_makes_one_merge_due_and_an_admitted_merge_none() -> None:
    workflow, ctx = merging({"1 2": 0.75})
    assert isinstance(next_step(workflow, ctx), Commit)
    assert pool_of(ctx).state["merge.due"] == 0
    ctx.score, ctx.answer = (
        by_text({"new 2": 1.0, "1 new": 1.0, "new 0": 1.0}),
        says("```\nnew\n```"),
    )
    assert isinstance(next_step(workflow, ctx, 3), Commit)
    assert pool_of(ctx).state["merge.due"] == 1


def test_no_merge_is_started_once_as_many_were_admitted_as_may_be() -> None:
    workflow, ctx = merging({"1 2": 0.75}, GEPA(merge=True, merge_max=1))
    ctx.pool.apply([put("merge.due", 1), put("merge.admitted", 1)], version=ctx.pool.version)
    assert started(workflow, ctx.pool, Random(0))[0].source == "mutate"


@pytest.mark.parametrize("run_seed", range(3))
def test_merges_admitted_and_in_flight_together_are_never_more_than_merge_max(
    run_seed: int,
) -> None:
    merge_max = 2

    def hashed(text: str) -> float:
        return Random(text).random()

    def rewrite(request: Request, rng: Random) -> str:
        return f"```\n{rng.randrange(10**9)}\n```"

    bench = Bench(
        GEPA(merge=True, merge_max=merge_max, merge_overlap_floor=1, minibatch=1).workflow,
        in_flight=24,
        workers=24,
        concurrency=24,
        answer=rewrite,
        agent=lambda artifact, example: f"{dict(artifact)} {example['input']}",
        score=lambda example, output: hashed(output),
        seed=Artifact({"a": "0", "b": "0"}),
        n_val=6,
        run_seed=run_seed,
        budget={"metric_calls": 1500},
    )
    bench.run()
    n_started, admitted, under_way, most = 0, 0, set[int](), 0
    for record in bench.store.records:
        match record.event:
            case ev.ItemSelected(ticket=ticket, source="merge"):
                n_started += 1
                under_way.add(ticket)
            case ev.ItemEnded(ticket=ticket, outcome=outcome) if ticket in under_way:
                under_way.remove(ticket)
                admitted += outcome == "committed"
        most = max(most, admitted + len(under_way))
    assert most == merge_max
    assert admitted > 0
    assert n_started > merge_max, "a merge that was rejected makes room for another"


def test_a_patched_merge_is_screened_against_its_new_parents_stored_scores() -> None:
    workflow, ctx = merging({"1 3": 0.75})
    item, _ = started(workflow, ctx.pool, Random(0))
    patched = repaired(workflow, item, ctx.pool, Artifact({"a": "1", "b": "3"}))
    ctx.evaluations.clear()
    result = run_stages(workflow, patched, ctx, "screen")
    assert isinstance(result, Item)
    assert {e.split for e in ctx.evaluations} == {"val"}
    commit = workflow.commit(result, ctx.pool)
    assert isinstance(commit, Commit)
    assert commit.ops[0]["parents"] == [1]


def test_merging_a_single_component_is_said_to_have_no_effect() -> None:
    with pytest.warns(UserWarning, match="the seed has only one"):
        workflow = workflow_of(MERGING)
    assert [source.name for source in workflow.sources] == ["seed", "mutate"]
    ctx = seeded(workflow, {"better": 0.5}, "```\nbetter\n```")
    next_step(workflow, ctx)
    assert "merge.due" not in pool_of(ctx).state


def test_payloads_and_operations_survive_json() -> None:
    workflow, ctx = merging({"1 2": 0.75, "never better 0": 0.9})
    codec = TypeAdapter(workflow.payload)
    for ticket in range(2, 6):
        item, enter = started(workflow, ctx.pool, Random(ticket), ticket)
        result = run_stages(workflow, item, ctx, enter)
        for payload in (item.payload, *([result.payload] if isinstance(result, Item) else [])):
            assert codec.validate_json(codec.dump_json(payload)) == payload
        if isinstance(result, Item):
            commit = workflow.commit(result, ctx.pool)
            assert isinstance(commit, Commit)
            assert json.loads(json.dumps(commit.ops)) == list(commit.ops)
            ctx.pool.apply(commit.ops, version=ctx.pool.version + 1)
