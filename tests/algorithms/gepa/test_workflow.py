import ast
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import flashevolve.algorithms.gepa as package
from flashevolve.algorithms.gepa import GEPA
from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
from flashevolve.artifact import Artifact
from flashevolve.engine.item import Commit, End, Item, Needs
from flashevolve.engine.workflow import Setup
from flashevolve.llm.errors import Empty, LLMError, Refused, Truncated
from flashevolve.llm.messages import Message
from flashevolve.outcome import Outcome
from flashevolve.pools.pareto import ParetoPool
from flashevolve.task import Split
from tests.fakes.context import FakeContext, repaired, run_stages, started, step

TRAIN, VAL = ("t0", "t1", "t2"), tuple(f"v{i}" for i in range(6))


def workflow_of(config: GEPA | None = None, **seed: str) -> GEPAWorkflow:
    texts = seed or {"system": "seed"}
    workflow = (config or GEPA()).workflow(
        Setup(seed=Artifact(texts), train_ids=TRAIN, val_ids=VAL, perfect_score=1.0)
    )
    assert isinstance(workflow, GEPAWorkflow)
    return workflow


def by_text(scores: dict[str, float]) -> Any:
    """Scores an artifact by its texts, joined; what is not listed scores 0."""
    return lambda artifact, split, example: scores.get(" ".join(artifact.values()), 0.0)


def says(*replies: str) -> Any:
    """Answers with `replies` in turn."""
    rest = iter(replies)
    return lambda messages: next(rest)


def seeded(workflow: GEPAWorkflow, scores: dict[str, float], *replies: str) -> FakeContext:
    """A context whose pool holds the seed, scored."""
    pool = workflow.new_pool()
    ctx = FakeContext(pool, score=by_text(scores), answer=says(*replies))
    assert isinstance(step(workflow, pool, ctx, Random(0)), Commit)
    ctx.evaluations.clear()
    return ctx


def pool_of(ctx: FakeContext) -> ParetoPool:
    assert isinstance(ctx.pool, ParetoPool)
    return ctx.pool


def next_step(workflow: GEPAWorkflow, ctx: FakeContext, ticket: int = 2) -> Commit | End:
    return step(workflow, ctx.pool, ctx, Random(ticket), ticket)


# -- sources -----------------------------------------------------------------------------------


def test_after_the_seed_its_mutations_are_started_though_it_has_no_scores_yet() -> None:
    workflow = workflow_of()
    pool = workflow.new_pool()
    item, enter = started(workflow, pool, Random(0))
    assert (item.source, enter, item.lineage) == ("seed", "evaluate", ())
    assert workflow.artifact(item) == Artifact({"system": "seed"})
    seed, mutate = workflow.sources
    assert seed.select(pool, Random(0)) is None
    selection = mutate.select(pool, Random(0))
    assert selection is not None
    assert (selection.lineage, selection.payload.parents) == ((0,), (0,))


def test_a_mutation_stamps_parent_scope_minibatch_and_component() -> None:
    workflow = workflow_of(plan="p", search="s")
    ctx = seeded(workflow, {})
    item, enter = started(workflow, ctx.pool, Random(0))
    assert (item.source, enter) == ("mutate", "rollout")
    assert (item.lineage, item.reads) == ((0,), ("pool",))
    assert sorted(item.payload.examples) == sorted(TRAIN)
    assert item.payload.components == ("plan",)
    assert started(workflow, ctx.pool, Random(0))[0].payload.components == ("search",)


def test_all_components_are_rewritten_at_once_if_asked() -> None:
    workflow = workflow_of(GEPA(components="all"), plan="p", search="s")
    ctx = seeded(workflow, {"1 2": 1.0}, "```\n1\n```", "```\n2\n```")
    assert isinstance(next_step(workflow, ctx), Commit)
    assert dict(ctx.pool.candidates[1].artifact) == {"plan": "1", "search": "2"}


@pytest.mark.parametrize("selection", ["pareto", "current_best", "epsilon_greedy"])
def test_every_selection_finds_the_only_good_parent(selection: Any) -> None:
    workflow = workflow_of(GEPA(selection=selection, epsilon=0.0))
    ctx = seeded(workflow, {"better": 0.5}, "```\nbetter\n```")
    next_step(workflow, ctx)
    assert started(workflow, ctx.pool, Random(3))[0].lineage == (1,)


def test_an_example_that_padding_repeats_counts_once() -> None:
    """gepa runs and sums it twice: one example would then decide a gate of three."""
    config = GEPA(minibatch=2)
    workflow = workflow_of(config)
    ctx = seeded(workflow, {})
    sizes = [len(started(workflow, ctx.pool, Random(0))[0].payload.examples) for _ in range(2)]
    assert sizes == [2, 1]


# -- rollout and propose -----------------------------------------------------------------------


def test_the_parent_is_run_afresh_and_what_happened_is_shown_to_the_reflecting_model() -> None:
    workflow = workflow_of()
    ctx = seeded(workflow, {"seed": 0.5}, "```\nbetter\n```")
    next_step(workflow, ctx)
    first = ctx.evaluations[0]
    assert (first.artifact["system"], first.split, first.fresh) == ("seed", "train", True)
    assert sorted(first.example_ids) == list(TRAIN)
    (chat,) = ctx.chats
    assert (chat.role, chat.name) == ("reflect", "")
    for shown in ("```\nseed\n```", "the input of t1", "an output", "Score: 0.5\nwhy"):
        assert shown in chat.messages[0].text


def test_a_parent_that_is_perfect_on_the_minibatch_is_skipped() -> None:
    ctx = seeded(workflow := workflow_of(), {"seed": 1.0})
    assert next_step(workflow, ctx) == End("skipped", "the parent is perfect on all 3 examples")
    assert ctx.chats == []


def test_a_skipped_step_has_moved_the_component_pointer() -> None:
    """gepa moves it after the skip; what a step uses up is recorded with its selection here."""
    workflow = workflow_of(plan="p", search="s")
    ctx = seeded(workflow, {"p s": 1.0})
    assert isinstance(next_step(workflow, ctx), End)
    assert started(workflow, ctx.pool, Random(0))[0].payload.components == ("search",)


def test_a_perfect_parent_is_not_skipped_if_so_configured() -> None:
    workflow = workflow_of(GEPA(skip_perfect=False))
    ctx = seeded(workflow, {"seed": 1.0}, "```\nother\n```")
    assert next_step(workflow, ctx) == End("rejected", "0.0 <= 3.0 on 3 examples")


def test_a_reply_without_a_fenced_text_is_asked_for_once_more() -> None:
    """gepa adopts it whole: here it would have become the new prompt."""
    workflow = workflow_of()
    ctx = seeded(workflow, {"better": 0.5}, "Let me think.", "```\nbetter\n```")
    assert isinstance(next_step(workflow, ctx), Commit)
    again = ctx.chats[1]
    assert again.name == "again"
    assert [m.role for m in again.messages] == ["user", "assistant", "user"]
    assert again.messages[1].text == "Let me think."
    assert "found no fence" in again.messages[2].text


def test_a_reply_that_stays_unusable_skips_the_step() -> None:
    workflow = workflow_of()
    ctx = seeded(workflow, {}, "Let me think.", "```\n\n```")
    end = next_step(workflow, ctx)
    assert isinstance(end, End)
    assert end.outcome == "skipped"
    assert end.reason.endswith("expected a text between the ``` fences, found nothing")
    assert len(ctx.chats) == 2


@pytest.mark.parametrize("error", [Refused("no"), Truncated("no"), Empty("no")])
def test_a_refused_truncated_or_empty_answer_skips_the_step(error: LLMError) -> None:
    workflow = workflow_of()
    ctx = seeded(workflow, {})

    def refuse(messages: Sequence[Message]) -> str:
        raise error

    ctx.answer = refuse
    reason = "no new text from the reflecting model: no"
    assert next_step(workflow, ctx) == End("skipped", reason, useless=True)


def test_a_proposal_identical_to_any_candidate_is_a_no_op() -> None:
    """gepa only compares proposals of one iteration with each other."""
    workflow = workflow_of()
    replies = ["```\nbetter\n```", "```\nseed\n```", "```\nbetter\n```"]
    ctx = seeded(workflow, {"better": 0.5}, *replies)
    next_step(workflow, ctx)
    assert next_step(workflow, ctx, 3) == End("no-op", "duplicate of candidate 0")
    assert next_step(workflow, ctx, 4) == End("no-op", "duplicate of candidate 1")


# -- screen, evaluate, commit --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acceptance", "child", "passes"),
    [
        ("strict", 0.75, True), ("strict", 0.5, False), ("strict", 0.25, False),
        ("improvement_or_equal", 0.5, True), ("improvement_or_equal", 0.25, False),
    ],
)  # fmt: skip
def test_the_gate_compares_sums_on_the_same_examples(
    acceptance: Any, child: float, passes: bool
) -> None:
    workflow = workflow_of(GEPA(acceptance=acceptance))
    ctx = seeded(workflow, {"seed": 0.5, "new": child}, "```\nnew\n```")
    result = next_step(workflow, ctx)
    rollout, screen, *rest = ctx.evaluations
    assert (screen.example_ids, screen.fresh) == (rollout.example_ids, True)
    if passes:
        assert isinstance(result, Commit)
        assert [(e.split, e.example_ids, e.fresh) for e in rest] == [("val", VAL, False)]
    else:
        sign = "<=" if acceptance == "strict" else "<"
        assert result == End("rejected", f"{child * 3} {sign} 1.5 on 3 examples")


def test_a_twin_admitted_meanwhile_ends_the_item_before_it_is_validated_and_at_commit() -> None:
    workflow = workflow_of()
    ctx = seeded(workflow, {"better": 0.5}, "```\nbetter\n```", "```\nbetter\n```")
    item, _ = started(workflow, ctx.pool, Random(2), ticket=2)
    screened = run_stages(workflow, item, ctx, "rollout", "screen")
    assert isinstance(screened, Item)
    evaluated = run_stages(workflow, screened, ctx, "evaluate")
    assert isinstance(evaluated, Item)
    next_step(workflow, ctx, 3)
    ctx.evaluations.clear()
    twin = End("no-op", "duplicate of candidate 1")
    assert run_stages(workflow, screened, ctx, "evaluate") == twin
    assert workflow.commit(evaluated, ctx.pool) == twin
    assert ctx.evaluations == []


def test_a_commit_says_in_words_and_marks_what_it_improved() -> None:
    workflow = workflow_of()
    ctx = seeded(workflow, {"better": 0.5}, "```\nbetter\n```", "```\nfront\n```")
    commit = next_step(workflow, ctx)
    assert isinstance(commit, Commit)
    assert commit.text == (
        "Candidate 1 scores 0.5 on 6 examples; its parent 0 scores 0.0.\n"
        "--- system\n+++ system\n@@ -1 +1 @@\n-seed\n+better"
    )
    assert (commit.marks, commit.scopes, commit.bumps) == (("front", "best"), ("pool",), True)

    def score(artifact: Artifact, split: Split, example: str) -> float:
        return float(split == "train" or example == "v3")

    ctx.score = score
    item, _ = started(workflow, ctx.pool, Random(0), 3)
    item = item.with_payload(child={"system": "front"})
    evaluated = run_stages(workflow, item, ctx, "evaluate")
    assert isinstance(evaluated, Item)
    second = workflow.commit(evaluated, ctx.pool)
    assert isinstance(second, Commit)
    assert second.marks == ("front",)


def test_the_seed_is_marked_as_nothing() -> None:
    workflow = workflow_of()
    pool = workflow.new_pool()
    commit = step(workflow, pool, FakeContext(pool), Random(0))
    assert isinstance(commit, Commit)
    assert (commit.marks, commit.text) == ((), "Candidate 0 scores 0.0 on 6 examples: the seed.")


def test_needs_are_what_the_stages_may_spend() -> None:
    workflow = workflow_of()
    ctx = seeded(workflow, {}, "```\nnew\n```")
    item, _ = started(workflow, ctx.pool, Random(0))
    rollout, propose, screen, evaluate = workflow.stages
    rolled = run_stages(workflow, item, ctx, "rollout", "rollout")
    assert isinstance(rolled, Item)
    assert rollout.needs(item, ctx.pool) == Needs(metric_calls=3)
    assert propose.needs(rolled, ctx.pool) == Needs(proposals=1)
    assert screen.needs(rolled, ctx.pool) == Needs(metric_calls=3)
    assert evaluate.needs(rolled, ctx.pool) == Needs(shared=6)
    assert [stage.counts for stage in workflow.stages] == [None, "proposed", "screened", "swept"]


# -- repair --------------------------------------------------------------------------------------


def patched_item(workflow: GEPAWorkflow, ctx: FakeContext) -> Item[Any]:
    """An item from the seed, patched onto candidate 1, which was admitted meanwhile."""
    item, _ = started(workflow, ctx.pool, Random(2), ticket=2)
    screened = run_stages(workflow, item, ctx, "rollout", "screen")
    assert isinstance(screened, Item)
    next_step(workflow, ctx, 3)
    ctx.evaluations.clear()
    return repaired(workflow, screened, ctx.pool, Artifact({"system": "both"}))


def test_a_patched_item_is_screened_against_its_new_parent_whose_scores_are_paid_for() -> None:
    workflow = workflow_of()
    scores = {"mine": 0.25, "theirs": 0.5, "both": 0.75}
    ctx = seeded(workflow, scores, "```\nmine\n```", "```\ntheirs\n```")
    item = patched_item(workflow, ctx)
    screen = workflow.stages[2]
    assert screen.needs(item, ctx.pool) == Needs(metric_calls=6)
    result = run_stages(workflow, item, ctx, "screen")
    assert isinstance(result, Item)
    assert [(e.artifact["system"], e.split) for e in ctx.evaluations] == [
        ("theirs", "train"), ("both", "train"), ("both", "val"),
    ]  # fmt: skip
    commit = workflow.commit(result, ctx.pool)
    assert isinstance(commit, Commit)
    assert commit.ops[0]["parents"] == [1]


def test_a_patched_item_that_does_not_beat_its_new_parent_is_rejected() -> None:
    workflow = workflow_of()
    ctx = seeded(
        workflow, {"mine": 0.25, "theirs": 0.5, "both": 0.5}, "```\nmine\n```", "```\ntheirs\n```"
    )
    item = patched_item(workflow, ctx)
    assert run_stages(workflow, item, ctx, "screen") == End("rejected", "1.5 <= 1.5 on 3 examples")


# -- boundaries ----------------------------------------------------------------------------------


def test_outcomes_may_arrive_in_any_order() -> None:
    class Backwards(FakeContext):
        async def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, Outcome]:
            return dict(reversed((await super().evaluate(*args, **kwargs)).items()))

    workflow = workflow_of()
    dumps = []
    for context in (FakeContext, Backwards):
        pool = workflow.new_pool()
        replies = says("```\none\n```", "```\ntwo\n```")
        ctx = context(pool, score=by_text({"one": 0.1, "two": 0.7}), answer=replies)
        for ticket in range(1, 4):
            step(workflow, pool, ctx, Random(ticket), ticket)
        dumps.append(json.dumps(pool.dump()))
    assert dumps[0] == dumps[1]


def test_the_package_imports_no_clock_loop_or_database() -> None:
    for path in Path(package.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"asyncio", "sqlite3", "time"} & {name.partition(".")[0] for name in names}
