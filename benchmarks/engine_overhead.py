"""CPU time that engine and clock spend per model call, in virtual time.

    python benchmarks/engine_overhead.py [--calls 20000] [--profile]

A plain workflow (propose, then score on a few examples) over a model that answers at once after a
virtual latency, and a store in memory: what is left is the engine, the journal's keys and the loop.
"""

import argparse
import asyncio
import cProfile
import pstats
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.engine import Options
from flashevolve.engine.evaluation import SharedKey
from flashevolve.engine.item import Commit, End, Item, Needs, Selection
from flashevolve.engine.session import Plan, Session, limits_of
from flashevolve.engine.state import RunState
from flashevolve.engine.workflow import Stage, StageContext, Workflow
from flashevolve.llm.calls import Endpoint
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.messages import Reply, Request, user
from flashevolve.llm.prices import Price
from flashevolve.llm.retry import RetryPolicy
from flashevolve.policies.staleness import Staleness
from flashevolve.pools.head import HeadPool
from flashevolve.pools.pool import Pool
from flashevolve.simulate.loop import run_virtual
from flashevolve.task import Example, Task

N_EXAMPLES = 9
"""With the proposal ten calls per item, as in a small minibatch run."""
AIM_MS = 0.2


@dataclass(frozen=True)
class Draft:
    """The payload."""

    text: str = ""


class Starter:
    """Starts n items."""

    name = "start"

    def __init__(self, n: int) -> None:
        self.n = n

    def select(self, pool: Pool, rng: Random) -> Selection[Draft] | None:
        """Returns the next of n, counted in the pool."""
        assert isinstance(pool, HeadPool)
        if pool.state.get("started", 0) >= self.n:
            return None
        ops = ({"op": "add", "key": "started", "amount": 1},)
        return Selection(payload=Draft(), ops=ops)


class Plain(Workflow[Draft]):
    """Propose a text, score it, make it the head."""

    name: ClassVar[str] = "plain"
    payload = Draft

    def __init__(self, n: int, val_ids: Sequence[str]) -> None:
        self.val_ids = val_ids
        self.sources = [Starter(n)]
        self.stages = [
            Stage(name="propose", run=self.propose, needs=lambda item, pool: Needs(proposals=1)),
            Stage(
                name="score",
                run=self.score,
                needs=lambda item, pool: Needs(metric_calls=len(val_ids)),
            ),
        ]

    async def propose(self, item: Item[Draft], ctx: StageContext) -> Item[Draft]:
        """Asks for a text."""
        reply = await ctx.chat("reflect", [user(f"Improve draft {item.ticket}. " + "x" * 2000)])
        return item.with_payload(text=reply.text)

    async def score(self, item: Item[Draft], ctx: StageContext) -> Item[Draft]:
        """Evaluates it on every example."""
        await ctx.evaluate(Artifact({"text": item.payload.text}), "val", self.val_ids, fresh=True)
        return item

    def new_pool(self) -> HeadPool:
        """Returns a pool with an empty head."""
        return HeadPool(Artifact({"text": ""}))

    def commit(self, item: Item[Draft], pool: Pool) -> Commit | End:
        """Makes the text the head."""
        op = {"op": "write", "component": "text", "text": item.payload.text}
        return Commit(ops=(op,), text="rewritten")


class Model:
    """Answers after a virtual second or so."""

    n = 0

    async def complete(self, request: Request) -> Reply:
        """Answers a request."""
        self.n += 1
        await asyncio.sleep(Random(request.seed).uniform(0.5, 2.0))
        return Reply(text=f"answer {request.seed}", tokens_in=500, tokens_out=20)

    async def close(self) -> None:
        """Has nothing to free."""


async def score(example: Example, output: str) -> float:
    """Scores in the loop: a sync metric would add the cost of handing over to a thread."""
    return float(len(output) % 7)


class Memory:
    """A store that only counts, so that its own cost is not measured."""

    seq = 0

    def append(self, events: list[ev.Event], t_s: float) -> int:
        """Counts the events."""
        self.seq += len(events)
        return self.seq

    async def durable(self) -> None:
        """Returns at once."""

    def snapshot(self, seq: int, state: Mapping[str, Any]) -> None:
        """Keeps nothing."""

    def journal_calls(self, ticket: int) -> list[Any]:
        """Knows of none."""
        return []

    def journal_outcomes(self, ticket: int) -> list[Any]:
        """Knows of none."""
        return []

    def shared_scores(self) -> Iterable[tuple[SharedKey, float]]:
        """Knows of none."""
        return ()


def plan(workflow: Plain, model: Model, seed: Artifact, val: Sequence[Example]) -> Plan:
    """Returns a run with 64 requests and 64 items in flight."""

    def endpoints(report: Any) -> Mapping[str, Sequence[Endpoint]]:
        price = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0)
        limiter = Limiter("plain", 64, 64, report)
        return {"": [Endpoint(label="plain", model=model, limiter=limiter, price=price)]}

    start = ev.RunStarted(
        run_id="overhead", algorithm="plain", policy="full", schedule="async", rng_seed=0,
        artifact=seed.to_json(), config={}, data={}, pool="", stages=["propose", "score"],
        simulated=True, pool_state={}, prices={}, package="0",
    )  # fmt: skip
    return Plan(
        workflow=workflow,
        task=Task(train=(), val=val, score=score),
        seed=seed,
        endpoints=endpoints,
        options=Options(
            in_flight=64, workers=64, queue=128, staleness=Staleness("full", 32), rng_seed=0
        ),
        history_tokens=1000,
        gap_rule="scoped",
        max_threads=64,
        max_parallel=64,
        retry=RetryPolicy(),
        start=start,
        changes={},
    )


def run(n_calls: int, *, limited: bool) -> tuple[int, float]:
    """Runs about `n_calls` calls; returns how many there were and the CPU seconds."""
    seed = Artifact({"text": "seed"})
    val = [Example(id=f"v{i}", data={"input": f"question {i}"}) for i in range(N_EXAMPLES)]
    workflow = Plain(max(1, n_calls // (N_EXAMPLES + 1)), [e.id for e in val])
    model = Model()
    most = 10**12 if limited else None
    limits = limits_of(metric_calls=most, proposals=most, tokens=most, usd=most)
    state = RunState(workflow.new_pool(), limits, lambda data: Draft(**data))
    memory = Memory()
    session = Session(plan(workflow, model, seed, val), memory, state, vars, memory)
    began_s = time.process_time()
    run_virtual(session.run())
    return model.n, time.process_time() - began_s


def main() -> None:
    """Prints CPU milliseconds per call, with a profile if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    arguments = parser.parse_args()
    run(200, limited=True)  # Imports and caches.
    profile = cProfile.Profile()
    if arguments.profile:
        profile.enable()
    n, cpu_s = run(arguments.calls, limited=True)
    profile.disable()
    print(f"{n} calls, {cpu_s:.2f} s of CPU, {1000 * cpu_s / n:.3f} ms per call (aim {AIM_MS})")
    if arguments.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    main()
