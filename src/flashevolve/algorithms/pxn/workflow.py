"""GEPA with PxN sampling: one step is P parents, each with N proposals, stage by stage together.

    tasks     <- P parents, each with N minibatches             (`PxNSource`)
    outcomes  <- every parent on its minibatches                (`rollout`)
    children  <- one proposal per task                          (`propose`)
    go on with those that beat their parent, none twice         (`screen`)
    scores    <- all of them on the validation set              (`evaluate`)
    pool      <- pool + all of them, in one transaction         (`commit`)

Each stage waits for its slowest request, as gepa's own does: under the sync schedule this is its
parallel mode. What happens to one task is GEPA's workflow's; here is only what they have in common.
Invariants: tasks keep their order; one that ends leaves the step, and the last to leave ends it; a
text proposed twice is screened on each task's own examples against each one's own parent, so that
the first proposal's bad luck does not decide for both, and of those that pass the first stays; a
transaction admits children one after the other, so that each sees those before it.
"""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from typing import ClassVar

from flashevolve.algorithms.gepa.config import GEPA
from flashevolve.algorithms.gepa.sources import MutateSource, Step
from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
from flashevolve.algorithms.pxn.sources import PxNSource, Tasks, together
from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.engine.item import Commit, End, Item, Minimum, Needs
from flashevolve.engine.workflow import Setup, Stage, StageContext, Workflow
from flashevolve.pools.pareto import ParetoPool, pareto
from flashevolve.pools.pool import Pool

Result = Item[Step] | End
TWIN = End("no-op", "duplicate of another proposal of the step")
Run = Callable[[Item[Step], StageContext], Awaitable[Result]]


class PxNWorkflow(Workflow[Tasks]):
    """GEPA's stages, each done for all tasks of a step before the next."""

    name: ClassVar[str] = "gepa"
    gate: ClassVar[str | None] = "screen"
    payload = Tasks

    def __init__(self, config: GEPA, setup: Setup) -> None:
        self.host = GEPAWorkflow(config, setup)
        self.n_tasks = config.parents * config.proposals
        self.setup = setup
        *others, mutate = self.host.sources
        assert isinstance(mutate, MutateSource)
        self.sources = (
            *map(together, others),
            PxNSource(mutate, config.parents, config.proposals),
        )
        runs = (self.rollout, self.propose, self.screen, self.evaluate)
        self.stages = tuple(
            Stage(
                name=stage.name,
                run=run,
                needs=_sum_of(stage),
                counts=stage.counts,
                stands_for=lambda item: item.payload.n_counted,
            )
            for stage, run in zip(self.host.stages, runs, strict=True)
        )

    def minimum(self) -> Minimum:
        """Returns what the seed's validation and one whole step need."""
        n, one, n_val = self.n_tasks, self.host.minimum(), len(self.setup.val_ids)
        why = f"{n_val} for the seed on val, {n} x ({one.metric_calls} and {n_val}) for one step"
        return Minimum(
            metric_calls=n * one.metric_calls,
            shared=(n + 1) * n_val,
            seed=n_val,
            proposals=n,
            why=why,
        )

    def new_pool(self) -> ParetoPool:
        """Returns an empty pool."""
        return self.host.new_pool()

    async def rollout(self, item: Item[Tasks], ctx: StageContext) -> Item[Tasks] | End:
        """Runs every parent on its examples."""
        return _joined(item, await _each(item, ctx, self.host.rollout))

    async def propose(self, item: Item[Tasks], ctx: StageContext) -> Item[Tasks] | End:
        """Has every task's component rewritten; what would be screened alike goes on once."""
        return _joined(item, _untwinned(await _each(item, ctx, self.host.propose), _trial))

    async def screen(self, item: Item[Tasks], ctx: StageContext) -> Item[Tasks] | End:
        """Lets every child pass that beats its parent; of twins that pass the first stays."""
        results = await _each(item, ctx, self.host.screen)
        n_screened = sum(isinstance(r, Item) or r.outcome == "rejected" for r in results)
        return _joined(item, _untwinned(results, _text), n_screened)

    async def evaluate(self, item: Item[Tasks], ctx: StageContext) -> Item[Tasks] | End:
        """Scores every child on the whole validation set."""
        return _joined(item, await _each(item, ctx, self.host.evaluate))

    def commit(self, item: Item[Tasks], pool: Pool) -> Commit | End:
        """Admits the children one by one, each as if it came from a step of its own."""
        items, commits = _items(item), list[Commit]()
        # Built anew, so that the real pool stays as it is, whatever the two would share inside.
        scratch = pareto(pool) if len(items) == 1 else ParetoPool.load(pool.dump())
        seen: set[str] = set()
        end: End | None = None
        for one in items:
            child = Artifact(one.payload.child or {})
            decided = TWIN if child.hash in seen else self.host.commit(one, scratch)
            if isinstance(decided, End):
                end = end or decided
                continue
            seen.add(child.hash)
            commits.append(decided)
            if len(items) > 1:
                scratch.apply(decided.ops, version=scratch.version)
        if not commits:
            return end or End("no-op", "no child is left")
        return Commit(
            ops=tuple(op for commit in commits for op in commit.ops),
            text="\n\n".join(commit.text for commit in commits),
            marks=_marks_of(commits),
        )

    def artifact(self, item: Item[Tasks]) -> Artifact | None:
        """Returns the first child, once there are children: a repair looks at one text."""
        return self.host.artifact(_items(item)[0])

    def patched(self, item: Item[Tasks], base: Candidate, artifact: Artifact) -> Tasks:
        """Returns the tasks with the first one patched; the others are screened again beside it."""
        first, *others = _items(item)
        patch = self.host.patched(first, base, artifact)
        return Tasks(steps=(patch, *(other.payload for other in others)))


def _marks_of(commits: Sequence[Commit]) -> tuple[str, ...]:
    """Returns all marks; `admitted`, which the transaction counts once, stands between children."""
    first, *others = commits
    return (*first.marks, *(mark for one in others for mark in ("admitted", *one.marks)))


def _as(item: Item[Tasks], step: Step) -> Item[Step]:
    return replace(item, payload=step)  # type: ignore[arg-type,return-value]


def _items(item: Item[Tasks]) -> list[Item[Step]]:
    return [_as(item, step) for step in item.payload.steps]


async def _each(item: Item[Tasks], ctx: StageContext, run: Run) -> list[Result]:
    """Runs a stage on all tasks at once; returns what became of each, in order."""
    tasks = dict(zip(map(str, range(len(item.payload.steps))), _items(item), strict=True))

    async def one(place: str, ctx: StageContext) -> Result:
        return await run(tasks[place], ctx)

    return list((await ctx.map(one, tasks)).values())


def _text(step: Step) -> Hashable:
    return Artifact(step.child or {}).hash


def _trial(step: Step) -> Hashable:
    return _text(step), step.parents, frozenset(step.examples)


def _untwinned(results: Sequence[Result], key: Callable[[Step], Hashable]) -> list[Result]:
    """Ends those that have the key of one before them."""
    seen, kept = set[Hashable](), list[Result]()
    for result in results:
        if isinstance(result, Item):
            found = key(result.payload)
            kept.append(TWIN if found in seen else result)
            seen.add(found)
        else:
            kept.append(result)
    return kept


def _joined(
    item: Item[Tasks], results: Sequence[Result], n_counted: int | None = None
) -> Item[Tasks] | End:
    """Returns the step with the tasks that go on; if none does, its end.

    That is rejected if one was, since it got furthest, else what the first one was.
    """
    on = tuple(result.payload for result in results if isinstance(result, Item))
    if on:
        n = len(on) if n_counted is None else n_counted
        return replace(item, payload=Tasks(steps=on, n_counted=n))
    ends = [result for result in results if isinstance(result, End)]
    rejected = [end for end in ends if end.outcome == "rejected"]
    last = (rejected or ends)[0]
    reason = "; ".join(dict.fromkeys(end.reason for end in ends))
    return End(last.outcome, reason, useless=all(end.useless for end in ends))


def _sum_of(stage: Stage[Step]) -> Callable[[Item[Tasks], Pool], Needs]:
    def needs(item: Item[Tasks], pool: Pool) -> Needs:
        every = [stage.needs(one, pool) for one in _items(item)]
        return Needs(
            metric_calls=sum(one.metric_calls for one in every),
            shared=sum(one.shared for one in every),
            proposals=sum(one.proposals for one in every),
        )

    return needs
