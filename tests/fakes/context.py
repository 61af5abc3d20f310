"""A stage context that runs everything at once, and a driver that takes items through a workflow.

No engine, queue or budget: what a workflow does is what it answers and what it asks the context.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeVar

from flashevolve.artifact import Artifact
from flashevolve.engine.item import Commit, End, Goto, Item, Selection
from flashevolve.engine.record import ops_of
from flashevolve.engine.workflow import Capped, Workflow
from flashevolve.llm.messages import Message, Reply
from flashevolve.outcome import Outcome
from flashevolve.pools.pool import Pool
from flashevolve.task import Example, Split

T = TypeVar("T")


@dataclass(frozen=True)
class Evaluation:
    """One call of `evaluate`."""

    artifact: Artifact
    split: Split
    example_ids: tuple[str, ...]
    fresh: bool


@dataclass(frozen=True)
class Chat:
    """One call of `chat`."""

    role: str
    messages: tuple[Message, ...]
    name: str


@dataclass
class FakeContext:
    """Scores by `score(artifact, split, example id)`, answers by `answer(messages)`."""

    pool: Pool
    score: Callable[[Artifact, Split, str], float] = lambda artifact, split, example: 0.0
    answer: Callable[[Sequence[Message]], str] = lambda messages: ""
    examples: Mapping[str, Example] = field(default_factory=dict)
    evaluations: list[Evaluation] = field(default_factory=list)
    chats: list[Chat] = field(default_factory=list)

    def rng(self, purpose: str = "") -> Random:
        return Random(purpose)

    def example(self, example_id: str) -> Example:
        return self.examples.get(example_id) or Example(
            id=example_id, data={"input": f"the input of {example_id}"}
        )

    async def chat(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        name: str = "",
        response_schema: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        self.chats.append(Chat(role, tuple(messages), name))
        return Reply(text=self.answer(messages))

    async def map(
        self,
        function: Callable[[str, "FakeContext"], Awaitable[T]],
        keys: Iterable[str],
        *,
        release: float | None = None,
    ) -> dict[str, T]:
        return {key: await function(key, self) for key in keys}

    async def evaluate(
        self, artifact: Artifact, split: Split, example_ids: Sequence[str], *, fresh: bool
    ) -> dict[str, Outcome]:
        self.evaluations.append(Evaluation(artifact, split, tuple(example_ids), fresh))
        return {
            e: Outcome(score=self.score(artifact, split, e), output="an output", feedback="why")
            for e in example_ids
        }


def started(
    workflow: Workflow[Any], pool: Pool, rng: Random, ticket: int = 1
) -> tuple[Item[Any], str]:
    """Asks the sources in order; applies the selection's operations; returns item and stage."""
    for source in workflow.sources:
        if isinstance(source, Capped) and source.cap(pool) <= 0:
            continue
        selection: Selection[Any] | None = source.select(pool, rng)
        if selection is not None:
            pool.apply(ops_of(selection, ticket), version=pool.version)
            item = Item(
                ticket=ticket,
                source=source.name,
                payload=selection.payload,
                version=pool.version,
                reads=selection.reads,
                lineage=selection.lineage,
            )
            return item, selection.enter or workflow.stages[0].name
    raise AssertionError("no source started anything")


def run_stages(
    workflow: Workflow[Any], item: Item[Any], ctx: FakeContext, first: str, last: str | None = None
) -> Item[Any] | End:
    """Takes an item through the stages from `first` to `last`, both included."""
    names = [stage.name for stage in workflow.stages]
    end = names.index(last) if last else len(names) - 1
    for stage in workflow.stages[names.index(first) : end + 1]:
        result = asyncio.run(_run(stage.run, item, ctx))
        if isinstance(result, End):
            return result
        assert not isinstance(result, Goto)
        item = result
    return item


def step(
    workflow: Workflow[Any], pool: Pool, ctx: FakeContext, rng: Random, ticket: int = 1
) -> Commit | End:
    """One whole step: selection, stages, commit, and the commit applied to the pool."""
    item, enter = started(workflow, pool, rng, ticket)
    result = run_stages(workflow, item, ctx, enter)
    if isinstance(result, End):
        return result
    commit = workflow.commit(result, pool)
    if isinstance(commit, Commit):
        pool.apply(commit.ops, version=pool.version + commit.bumps)
    return commit


def repaired(workflow: Workflow[Any], item: Item[Any], pool: Pool, artifact: Artifact) -> Item[Any]:
    """Patches an item as the engine does, onto the workflow's repair base."""
    base = workflow.repair_base(item, pool)
    assert base is not None
    payload = workflow.patched(item, base, artifact)
    return replace(item, payload=payload, version=pool.version, lineage=(base.id,), repairs=1)


async def _run(function: Any, item: Item[Any], ctx: FakeContext) -> Any:
    return await function(item, ctx)
