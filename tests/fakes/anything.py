"""Random workflows, models and agents: what the engine's properties are tested on.

A `Shape` is plain data that hypothesis can draw and shrink. Every coin is derived from what it is
for, so a run depends on its shape alone.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.engine.item import Commit, End, EndedByStage, Goto, Item, Needs, Selection
from flashevolve.engine.usercode import AsyncContext
from flashevolve.engine.workflow import Setup, Stage, StageContext, Workflow
from flashevolve.llm.errors import Empty, LLMError, RateLimited, Refused, Transient, Truncated
from flashevolve.llm.messages import Request, user
from flashevolve.policies.speculation import ReleaseKind
from flashevolve.pools.head import HeadPool
from flashevolve.pools.pool import Pool
from flashevolve.task import Example
from tests.fakes.runs import NUMBERS

COMPONENTS = ("c0", "c1", "c2")
ANYTHING_SEED = Artifact({name: name for name in COMPONENTS})


class StageBugError(Exception):
    """What a broken stage raises."""


@dataclass(frozen=True, kw_only=True)
class StageShape:
    """What one stage does."""

    n_calls: int = 0
    mapped: bool = False
    n_evals: int = 0
    fresh: bool = True
    n_proposals: int = 0
    ends: EndedByStage | None = None
    """One item in four ends here, in this way."""
    jumps: bool = False
    """One item in three goes straight to the commit."""
    back_to: int | None = None
    """Every second item goes back to the stage with this number, twice at most."""
    release: ReleaseKind | None = None
    bugs: bool = False
    """One item in eight meets an exception."""


@dataclass(frozen=True, kw_only=True)
class SourceShape:
    """What one source starts."""

    n: int
    enter: int = 0
    reads: tuple[str, ...] = ("component:c0",)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A workflow, its model and its agent."""

    stages: tuple[StageShape, ...]
    sources: tuple[SourceShape, ...]
    gate: int | None = None
    writes: bool = True
    bumps: bool = True
    failing: float = 0.0
    """Share of requests that fail."""
    agent_raises: float = 0.0
    metric_raises: float = 0.0
    salt: int = 0

    def coin(self, *purpose: object) -> Random:
        return Random(f"{self.salt}/" + "/".join(map(str, purpose)))


@dataclass(frozen=True)
class Step:
    """The payload."""

    subject: str
    text: str = ""
    hops: int = 0


@dataclass(frozen=True)
class Starter:
    """A source that starts n items."""

    name: str
    shape: SourceShape

    def select(self, pool: Pool, rng: Random) -> Selection[Step] | None:
        assert isinstance(pool, HeadPool)
        started = pool.state.get(self.name, 0)
        if started >= self.shape.n:
            return None
        return Selection(
            payload=Step(f"{self.name}.{started}"),
            reads=self.shape.reads,
            enter=f"s{self.shape.enter}",
            ops=({"op": "add", "key": self.name, "amount": 1},),
        )


class Anything(Workflow[Step]):
    """The workflow of a shape."""

    name: ClassVar[str] = "anything"
    payload = Step

    def __init__(self, shape: Shape, setup: Setup) -> None:
        self.shape = shape
        self.val_ids = setup.val_ids
        self.sources = [Starter(f"source{i}", s) for i, s in enumerate(shape.sources)]
        self.stages = [self._stage(i, s) for i, s in enumerate(shape.stages)]
        self.gate = None if shape.gate is None else f"s{shape.gate}"  # type: ignore[misc]
        self.cycles = frozenset(  # type: ignore[misc]
            (f"s{i}", f"s{s.back_to}") for i, s in enumerate(shape.stages) if s.back_to is not None
        )

    def _stage(self, i: int, shape: StageShape) -> Stage[Step]:
        async def run(item: Item[Step], ctx: StageContext) -> Item[Step] | Goto[Step] | End:
            return await self.work(i, shape, item, ctx)

        n_fresh, n_shared = (shape.n_evals, 0) if shape.fresh else (0, shape.n_evals)
        needs = Needs(metric_calls=n_fresh, shared=n_shared, proposals=shape.n_proposals)
        routes = ["commit"] if shape.jumps else []
        routes += [f"s{shape.back_to}"] if shape.back_to is not None else []
        return Stage(
            name=f"s{i}",
            run=run,
            needs=lambda item, pool: needs,
            routes=tuple(routes),
            counts="c",
            release=shape.release,
        )

    async def work(
        self, i: int, shape: StageShape, item: Item[Step], ctx: StageContext
    ) -> Item[Step] | Goto[Step] | End:
        coin = self.shape.coin("stage", item.ticket, i, item.payload.hops)
        text = await self.asked(i, shape, item, ctx)
        if shape.n_evals:
            artifact = Artifact({self.component(item): text or "nothing"})
            await ctx.evaluate(artifact, "val", self.val_ids[: shape.n_evals], fresh=shape.fresh)
        if shape.bugs and coin.random() < 1 / 8:
            raise StageBugError(f"item {item.ticket}")
        if shape.ends and coin.random() < 1 / 4:
            return End(shape.ends, "by chance")
        moved = item.with_payload(text=text)
        if shape.back_to is not None and item.payload.hops < 2 and coin.random() < 1 / 2:
            return Goto(f"s{shape.back_to}", moved.with_payload(hops=item.payload.hops + 1))
        if shape.jumps and coin.random() < 1 / 3:
            return Goto("commit", moved)
        return moved

    async def asked(self, i: int, shape: StageShape, item: Item[Step], ctx: StageContext) -> str:
        asked = f"{item.payload.subject} s{i} {item.payload.hops}"

        async def one(key: str, inner: StageContext) -> str:
            return (await inner.chat("reflect", [user(f"{asked} {key}")])).text

        keys = [str(n) for n in range(shape.n_calls)]
        if shape.mapped:
            answers = await ctx.map(one, keys)
        else:
            answers = {key: await one(key, ctx) for key in keys}
        return " ".join([item.payload.text[-20:], *answers.values()])[-40:]

    def new_pool(self) -> HeadPool:
        pool = HeadPool()
        ops = [{"op": "write", "component": c, "text": c} for c in COMPONENTS]
        pool.apply(ops, version=0)
        return pool

    def component(self, item: Item[Step]) -> str:
        return COMPONENTS[item.ticket % len(COMPONENTS)]

    def artifact(self, item: Item[Step]) -> Artifact | None:
        return Artifact({self.component(item): item.payload.text}) if item.payload.text else None

    def patched(self, item: Item[Step], base: Candidate, artifact: Artifact) -> Step:
        return replace(item.payload, text=artifact[self.component(item)])

    def writes(self, item: Item[Step]) -> tuple[str, ...]:
        return (f"component:{self.component(item)}",) if self.shape.writes else ()

    def rebase(self, item: Item[Step], pool: Pool) -> Item[Step] | None:
        if item.ticket % 2:
            return None
        return item.with_payload(text=f"rebased {item.payload.text}")

    def commit(self, item: Item[Step], pool: Pool) -> Commit | End:
        if self.shape.coin("commit", item.ticket).random() < 0.1:
            return End("no-op", "by chance")
        component, text = self.component(item), item.payload.text
        ops: list[dict[str, Any]] = [{"op": "push", "key": "seen", "value": item.ticket}]
        if self.shape.bumps:
            ops.append({"op": "write", "component": component, "text": text})
        return Commit(
            ops=tuple(ops),
            scopes=(f"component:{component}",),
            text=text,
            bumps=self.shape.bumps,
            marks=("front",),
        )


class AnyModel:
    """Answers or fails by chance; another attempt of the same request has another chance."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.attempts: Counter[tuple[str, int | None]] = Counter()

    def __call__(self, request: Request, rng: Random) -> str | LLMError:
        asked = request.messages[-1].text
        key = (asked, request.seed)
        self.attempts[key] += 1
        coin = self.shape.coin("model", request.seed, asked, self.attempts[key])
        if coin.random() < self.shape.failing:
            return self._error(coin)
        if len(request.messages) == 1 and "Choose one verdict" in asked:
            if numbers := NUMBERS.findall(asked):
                told = [n for n in numbers if coin.random() < 0.8]
                verdicts = ", ".join(f'"{n}": {self._verdict(coin)}' for n in told)
                return f'{{"verdicts": {{{verdicts}}}}}'
            return self._verdict(coin)
        if len(request.messages) == 1 and '"components"' in asked:
            return self._verdict(coin)
        return f"{coin.randrange(10**6)}"

    def _verdict(self, coin: Random) -> str:
        component = coin.choice(COMPONENTS)
        patch = f'"components": {{"{component}": "patched {coin.randrange(1000)}"}}'
        kind = coin.choice(["accept", "discard", "patch", "perhaps"])
        return f'{{"verdict": "{kind}", "reason": "so", {patch}}}'

    def _error(self, coin: Random) -> LLMError:
        unlike = f"number {coin.randrange(4)}"
        match coin.randrange(6):
            case 0:
                return RateLimited(unlike, retry_after_s=coin.choice([None, 2.0]))
            case 1:
                return Transient(unlike)
            case 2:
                return Transient(unlike, billed_unknown=True)
            case 3:
                return Refused(unlike)
            case 4:
                return Truncated(unlike)
            case _:
                return Empty(unlike)


class AnyAgent:
    """An agent that asks, sleeps, raises, and now and then swallows what it must not."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.n_runs = 0

    async def __call__(
        self, artifact: Mapping[str, str], example: Example, ctx: AsyncContext
    ) -> str:
        self.n_runs += 1
        coin = self.shape.coin("agent", *artifact.items(), example.id)
        await asyncio.sleep(coin.random())
        if coin.random() < self.shape.agent_raises:
            raise ValueError("the agent is broken here")
        try:
            reply = await ctx.chat("task", f"{example['input']} {coin.randrange(10**6)}")
        except Exception:
            if coin.random() < 0.5:
                return "swallowed"
            raise
        return reply.text


class AnyMetric:
    """A metric that raises now and then."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    async def __call__(self, example: Mapping[str, Any], output: Any) -> float:
        coin = self.shape.coin("metric", output)
        if coin.random() < self.shape.metric_raises:
            raise ValueError(f"cannot score {coin.randrange(3)}")
        return coin.random()
