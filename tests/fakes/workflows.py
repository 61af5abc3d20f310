"""Three small algorithms that are not GEPA, so that GEPA alone does not shape the engine.

- `Reduction`: one step asks n models and reduces their answers to one candidate.
- `Deltas`: steps append lines to a head (they commute) and now and then rewrite it (they do not).
- `SolveEvolve`: solving collects evidence in the pool; another source takes it and evolves.
"""

from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.engine.item import Commit, End, Goto, Item, Needs, Selection
from flashevolve.engine.workflow import Setup, Stage, StageContext, Workflow
from flashevolve.llm.messages import user
from flashevolve.pools.head import HeadPool
from flashevolve.pools.pool import Pool


@dataclass(frozen=True)
class Note:
    """The payload of all three: what is worked on, and the text so far."""

    subject: str = ""
    text: str = ""


@dataclass(frozen=True)
class Every:
    """A source that starts `n` steps."""

    name: str
    n: int
    enter: str | None = None
    reads: tuple[str, ...] = ("component:text",)

    def select(self, pool: Pool, rng: Random) -> Selection[Note] | None:
        assert isinstance(pool, HeadPool)
        started = pool.state.get(self.name, 0)
        if started >= self.n:
            return None
        ops = ({"op": "add", "key": self.name, "amount": 1},)
        return Selection(
            payload=Note(subject=f"{self.name}{started}"),
            reads=self.reads,
            enter=self.enter,
            ops=ops,
        )


class HeadWorkflow(Workflow[Note]):
    """What the three share: a head with one component, `text`."""

    name: ClassVar[str] = "head"
    payload = Note

    def __init__(self, setup: Setup, n: int = 20) -> None:
        self.seed = setup.seed
        self.val_ids = setup.val_ids
        self.n = n

    def new_pool(self) -> HeadPool:
        pool = HeadPool()
        pool.apply([{"op": "write", "component": "text", "text": self.seed["text"]}], version=0)
        return pool

    def artifact(self, item: Item[Note]) -> Artifact | None:
        return Artifact({"text": item.payload.text}) if item.payload.text else None

    def patched(self, item: Item[Note], base: Candidate, artifact: Artifact) -> Note:
        return replace(item.payload, text=artifact["text"])

    async def check(self, item: Item[Note], ctx: StageContext) -> Item[Note] | End:
        artifact = Artifact({"text": item.payload.text})
        outcomes = await ctx.evaluate(artifact, "val", self.val_ids, fresh=True)
        if all(outcome.score == 0 for outcome in outcomes.values()):
            return End("rejected", "scores nothing")
        return item

    def check_stage(self) -> Stage[Note]:
        n = len(self.val_ids)
        return Stage(
            name="check",
            run=self.check,
            needs=lambda item, pool: Needs(metric_calls=n),
            counts="screened",
        )


class Reduction(HeadWorkflow):
    """Each step maps over three questions and reduces the answers to a whole new text."""

    name = "reduction"
    gate = "check"

    def __init__(self, setup: Setup, n: int = 20) -> None:
        super().__init__(setup, n)
        self.sources = [Every("step", n)]
        self.stages = [
            Stage(
                name="reduce",
                run=self.reduce,
                needs=lambda item, pool: Needs(proposals=1),
                counts="proposed",
            ),
            self.check_stage(),
        ]

    async def reduce(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
        async def ask(key: str, inner: StageContext) -> str:
            return (await inner.chat("reflect", [user(f"{item.payload.subject} {key}")])).text

        answers = await ctx.map(ask, ["a", "b", "c"])
        joined = " ".join(answers[key] for key in sorted(answers))
        reply = await ctx.chat("reflect", [user(f"reduce: {joined}")])
        return item.with_payload(text=reply.text)

    def writes(self, item: Item[Note]) -> tuple[str, ...]:
        return ("component:text",)

    def rebase(self, item: Item[Note], pool: Pool) -> Item[Note] | None:
        """Every second step can be redone on the head as it is; the others are lost."""
        assert isinstance(pool, HeadPool)
        if item.ticket % 2:
            return None
        return item.with_payload(text=f"{pool.head['text'][-40:]} | {item.payload.text}")

    def commit(self, item: Item[Note], pool: Pool) -> Commit | End:
        assert isinstance(pool, HeadPool)
        if pool.head["text"] == item.payload.text:
            return End("no-op", "the head already says so")
        op = {"op": "write", "component": "text", "text": item.payload.text}
        return Commit(ops=(op,), scopes=("component:text",), text=item.payload.text)


class Deltas(HeadWorkflow):
    """Steps append lines: whatever the order of commits, no line is lost."""

    name = "deltas"

    def __init__(self, setup: Setup, n: int = 20) -> None:
        super().__init__(setup, n)
        self.sources = [Every("sample", n)]
        self.stages = [
            Stage(name="generate", run=self.generate),
            Stage(
                name="curate",
                run=self.curate,
                needs=lambda item, pool: Needs(proposals=1),
                counts="proposed",
            ),
        ]

    async def generate(self, item: Item[Note], ctx: StageContext) -> Item[Note] | End:
        reply = await ctx.chat("task", [user(item.payload.subject)])
        if ctx.rng("skip").random() < 0.1:
            return End("skipped", "nothing to learn")
        return item.with_payload(text=reply.text)

    async def curate(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
        reply = await ctx.chat("reflect", [user(f"curate {item.payload.text}")])
        return item.with_payload(text=f"{item.payload.subject}: {reply.text}")

    def commit(self, item: Item[Note], pool: Pool) -> Commit | End:
        op = {"op": "append", "component": "text", "line": item.payload.text}
        return Commit(ops=(op,), scopes=("component:text",), text=f"+ {item.payload.text}")


class SolveEvolve(HeadWorkflow):
    """Solving leaves evidence in the pool; with three pieces unused, evolving takes them."""

    name = "solve-evolve"

    def __init__(self, setup: Setup, n: int = 20) -> None:
        super().__init__(setup, n)
        self.sources = [Evidence(), Every("solve", n, enter="solve", reads=())]
        self.stages = [
            Stage(name="solve", run=self.solve, routes=("commit",)),
            Stage(
                name="evolve",
                run=self.evolve,
                needs=lambda item, pool: Needs(proposals=1),
                counts="proposed",
            ),
            self.check_stage(),
        ]

    async def solve(self, item: Item[Note], ctx: StageContext) -> Goto[Note]:
        reply = await ctx.chat("task", [user(f"solve {item.payload.subject}")])
        return Goto("commit", item.with_payload(text=reply.text))

    async def evolve(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
        reply = await ctx.chat("reflect", [user(f"evolve {item.payload.text}")])
        return item.with_payload(text=reply.text)

    def writes(self, item: Item[Note]) -> tuple[str, ...]:
        return ("component:text",) if item.source == "evidence" else ()

    def commit(self, item: Item[Note], pool: Pool) -> Commit | End:
        text = item.payload.text
        if item.source == "solve":
            op: dict[str, Any] = {"op": "push", "key": "evidence", "value": text}
            return Commit(ops=(op,), scopes=("evidence",), bumps=False)
        op = {"op": "write", "component": "text", "text": text}
        return Commit(ops=(op,), scopes=("component:text",), text=text)


class Evidence:
    """Takes three pieces of evidence that nobody has used."""

    name = "evidence"

    def select(self, pool: Pool, rng: Random) -> Selection[Note] | None:
        assert isinstance(pool, HeadPool)
        found = pool.state.get("evidence", [])
        used = pool.state.get("used", 0)
        if len(found) - used < 3:
            return None
        return Selection(
            payload=Note(subject="evolve", text=" ".join(found[used : used + 3])),
            reads=("component:text",),
            enter="evolve",
            ops=({"op": "add", "key": "used", "amount": 3},),
        )


WORKFLOWS: tuple[type[HeadWorkflow], ...] = (Reduction, Deltas, SolveEvolve)
