"""GEPA's workflow: select -> roll out -> propose -> screen -> evaluate -> admit.

    pool <- seed, scored on the validation set
    repeat
        parent    <- drawn by the per-example fronts that it wins   (`MutateSource`)
        examples  <- the next slice of the shuffled training set
        outcomes  <- the parent on the examples                     (`rollout`)
        child     <- the parent with a component rewritten by a
                     model that reads the outcomes                  (`propose`)
        go on if the child beats the parent on the examples         (`screen`)
        scores    <- the child on the validation set                (`evaluate`)
        pool      <- pool + child                                   (`commit`)
        a merge of two candidates is due                            (`MergeSource`)

Differences from GEPA's implementation (0.1.4), each with a test: replies that are empty or hold no
fenced text are not adopted; a child identical to any candidate ends as a no-op; ancestors that all
score zero do not stop a merge; an example that padding repeats in a minibatch counts once; a step
that is skipped has moved the component pointer; order never depends on the hash seed.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from flashevolve.algorithms.asking import ask
from flashevolve.algorithms.components import inherit
from flashevolve.algorithms.gepa import prompts
from flashevolve.algorithms.gepa.sources import (
    MergeSource,
    MutateSource,
    SeedSource,
    Step,
    admission,
)
from flashevolve.algorithms.insertion import in_words, number
from flashevolve.algorithms.objectives import swept
from flashevolve.algorithms.options import Options
from flashevolve.algorithms.records import records
from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.engine.item import Commit, End, Item, Minimum, Needs
from flashevolve.engine.workflow import Setup, Source, Stage, StageContext, Workflow
from flashevolve.llm.errors import Empty, Refused, Truncated
from flashevolve.outcome import Outcome
from flashevolve.policies.speculation import exceeds
from flashevolve.pools.pareto import Ops, ParetoPool, confirm, insert, pareto
from flashevolve.pools.pool import Pool
from flashevolve.replies.fences import ReplyError
from flashevolve.task import Example


class GEPAWorkflow(Workflow[Step]):
    """GEPA as sources, stages, pool and commit rule."""

    name: ClassVar[str] = "gepa"
    gate: ClassVar[str | None] = "screen"
    payload: type[Step] = Step

    def __init__(self, config: Options, setup: Setup) -> None:
        if config.merge and len(setup.seed) == 1:
            warnings.warn(
                "merge=True has no effect: a merge combines changes to different components, and "
                "the seed has only one.",
                stacklevel=3,
            )
            config = replace(config, merge=False)
        self.config, self.setup = config, setup
        self.sweep_ids: Callable[[Item[Step]], Sequence[str]] = lambda item: setup.val_ids
        merge = (MergeSource(config, self.payload),) if config.merge else ()
        self.sources = (SeedSource(setup, self.payload), *merge, *self.mutations())
        self.stages = (
            Stage(name="rollout", run=self.rollout, needs=_runs_examples, release="rollout"),
            Stage(name="propose", run=self.propose, needs=_proposes, counts="proposed"),
            Stage(name="screen", run=self.screen, needs=_runs_examples, counts="screened"),
            Stage(
                name="evaluate", run=self.evaluate, needs=self._val, counts="swept", release="sweep"
            ),
        )

    def minimum(self) -> Minimum:
        """Returns what the seed's validation and one whole step need."""
        n_val = len(self.setup.val_ids)
        n = self.config.n_examples(len(self.setup.train_ids))
        why = f"{n_val} for the seed on val, 2 x {n} and {n_val} for one step"
        return Minimum(metric_calls=2 * n, shared=2 * n_val, seed=n_val, proposals=1, why=why)

    def new_pool(self) -> ParetoPool:
        """Returns an empty pool."""
        return ParetoPool(self.config.frontier)

    def mutations(self) -> tuple[Source[Step], ...]:
        """Returns the sources of mutations."""
        n = self.config.n_examples(len(self.setup.train_ids))
        return (MutateSource(self.config, self.setup, n, self.payload),)

    async def rollout(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Runs the parent on the examples, afresh, and notes what happened.

        The step goes on with the examples of which the outcome is known: all, unless the stage was
        released early.
        """
        step = item.payload
        parent = ctx.pool.candidates[step.parents[0]].artifact
        outcomes = await ctx.evaluate(parent, "train", step.examples, fresh=True)
        scores = {e: outcome.score for e, outcome in outcomes.items()}
        if self.config.skip_perfect and min(scores.values()) >= self.setup.perfect_score:
            return End("skipped", f"the parent is perfect on all {len(scores)} examples")
        noted = self.noted([ctx.example(e) for e in outcomes], outcomes)
        return item.with_payload(examples=tuple(outcomes), base_scores=scores, **noted)

    def noted(self, examples: Sequence[Example], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
        """Returns the fields of the step that say what the parent did on the examples."""
        return {"records": records(examples, outcomes, self.setup.input)}

    async def propose(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Has a model rewrite each chosen component in the light of the records."""
        step = item.payload
        parent = ctx.pool.candidates[step.parents[0]].artifact

        async def rewrite(name: str, ctx: StageContext) -> str:
            return await self.rewrite(step, name, parent[name], ctx)

        try:
            texts = await ctx.map(rewrite, step.components)
        except (ReplyError, Refused, Truncated, Empty) as error:
            return End("skipped", f"no new text from the reflecting model: {error}", useless=True)
        child = parent.replace(texts)
        return _no_op(child, ctx.pool) or item.with_payload(child=child.to_json())

    async def rewrite(self, step: Step, component: str, current: str, ctx: StageContext) -> str:
        """Returns the new text of a component."""
        question = prompts.reflect(self.config.reflect, component, current, step.records)
        return await ask(ctx, component, question)

    async def screen(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Lets a child pass that beats its parent on the examples; a merge may equal the better.

        A mutation and its parent are run afresh; a merge is judged by validation scores, which
        are shared.
        """
        step, strict = item.payload, self.config.acceptance == "strict"
        if end := _no_op(_child(step), ctx.pool):
            return end
        if step.split == "val":
            parents = [ctx.pool.candidates[p].scores for p in step.parents]
            old, strict = max(_sum(scores, step) for scores in parents), False
        else:
            base_scores = dict(step.base_scores or {})
            if missing := _missing(step):
                base = ctx.pool.candidates[step.parents[0]].artifact
                found = await ctx.evaluate(base, "train", missing, fresh=True)
                base_scores |= {e: found[e].score for e in missing}
                item = item.with_payload(base_scores=base_scores)
            old = _sum(base_scores, step)
        fresh = step.split == "train"
        outcomes = await ctx.evaluate(_child(step), step.split, step.examples, fresh=fresh)
        new = _sum({e: outcome.score for e, outcome in outcomes.items()}, step)
        if new > old or (new == old and not strict):
            return item
        verdict = f"{number(new)} {'<=' if strict else '<'} {number(old)}"
        return End("rejected", f"{verdict} on {len(step.examples)} examples")

    async def evaluate(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Scores the child on the validation set."""
        child = _child(item.payload)
        if end := _no_op(child, ctx.pool, own=item.ticket):
            return end
        outcomes = await ctx.evaluate(child, "val", self.sweep_ids(item), fresh=False)
        return item.with_payload(**swept(outcomes, self.config, is_seed=not item.payload.parents))

    def speculate(self, item: Item[Step], pool: Pool) -> Commit | None:
        """Inserts a child that so far beats the best candidate on the same examples."""
        pool, step, child = pareto(pool), item.payload, _child(item.payload)
        best = pool.best()
        if best is None or _no_op(child, pool) or not exceeds(step.scores, best.scores):
            return None
        ops = (_inserted(item, best.id), *inherit(pool.state, pool.next_id, step.parents))
        return Commit(ops=ops, text=in_words(pool.next_id, child, step.scores, step.parents, pool))

    def confirms(self, item: Item[Step], candidate: Candidate, pool: Pool) -> bool:
        """Says whether a child that was inserted early beats the best of then on all examples."""
        assert candidate.reference is not None
        return exceeds(item.payload.scores, pool.candidates[candidate.reference].scores)

    def commit(self, item: Item[Step], pool: Pool) -> Commit | End:
        """Admits the child with its scores; an admitted mutation makes a merge due."""
        pool, step, child = pareto(pool), item.payload, _child(item.payload)
        if end := _no_op(child, pool, own=item.ticket):
            return end
        known = pool.unconfirmed(item.ticket)
        if known is not None:
            candidate = known.id
            ops: Ops = (confirm(candidate, step.scores, step.objectives),)
        else:
            candidate = pool.next_id
            ops = (_inserted(item), *inherit(pool.state, candidate, step.parents))
        return Commit(
            ops=(*ops, *admission(item.source, pool, self.config)),
            text=in_words(candidate, child, step.scores, step.parents, pool),
            marks=pool.marks(step.scores, step.objectives) if step.parents else (),
        )

    def artifact(self, item: Item[Step]) -> Artifact | None:
        """Returns the child, once there is one."""
        return _child(item.payload) if item.payload.child else None

    def patched(self, item: Item[Step], base: Candidate, artifact: Artifact) -> Step:
        """Returns the step with the patched child of `base`, to be screened where it was."""
        patch = replace(item.payload, parents=(base.id,), child=artifact.to_json())
        return replace(patch, base_scores=None, scores={}, objectives={})

    def _val(self, item: Item[Step], pool: Pool) -> Needs:
        n_known = len(item.payload.examples) if item.payload.split == "val" else 0
        return Needs(shared=len(self.setup.val_ids) - n_known)


def _runs_examples(item: Item[Step], pool: Pool) -> Needs:
    """A rollout runs the parent; a screen runs the child, and after a repair its new parent too."""
    step = item.payload
    if step.split == "val":
        return Needs(shared=len(step.examples))
    return Needs(metric_calls=len(step.examples) + (len(_missing(step)) if step.child else 0))


def _proposes(item: Item[Step], pool: Pool) -> Needs:
    return Needs(proposals=1)


def _missing(step: Step) -> tuple[str, ...]:
    """Returns the examples on which the parent has to be run before the child can be screened."""
    known = step.base_scores or {}
    return () if step.split == "val" else tuple(e for e in step.examples if e not in known)


def _child(step: Step) -> Artifact:
    return Artifact(step.child or {})


def _inserted(item: Item[Step], reference: int | None = None) -> dict[str, Any]:
    step, ticket = item.payload, item.ticket
    return insert(_child(step), step.parents, step.scores, ticket, reference, step.objectives)


def _no_op(child: Artifact, pool: Pool, own: int = 0) -> End | None:
    """Ends a duplicate; what item `own` has inserted and not yet confirmed is none."""
    pool = pareto(pool)
    twin, early = pool.contains(child), pool.unconfirmed(own)
    if twin is None or (early is not None and early.id == twin):
        return None
    return End("no-op", f"duplicate of candidate {twin}")


def _sum(scores: Mapping[str, float], step: Step) -> float:
    return sum(scores[e] for e in step.examples)
