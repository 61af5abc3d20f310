"""PxN, also against gepa 0.1.4's own sampling: both draw from one generator's stream."""

from collections.abc import Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import gepa
import pytest
from gepa.core.adapter import EvaluationBatch
from gepa.strategies.candidate_selector import ParetoCandidateSelector
from gepa.strategies.proposal_sampling import PxNSampling
from pydantic import TypeAdapter

from flashevolve.algorithms.gepa import GEPA
from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
from flashevolve.algorithms.minibatch import next_minibatch
from flashevolve.algorithms.pxn.workflow import PxNWorkflow
from flashevolve.artifact import Artifact
from flashevolve.engine.item import Commit, End, Item, Minimum, Needs
from flashevolve.engine.workflow import Setup
from flashevolve.llm.errors import LLMError
from flashevolve.llm.messages import Request
from flashevolve.pools.pareto import ParetoPool
from tests.fakes.context import FakeContext, repaired, run_stages, started, step
from tests.fakes.runs import Bench, echo

TRAIN, VAL = tuple(f"t{i}" for i in range(12)), tuple(f"v{i}" for i in range(6))


def workflow_of(config: GEPA, train: Sequence[str] = TRAIN, **seed: str) -> Any:
    texts = Artifact(seed or {"system": "seed"})
    return config.workflow(Setup(seed=texts, train_ids=tuple(train), val_ids=VAL))


def solves(text: str, example: str) -> float:
    """An arbitrary world: each text solves some examples."""
    return float(Random(f"{text}|{example}").random() < 0.45)


def counting(prefix: str = "text") -> Any:
    n = iter(range(10_000))
    return lambda messages: f"```\n{prefix} {next(n)}\n```"


class Replies:
    """What a model writes: `n_texts` texts in turn, others in each step; 0 = never one twice."""

    def __init__(self, n_texts: int) -> None:
        self.n_texts, self.n_steps, self.n_asked = n_texts, 0, 0

    def next_step(self) -> None:
        self.n_steps, self.n_asked = self.n_steps + 1, 0

    def __call__(self, messages: Any) -> str:
        text = self.n_asked % self.n_texts if self.n_texts else self.n_asked
        self.n_asked += 1
        return f"```\ntext {self.n_steps} {text}\n```"


def toy(workflow: Any, rng: Random, answer: Any = None) -> FakeContext:
    """A context whose pool holds the seed, scored."""
    pool = workflow.new_pool()
    ctx = FakeContext(
        pool,
        score=lambda artifact, split, example: solves("|".join(artifact.values()), example),
        answer=answer or counting(),
    )
    assert isinstance(step(workflow, pool, ctx, rng), Commit)
    return ctx


def test_one_parent_with_one_proposal_is_plain_gepa() -> None:
    assert type(workflow_of(GEPA(parents=1, proposals=1))) is GEPAWorkflow
    assert type(workflow_of(GEPA(parents=2))) is PxNWorkflow
    assert type(workflow_of(GEPA(proposals=2))) is PxNWorkflow


def test_a_step_draws_parents_each_with_minibatches_of_its_own() -> None:
    workflow = workflow_of(GEPA(parents=2, proposals=2))
    ctx = toy(workflow, Random(0))
    item, enter = started(workflow, ctx.pool, Random(1))
    assert enter == "rollout"
    assert [s.parents for s in item.payload.steps] == [(0,)] * 4
    assert sorted(e for s in item.payload.steps for e in s.examples) == sorted(TRAIN)


def test_tasks_of_one_parent_take_turns_with_its_components() -> None:
    workflow = workflow_of(GEPA(proposals=3), plan="p", search="s")
    ctx = toy(workflow, Random(0))
    item, _ = started(workflow, ctx.pool, Random(1))
    assert [s.components for s in item.payload.steps] == [("plan",), ("search",), ("plan",)]


def test_each_stage_is_done_for_all_tasks_before_the_next_begins() -> None:
    workflow = workflow_of(GEPA(parents=2, proposals=2, skip_perfect=False))
    ctx = toy(workflow, Random(0))
    ctx.score = lambda artifact, split, example: float(artifact["system"] != "seed")
    ctx.evaluations.clear()
    commit = step(workflow, ctx.pool, ctx, Random(1), 2)
    assert isinstance(commit, Commit)
    assert [(e.artifact["system"] == "seed", e.split) for e in ctx.evaluations] == [
        *[(True, "train")] * 4, *[(False, "train")] * 4, *[(False, "val")] * 4,
    ]  # fmt: skip
    assert [op["parents"] for op in commit.ops if op["op"] == "insert"] == [[0]] * 4
    assert commit.marks.count("admitted") == 3, "the transaction itself counts as one"
    assert commit.text.count("its parent 0 scores") == 4


def twins(train: Sequence[str], better_on: Sequence[str]) -> Any:
    """Two tasks of one parent that propose the same text, better than it on some examples only."""
    workflow = workflow_of(GEPA(proposals=2, skip_perfect=False), train)
    ctx = toy(workflow, Random(0), answer=lambda messages: "```\nsame\n```")
    ctx.score = lambda artifact, split, example: float(
        artifact["system"] == "same" and (split == "val" or example in better_on)
    )
    item, _ = started(workflow, ctx.pool, Random(1))
    return workflow, ctx, item


@pytest.mark.parametrize("lucky", [(0,), (1,), (0, 1)])
def test_twins_are_screened_each_on_its_own_examples_and_admitted_once(
    lucky: tuple[int, ...],
) -> None:
    _, _, drawn = twins(TRAIN, ())
    lists = [step.examples for step in drawn.payload.steps]
    assert not set(lists[0]) & set(lists[1])
    workflow, ctx, item = twins(TRAIN, [e for place in lucky for e in lists[place]])
    proposed = run_stages(workflow, item, ctx, "rollout", "propose")
    assert isinstance(proposed, Item)
    assert [s.child["system"] for s in proposed.payload.steps] == ["same", "same"]
    assert proposed.payload.n_counted == 2
    screened = run_stages(workflow, proposed, ctx, "screen", "screen")
    assert isinstance(screened, Item)
    assert [s.examples for s in screened.payload.steps] == [lists[lucky[0]]]
    assert screened.payload.n_counted == 2
    commit = workflow.commit(run_stages(workflow, screened, ctx, "evaluate"), ctx.pool)
    assert isinstance(commit, Commit)
    assert [op["artifact"]["system"] for op in commit.ops if op["op"] == "insert"] == ["same"]


def test_twins_of_one_parent_and_minibatch_are_screened_once() -> None:
    workflow, ctx, item = twins(TRAIN[:3], TRAIN[:3])
    ctx.evaluations.clear()
    proposed = run_stages(workflow, item, ctx, "rollout", "propose")
    assert isinstance(proposed, Item)
    assert len(proposed.payload.steps) == 1
    screened = run_stages(workflow, proposed, ctx, "screen", "screen")
    assert isinstance(screened, Item)
    assert [e.artifact["system"] for e in ctx.evaluations] == ["seed", "seed", "same"]


def test_a_task_that_ends_leaves_the_others_to_go_on() -> None:
    workflow = workflow_of(GEPA(proposals=4, skip_perfect=False))
    ctx = toy(workflow, Random(0), answer=counting("new"))
    ctx.score = lambda artifact, split, example: float(artifact["system"] in ("new 1", "new 3"))
    item, _ = started(workflow, ctx.pool, Random(1))
    screened = run_stages(workflow, item, ctx, "rollout", "screen")
    assert isinstance(screened, Item)
    assert [s.child["system"] for s in screened.payload.steps] == ["new 1", "new 3"]
    assert screened.payload.n_counted == 4


@pytest.mark.parametrize(
    ("score", "reply", "end"),
    [
        (1.0, "```\nnew\n```", End("skipped", "the parent is perfect on all 3 examples")),
        (0.5, "```\nseed\n```", End("no-op", "duplicate of candidate 0")),
        (0.5, "```\nnew\n```", End("rejected", "1.5 <= 1.5 on 3 examples")),
    ],
)
def test_a_step_whose_tasks_all_end_alike_ends_as_they_do(
    score: float, reply: str, end: End
) -> None:
    workflow = workflow_of(GEPA(proposals=2))
    ctx = toy(workflow, Random(0), answer=lambda messages: reply)
    ctx.score = lambda artifact, split, example: score
    found = step(workflow, ctx.pool, ctx, Random(1), 2)
    assert isinstance(found, End)
    assert found.outcome == end.outcome
    assert found.reason.startswith(end.reason)
    assert not found.useless


def test_a_step_without_any_usable_reply_is_useless() -> None:
    workflow = workflow_of(GEPA(proposals=2))
    ctx = toy(workflow, Random(0), answer=lambda messages: "Let me think.")
    ctx.score = lambda artifact, split, example: 0.5
    found = step(workflow, ctx.pool, ctx, Random(1), 2)
    assert isinstance(found, End)
    assert (found.outcome, found.useless) == ("skipped", True)


def test_needs_and_minimum_are_those_of_all_tasks() -> None:
    workflow = workflow_of(GEPA(parents=2, proposals=2, skip_perfect=False))
    ctx = toy(workflow, Random(0))
    item, _ = started(workflow, ctx.pool, Random(1))
    rollout, propose, screen, evaluate = workflow.stages
    assert rollout.needs(item, ctx.pool) == Needs(metric_calls=12)
    assert propose.needs(item, ctx.pool) == Needs(proposals=4)
    proposed = run_stages(workflow, item, ctx, "rollout", "propose")
    assert isinstance(proposed, Item)
    assert screen.needs(proposed, ctx.pool) == Needs(metric_calls=12)
    assert evaluate.needs(proposed, ctx.pool) == Needs(shared=24)
    why = "6 for the seed on val, 4 x (6 and 6) for one step"
    assert workflow.minimum() == Minimum(metric_calls=24, shared=30, seed=6, proposals=4, why=why)


def test_what_another_step_admitted_meanwhile_is_left_out_of_the_commit() -> None:
    workflow = workflow_of(GEPA(proposals=2, skip_perfect=False))
    ctx = toy(workflow, Random(0))
    replies = iter(f"```\n{text}\n```" for text in ("one", "two", "one", "three"))
    ctx.answer = lambda messages: next(replies)
    ctx.score = lambda artifact, split, example: float(artifact["system"] != "seed")
    item, _ = started(workflow, ctx.pool, Random(1), 2)
    evaluated = run_stages(workflow, item, ctx, "rollout")
    assert isinstance(evaluated, Item)
    assert isinstance(step(workflow, ctx.pool, ctx, Random(2), 3), Commit)
    commit = workflow.commit(evaluated, ctx.pool)
    assert isinstance(commit, Commit)
    assert [op["artifact"]["system"] for op in commit.ops if op["op"] == "insert"] == ["two"]
    ctx.pool.apply(commit.ops, version=9)
    assert workflow.commit(evaluated, ctx.pool) == End("no-op", "duplicate of candidate 1")


def test_children_are_admitted_one_after_the_other_and_the_pool_itself_is_left_alone() -> None:
    workflow = workflow_of(GEPA(proposals=3, skip_perfect=False))
    ctx = toy(workflow, Random(0))
    worth = {"text 0": 0.6, "text 1": 0.9, "text 2": 0.7}
    ctx.score = lambda artifact, split, example: worth.get(artifact["system"], 0.1)
    item, _ = started(workflow, ctx.pool, Random(1), 2)
    evaluated = run_stages(workflow, item, ctx, "rollout")
    assert isinstance(evaluated, Item)
    pool: Any = ctx.pool
    before = pool.dump(), dict(pool.fronts), dict(pool.tops)
    commit = workflow.commit(evaluated, pool)
    assert isinstance(commit, Commit)
    assert (pool.dump(), dict(pool.fronts), dict(pool.tops)) == before
    assert "Candidate 1 scores 0.6" in commit.text
    assert "Candidate 3 scores 0.7" in commit.text
    assert commit.marks == ("front", "best", "admitted", "front", "best", "admitted")


def test_a_patched_child_that_equals_another_of_its_step_is_admitted_once() -> None:
    workflow = workflow_of(GEPA(proposals=2, skip_perfect=False))
    ctx = toy(workflow, Random(0))
    ctx.score = lambda artifact, split, example: float(artifact["system"] != "seed")
    item, _ = started(workflow, ctx.pool, Random(1), 2)
    screened = run_stages(workflow, item, ctx, "rollout", "screen")
    assert isinstance(screened, Item)
    patched = repaired(workflow, screened, ctx.pool, Artifact({"system": "text 1"}))
    evaluated = run_stages(workflow, patched, ctx, "screen")
    assert isinstance(evaluated, Item)
    commit = workflow.commit(evaluated, ctx.pool)
    assert isinstance(commit, Commit)
    assert [op["artifact"]["system"] for op in commit.ops if op["op"] == "insert"] == ["text 1"]


def test_a_repair_looks_at_the_first_child_and_the_others_are_screened_again_beside_it() -> None:
    workflow = workflow_of(GEPA(proposals=2, skip_perfect=False))
    ctx = toy(workflow, Random(0))
    ctx.score = lambda artifact, split, example: float(artifact["system"] != "seed")
    item, _ = started(workflow, ctx.pool, Random(1), 2)
    screened = run_stages(workflow, item, ctx, "rollout", "screen")
    assert isinstance(screened, Item)
    assert workflow.artifact(screened) == Artifact({"system": "text 0"})
    patched = repaired(workflow, screened, ctx.pool, Artifact({"system": "both"}))
    assert [s.child["system"] for s in patched.payload.steps] == ["both", "text 1"]
    assert patched.payload.steps[0].parents == (0,)


def test_merges_are_steps_of_one_task_and_stay_capped() -> None:
    workflow = workflow_of(GEPA(proposals=2, merge=True, merge_max=2), plan="p", search="s")
    seed, merge, mutate = workflow.sources
    assert (seed.name, merge.name, mutate.name) == ("seed", "merge", "mutate")
    assert merge.cap(workflow.new_pool()) == 2
    assert not hasattr(seed, "cap")


# -- whole runs ----------------------------------------------------------------------------------


class ToyAdapter:
    """gepa's side of the toy world, which notes what it is asked at once."""

    propose_new_texts = None

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def evaluate(
        self, batch: list[str], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch:
        self.calls += [("|".join(candidate.values()), len(batch))]
        scores = [solves("|".join(candidate.values()), example) for example in batch]
        return EvaluationBatch(outputs=batch, scores=scores, trajectories=batch)

    def make_reflective_dataset(self, candidate: Any, batch: Any, components: Any) -> Any:
        return {name: [{"output": "x"}] for name in components}


class Successive:
    """A sampler for gepa that goes on where the step before ended.

    gepa's own starts one minibatch after the start of the step before, so that successive steps of
    n tasks have n - 1 minibatches in common; ours do not, and a difference on purpose stays out.
    """

    def __init__(self, rng: Random) -> None:
        self.rng, self.pool = rng, ParetoPool()

    def next_minibatch_ids(self, loader: Any, state: Any) -> list[int]:
        ids, ops = next_minibatch(self.pool.state, list(loader.all_ids()), 3, self.rng)
        self.pool.apply(ops, version=0)
        return [int(e) for e in ids]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("parents", "proposals"), [(2, 2), (3, 1), (1, 4)])
@pytest.mark.parametrize(
    ("names", "skip", "n_texts"),
    [
        (["system"], True, 0),
        (["system"], False, 2),
        (["answer", "plan", "search"], False, 0),
        (["answer", "plan", "search"], False, 1),
    ],
)
def test_a_synchronous_run_is_gepas(
    parents: int, proposals: int, seed: int, names: list[str], skip: bool, n_texts: int
) -> None:
    """Same tasks, order of evaluations, metric calls, gate and pool, iteration by iteration.

    With few texts a step proposes some of them twice, from several parents and minibatches.

    Up to 8 candidates are compared, as gepa's sets are in ascending order only below that; 72
    examples never repeat within a run.
    """
    train = [f"t{i}" for i in range(72)]
    start = {name: f"seed {name}" for name in names}
    adapter, states = ToyAdapter(), list[Any]()

    def enough(state: Any) -> bool:
        states[:] = [state]
        replies.next_step()
        return len(state.program_candidates) > 8 - parents * proposals or state.i >= 4

    replies, stream = Replies(n_texts), Random(seed)
    result = gepa.optimize(
        seed_candidate=start,
        trainset=train,
        valset=list(VAL),
        adapter=adapter,
        reflection_lm=replies,
        stop_callbacks=enough,
        logger=SimpleNamespace(log=lambda message: None),
        skip_perfect_score=skip,
        sampling_strategy=PxNSampling(parents, proposals),
        candidate_selection_strategy=ParetoCandidateSelector(rng=stream),
        batch_sampler=Successive(stream),
    )

    config = GEPA(parents=parents, proposals=proposals, skip_perfect=skip)
    workflow = workflow_of(config, train, **start)
    rng = Random(seed)
    ctx = toy(workflow, rng, answer=(own := Replies(n_texts)))
    for _ in range(states[0].i + 1):
        own.next_step()
        step(workflow, ctx.pool, ctx, rng)
    pool = ctx.pool
    assert [dict(c.artifact) for c in pool.candidates.values()] == result.candidates
    lineage: list[list[int | None]] = [[*c.parents] or [None] for c in pool.candidates.values()]
    assert lineage == result.parents
    assert [list(c.scores.values()) for c in pool.candidates.values()] == [
        [scores[place] for place in range(len(VAL))] for scores in result.val_subscores
    ]
    ours = [("|".join(e.artifact.values()), len(e.example_ids)) for e in ctx.evaluations]
    assert ours == adapter.calls, "stage by stage, and within a stage task by task"
    assert sum(n for _, n in ours) == result.total_metric_calls


def rewrite(request: Request, rng: Random) -> str | LLMError:
    said = echo(request, rng)
    is_verdict = isinstance(said, LLMError) or said.startswith("{")
    return said if is_verdict else f"```\n{rng.randrange(10**9)}\n```"


def bench(config: GEPA, **changes: Any) -> Bench:
    return Bench(
        config.workflow,
        answer=rewrite,
        agent=lambda artifact, example: f"{dict(artifact)} {example['input']}",
        score=lambda example, output: Random(output).random(),
        n_val=4,
        **{"budget": {"metric_calls": 300}, **changes},
    )


@pytest.mark.parametrize(
    ("policy", "in_flight"), [("full", 1), ("full", 4), ("guarded", 4), ("reflective", 4)]
)
def test_a_run_counts_children_conserves_steps_and_stays_within_its_budget(
    policy: Any, in_flight: int
) -> None:
    run = bench(GEPA(parents=2, proposals=3, minibatch=1), policy=policy, in_flight=in_flight)
    state = run.run()
    assert state.ledger.spent["metric_calls"] <= 300
    conserved = state.conservation()
    assert conserved.pop("created") == sum(conserved.values())
    admitted = len(state.pool.candidates)
    assert state.counters["admitted"] == admitted
    assert state.counters["swept"] >= admitted > state.counters["committed"]
    assert state.counters["screened"] >= state.counters["swept"]
    screened_again = state.counters["screened"] - state.counters["proposed"]
    assert (screened_again > 0) == (policy == "reflective")


def test_a_proposal_budget_is_never_overshot() -> None:
    state = bench(GEPA(proposals=4, minibatch=1), budget={"proposals": 10}).run()
    assert state.ledger.spent["proposals"] == 8


@pytest.mark.parametrize("stop_s", [3.0, 9.0])
def test_a_stopped_run_resumes_to_the_same_pool_under_one_step_in_flight(stop_s: float) -> None:
    def pool_of(*stops_s: float) -> Any:
        run = bench(GEPA(proposals=2, minibatch=1), in_flight=1, stops_s=stops_s)
        state = run.run()
        if stops_s:
            assert run.reason == "stop"
            run.stops_s = ()
            state = run.run()
        return state.pool.dump()

    assert pool_of(stop_s) == pool_of()


def test_payloads_survive_json() -> None:
    workflow = workflow_of(GEPA(parents=2, proposals=2))
    ctx = toy(workflow, Random(0))
    codec = TypeAdapter(workflow.payload)
    item, enter = started(workflow, ctx.pool, Random(1))
    result = run_stages(workflow, item, ctx, enter)
    for payload in (item.payload, *([result.payload] if isinstance(result, Item) else [])):
        assert codec.validate_json(codec.dump_json(payload)) == payload
