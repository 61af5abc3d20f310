"""Differential tests against gepa 0.1.4, both sides drawing from one generator's stream.

gepa iterates over sets of candidate ids, whose order is ascending only while ids are below 8 (the
smallest hash table). Exact draws are therefore compared on up to 8 candidates; for more, the
distributions from which the draws are made are.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import gepa
import pytest
from gepa.core.adapter import EvaluationBatch
from gepa.core.data_loader import ListDataLoader
from gepa.gepa_utils import find_dominator_programs, select_program_candidate_from_pareto_front
from gepa.proposer.merge import (
    MergeProposer,
    find_common_ancestor_pair,
    sample_and_attempt_merge_programs_by_common_predictors,
)
from gepa.strategies.batch_sampler import EpochShuffledBatchSampler
from gepa.strategies.instruction_proposal import InstructionProposalSignature
from hypothesis import assume, given
from hypothesis import strategies as st

from flashevolve.algorithms.gepa import GEPA
from flashevolve.algorithms.gepa.merge import TRIED, find_merge, find_triplet
from flashevolve.algorithms.minibatch import next_minibatch
from flashevolve.artifact import Artifact
from flashevolve.engine.item import Commit
from flashevolve.engine.workflow import Setup
from flashevolve.llm.messages import Message
from flashevolve.policies.sampling import contrasting_ids
from flashevolve.policies.selection import (
    current_best,
    draw_parent,
    epsilon_greedy,
    front_weights,
    prune,
)
from flashevolve.pools.pareto import ParetoPool, insert
from flashevolve.replies.fences import ReplyError, fenced_text
from flashevolve.task import Split
from tests.fakes.context import FakeContext, step

seeds = st.integers(0, 10_000)


class Recording:
    """A generator that only notes what it was asked to choose from."""

    def choice(self, options: Sequence[int]) -> int:
        self.options = list(options)
        return options[0]


@st.composite
def fronts_and_means(
    draw: st.DrawFn, n: int
) -> tuple[dict[str, tuple[int, ...]], dict[int, float]]:
    sets = draw(
        st.lists(st.sets(st.integers(0, n - 1), min_size=1, max_size=n), min_size=1, max_size=15)
    )
    means = draw(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=n, max_size=n)
        | st.lists(st.floats(0, 1), min_size=n, max_size=n)
    )
    fronts = {f"v{i:02d}": tuple(sorted(front)) for i, front in enumerate(sets)}
    return fronts, dict(enumerate(means))


# -- selection ---------------------------------------------------------------------------------


@given(fronts_and_means(n=25))
def test_pruning_and_weights_are_gepas(given: Any) -> None:
    fronts, means = given
    ours = front_weights(fronts, means)
    rng = Recording()
    select_program_candidate_from_pareto_front(fronts, list(means.values()), rng)
    assert Counter(rng.options) == Counter(ours)
    assert sorted(prune(fronts, means)) == sorted(
        find_dominator_programs(fronts, list(means.values()))
    )


@given(fronts_and_means(n=8), seeds)
def test_parents_are_drawn_as_gepa_draws_them(given: Any, seed: int) -> None:
    fronts, means = given
    ours, theirs = Random(seed), Random(seed)
    as_sets = {e: set(front) for e, front in fronts.items()}
    for _ in range(5):
        assert draw_parent(
            front_weights(fronts, means), ours
        ) == select_program_candidate_from_pareto_front(as_sets, list(means.values()), theirs)
    assert ours.getstate() == theirs.getstate()


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1), seeds)
def test_the_other_selectors_draw_as_gepas_do(scores: list[float], seed: int) -> None:
    from gepa.strategies.candidate_selector import (
        CurrentBestCandidateSelector,
        EpsilonGreedyCandidateSelector,
    )

    state = SimpleNamespace(program_full_scores_val_set=scores, program_candidates=scores)
    means, ours = dict(enumerate(scores)), Random(seed)
    greedy = EpsilonGreedyCandidateSelector(0.4, Random(seed))
    assert current_best(means) == CurrentBestCandidateSelector().select_candidate_idx(state)
    for _ in range(10):
        assert epsilon_greedy(means, ours, 0.4) == greedy.select_candidate_idx(state)


# -- minibatches -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "size"), [(9, 3), (10, 3), (11, 4), (7, 1), (2, 3), (1, 4), (5, 5)])
def test_minibatches_are_gepas_over_several_epochs(n: int, size: int) -> None:
    ids = [f"t{i}" for i in range(n)]
    sampler = EpochShuffledBatchSampler(size, Random(7))
    pool, rng = ParetoPool(), Random(7)
    for i in range(6 * n):
        theirs = sampler.next_minibatch_ids(ListDataLoader(ids), SimpleNamespace(i=i))
        ours, ops = next_minibatch(pool.state, ids, size, rng)
        pool.apply(ops, version=0)
        assert ours == [ids[place] for place in theirs]


# -- merge -------------------------------------------------------------------------------------


@st.composite
def family(draw: st.DrawFn) -> ParetoPool:
    """A pool of up to 8 candidates with three components, grown by mutations and crossings."""
    pool = ParetoPool()
    names, ids = ["a", "b", "c"], [f"v{i}" for i in range(6)]
    texts = dict.fromkeys(names, "seed")
    score = st.sampled_from([0.25, 0.5, 1.0])
    for c in range(draw(st.integers(3, 8))):
        parents: list[int] = []
        if c:
            parents = draw(st.lists(st.integers(0, c - 1), min_size=1, max_size=2, unique=True))
            texts = dict(pool.candidates[parents[0]].artifact)
            for name in draw(st.sets(st.sampled_from(names), min_size=1, max_size=2)):
                texts[name] = draw(st.sampled_from([f"{name} by {c}", f"{name} common"]))
        scores = {e: draw(score) for e in ids}
        pool.apply([insert(Artifact(texts), parents=parents, scores=scores, ticket=c)], version=c)
    return pool


def as_gepa_sees(pool: ParetoPool) -> dict[str, Any]:
    return {
        "agg_scores": list(pool.means.values()),
        "program_candidates": [dict(c.artifact) for c in pool.candidates.values()],
    }


def parents_of(pool: ParetoPool) -> list[list[int | None]]:
    return [list(c.parents) or [None] for c in pool.candidates.values()]


@given(family(), seeds)
def test_merge_triplets_are_gepas(pool: ParetoPool, seed: int) -> None:
    candidates, ours, theirs = sorted(pool.candidates), Random(seed), Random(seed)
    expected = find_common_ancestor_pair(
        theirs, parents_of(pool), candidates, ([], []), **as_gepa_sees(pool)
    )
    assert find_triplet(pool, candidates, [], ours) == expected
    assert ours.getstate() == theirs.getstate()


@given(family(), seeds)
def test_successive_merges_are_gepas(pool: ParetoPool, seed: int) -> None:
    """Texts, parents and memory; where both sides changed a component under equal means, the
    draw's order over components is gepa's set order, so those families are left out."""
    assume(len(set(pool.means.values())) == len(pool.means))
    candidates, ours, theirs = sorted(pool.candidates), Random(seed), Random(seed)
    performed: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(4):
        expected = sample_and_attempt_merge_programs_by_common_predictors(
            rng=theirs,
            merge_candidates=candidates,
            merges_performed=performed,
            parent_program_for_candidate=parents_of(pool),
            **as_gepa_sees(pool),
        )
        found = find_merge(pool, candidates, overlap_floor=5, rng=ours)
        assert ours.getstate() == theirs.getstate()
        if expected is None:
            assert found is None
            return
        assert found is not None
        assert (dict(found.artifact), *found.parents, found.ancestor) == expected
        performed[0].append(expected[1:])
        pool.apply(found.ops, version=pool.version)
    assert len(pool.state[TRIED]) == 4


scores_of_five_or_more = st.integers(5, 8).flatmap(
    lambda n: st.tuples(*[st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n)] * 2)
)


@given(scores_of_five_or_more, seeds)
def test_the_merge_subsample_is_gepas(scores: tuple[list[float], list[float]], seed: int) -> None:
    proposer = MergeProposer(
        logger=SimpleNamespace(),
        valset=ListDataLoader([]),
        evaluator=None,
        use_merge=True,
        max_merge_invocations=5,
        rng=Random(seed),
    )
    theirs = proposer.select_eval_subsample_for_merged_program(
        *(dict(enumerate(side)) for side in scores)
    )
    first, second = ({f"v{e}": score for e, score in enumerate(side)} for side in scores)
    assert list(contrasting_ids(first, second, 5, Random(seed))) == [f"v{e}" for e in theirs]


def test_gepa_dies_of_ancestors_that_score_zero_and_we_draw_one() -> None:
    """A seed that fails everywhere is common on hard tasks, and is just where merging helps."""
    pool = ParetoPool()
    for c, (texts, score) in enumerate(
        [({"a": "x", "b": "x"}, 0.0), ({"a": "y", "b": "x"}, 0.5), ({"a": "x", "b": "y"}, 0.5)]
    ):
        parents = [0] if c else []
        op = insert(Artifact(texts), parents=parents, scores={"v": score}, ticket=c)
        pool.apply([op], version=c)
    with pytest.raises(ValueError, match="Total of weights must be greater than zero"):
        find_common_ancestor_pair(
            Random(0), parents_of(pool), [1, 2], ([], []), **as_gepa_sees(pool)
        )
    assert find_triplet(pool, [1, 2], [], Random(0)) == (1, 2, 0)


# -- replies -----------------------------------------------------------------------------------

plain = st.text(st.characters(codec="utf-8", exclude_characters="`\r"), min_size=1).filter(
    lambda text: text.strip()
)


@given(plain, st.sampled_from(["", "text", "markdown"]), plain)
def test_fenced_texts_are_read_as_gepa_reads_them(text: str, tag: str, prose: str) -> None:
    reply = f"{prose}\n```{tag}\n{text}\n```\n{prose}"
    theirs = InstructionProposalSignature.output_extractor(reply)["new_instruction"]
    assert fenced_text(reply) == theirs


@pytest.mark.parametrize("reply", ["I cannot help with that.", "", "```\ncut in the mid", "``````"])
def test_gepa_adopts_what_is_not_fenced_and_we_do_not(reply: str) -> None:
    """An apology, an empty answer or a cut one as the new prompt costs a whole screening, and on
    noisy metrics it can get in."""
    assert isinstance(InstructionProposalSignature.output_extractor(reply)["new_instruction"], str)
    with pytest.raises(ReplyError, match="expected one block between ``` fences"):
        fenced_text(reply)


def test_gepa_leaves_a_backtick_of_longer_fences_and_we_do_not() -> None:
    reply = "````\nUse:\n```\nx\n```\n````"
    assert InstructionProposalSignature.output_extractor(reply)["new_instruction"].endswith("`")
    assert fenced_text(reply).endswith("x\n```")


# -- whole runs --------------------------------------------------------------------------------


def toy_score(text: str, example: str) -> float:
    """The same arbitrary world for both: each text solves some examples."""
    return float(Random(f"{text}|{example}").random() < 0.45)


class ToyAdapter:
    """gepa's side of the toy world."""

    propose_new_texts = None

    def evaluate(
        self, batch: list[str], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch:
        scores = [toy_score("|".join(candidate.values()), example) for example in batch]
        return EvaluationBatch(outputs=batch, scores=scores, trajectories=batch)

    def make_reflective_dataset(self, candidate: Any, batch: Any, components: Any) -> Any:
        return {name: [{"output": "x"}] for name in components}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("names", "skip"), [(["system"], True), (["answer", "plan", "search"], False)]
)
def test_a_synchronous_run_is_gepas(seed: int, names: list[str], skip: bool) -> None:
    """Same parents, minibatches, components, gate and pool, iteration by iteration.

    The reflecting model is a counter. Two settings keep differences on purpose out: nothing is
    skipped where there are several components (we advance the pointer at selection, gepa after
    the skip), and 9 examples divide by 3 (no minibatch repeats an example).
    """
    train, val = [f"t{i}" for i in range(9)], [f"v{i}" for i in range(6)]
    start = {name: f"seed {name}" for name in names}
    n_iterations = 0

    class Count:
        def on_iteration_start(self, event: Any) -> None:
            nonlocal n_iterations
            n_iterations += 1

    texts = iter(range(1000))
    result = gepa.optimize(
        seed_candidate=start,
        trainset=train,
        valset=val,
        adapter=ToyAdapter(),
        reflection_lm=lambda prompt: f"```\ntext {next(texts)}\n```",
        stop_callbacks=lambda state: len(state.program_candidates) >= 8 or state.i >= 60,
        callbacks=[Count()],
        logger=SimpleNamespace(log=lambda message: None),
        skip_perfect_score=skip,
        seed=seed,
    )

    replies = iter(range(1000))

    def answer(messages: Sequence[Message]) -> str:
        return f"```\ntext {next(replies)}\n```"

    def score(artifact: Artifact, split: Split, example: str) -> float:
        return toy_score("|".join(artifact.values()), example)

    setup = Setup(seed=Artifact(start), train_ids=tuple(train), val_ids=tuple(val))
    workflow = GEPA(minibatch=3, skip_perfect=skip).workflow(setup)
    pool, rng = workflow.new_pool(), Random(seed)
    ctx = FakeContext(pool, score=score, answer=answer)
    assert isinstance(step(workflow, pool, ctx, rng), Commit)
    for _ in range(n_iterations):
        step(workflow, pool, ctx, rng)
    assert [dict(c.artifact) for c in pool.candidates.values()] == result.candidates
    assert parents_of(pool) == result.parents
    assert [list(c.scores.values()) for c in pool.candidates.values()] == [
        [scores[place] for place in range(len(val))] for scores in result.val_subscores
    ]
    assert len(pool.candidates) > 2
