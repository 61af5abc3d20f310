"""What the benchmarks share: a session in virtual time, with any workflow, model and store.

No world is simulated here: the model answers at once after a virtual second or so, so that what is
measured is the engine, the clock and, if it is real, the store.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from pydantic import TypeAdapter

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.engine import Options
from flashevolve.engine.session import Plan, Session, limits_of
from flashevolve.engine.shared import ScoreKey
from flashevolve.engine.state import RunState
from flashevolve.engine.workflow import Workflow
from flashevolve.llm.calls import Endpoint
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.messages import Reply, Request
from flashevolve.llm.prices import Price
from flashevolve.llm.retry import RetryPolicy
from flashevolve.outcome import Scored
from flashevolve.policies.staleness import Staleness
from flashevolve.store.writer import StoreWriter
from flashevolve.task import Example, Task

IN_FLIGHT = 64


class NumberedModel:
    """Answers after a virtual second or so; no two answers are alike."""

    def __init__(self, chars: int = 0) -> None:
        """`chars`: the length of an answer beyond its number."""
        self.n = 0
        self._filling = "y" * chars

    async def complete(self, request: Request) -> Reply:
        """Answers a request."""
        self.n += 1
        await asyncio.sleep(Random(request.seed).uniform(0.5, 2.0))
        text = f"```\n{request.seed} {self._filling}\n```"
        return Reply(text=text, tokens_in=500, tokens_out=20)

    async def close(self) -> None:
        """Has nothing to free."""


class CountingStore:
    """A store that only counts, so that its own cost is not measured."""

    seq = 0

    def append(self, events: list[ev.Event], t_s: float) -> int:
        """Counts the events."""
        self.seq += len(events)
        return self.seq

    async def durable(self) -> None:
        """Returns at once."""

    def snapshot(self, seq: int, state: Mapping[str, Any]) -> int:
        """Keeps nothing."""
        return 0

    def journal_calls(self, ticket: int) -> list[Any]:
        """Knows of none."""
        return []

    def journal_outcomes(self, ticket: int) -> list[Any]:
        """Knows of none."""
        return []

    def shared_artifacts(self) -> Iterable[str]:
        """Knows of none."""
        return ()

    def shared_scores(self, artifact: str) -> Iterable[tuple[ScoreKey, Scored]]:
        """Knows of none."""
        return ()


async def score(example: Example, output: str) -> float:
    """Scores in the loop: a sync metric would add the cost of handing over to a thread."""
    return float(sum(output[:12].encode()) % 7) / 7


def examples(split: str, n: int, chars: int) -> list[Example]:
    """Returns `n` examples whose inputs have about `chars` characters."""
    return [
        Example(id=f"{split}-{i}", data={"input": f"question {i} " + "p" * chars}) for i in range(n)
    ]


def session_of(
    workflow: Workflow[Any],
    task: Task,
    seed: Artifact,
    model: NumberedModel,
    store: StoreWriter | CountingStore,
    *,
    metric_calls: int,
) -> Session:
    """Returns a run with 64 requests and 64 items in flight, all resources limited."""
    most = 10**12
    limits = limits_of(metric_calls=metric_calls, proposals=most, tokens=most, usd=most)
    codec = TypeAdapter(workflow.payload)
    state = RunState(workflow.new_pool(), limits, codec.validate_python)
    encode = partial(codec.dump_python, mode="json")
    return Session(_plan(workflow, task, seed, model), store, state, encode, store)


def _plan(workflow: Workflow[Any], task: Task, seed: Artifact, model: NumberedModel) -> Plan:
    def endpoints(report: Any) -> Mapping[str, Sequence[Endpoint]]:
        price = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0)
        limiter = Limiter("numbered", IN_FLIGHT, IN_FLIGHT, report)
        return {"": [Endpoint(label="numbered", model=model, limiter=limiter, price=price)]}

    start = ev.RunStarted(
        run_id="benchmark", algorithm=workflow.name, policy="full", schedule="async", rng_seed=0,
        artifact=seed.to_json(), config={}, data={}, pool="",
        stages=[stage.name for stage in workflow.stages],
        simulated=True, pool_state={}, prices={}, package="0",
    )  # fmt: skip
    return Plan(
        workflow=workflow,
        task=task,
        seed=seed,
        endpoints=endpoints,
        options=Options(
            in_flight=IN_FLIGHT,
            workers=IN_FLIGHT,
            queue=2 * IN_FLIGHT,
            staleness=Staleness("full", IN_FLIGHT // 2),
            rng_seed=0,
        ),
        history_tokens=1000,
        gap_rule="scoped",
        max_threads=IN_FLIGHT,
        max_parallel=IN_FLIGHT,
        retry=RetryPolicy(),
        start=start,
        changes={},
    )
