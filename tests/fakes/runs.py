"""A whole run in memory and in virtual time, with a scripted model."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pydantic import TypeAdapter

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.engine import Options
from flashevolve.engine.session import Plan, Session, limits_of
from flashevolve.engine.state import RunState
from flashevolve.engine.workflow import Setup, Workflow
from flashevolve.llm.calls import Endpoint
from flashevolve.llm.errors import LLMError
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.messages import Request
from flashevolve.llm.prices import Price
from flashevolve.llm.retry import RetryPolicy
from flashevolve.policies.control import Control
from flashevolve.policies.speculation import OFF, Speculation
from flashevolve.policies.staleness import History, Policy, Staleness, When
from flashevolve.simulate.loop import run_virtual
from flashevolve.task import Example, RunFunction, ScoreFunction, Task
from tests.fakes.model import ScriptedModel
from tests.fakes.writer import MemoryStore

SEED = Artifact({"text": "seed"})
PRICE = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0)


def echo(request: Request, rng: Random) -> str | LLMError:
    """Answers with what was asked, and a draw; verdicts where a verdict is asked."""
    asked = request.messages[-1].text
    if "Choose one verdict" in asked:
        numbers = NUMBERS.findall(asked)
        if not numbers:
            return json.dumps(verdict(rng, "text"))
        found = {number: verdict(rng, "text") for number in numbers}
        return json.dumps({"verdicts": found})
    if '"components"' in asked:
        return json.dumps({"components": {"text": f"anew {rng.randrange(10**9)}"}})
    return f"{asked[:40]} {rng.randrange(1000)}"


NUMBERS = re.compile(r"^## Stale text (\d+)$", re.MULTILINE)
"""Of the texts that one call is asked about."""


def verdict(rng: Random, component: str) -> dict[str, Any]:
    """Returns one of the three verdicts."""
    patched = {"components": {component: f"patched {rng.randrange(10**9)}"}}
    return rng.choice(
        [
            {"verdict": "accept", "reason": "new"},
            {"verdict": "discard", "reason": "old"},
            {"verdict": "patch", "reason": "both", **patched},
        ]
    )


def examples(split: str, n: int) -> list[Example]:
    return [Example(id=f"{split}-{i}", data={"input": f"question {i}"}) for i in range(n)]


def length_score(example: Mapping[str, Any], output: Any) -> float:
    return (len(str(output)) % 7) / 7


@dataclass
class Bench:
    """What a run is made of; change a field, then `run()`."""

    workflow: Callable[[Setup], Workflow[Any]]
    policy: Policy = "full"
    delta_max: int = 2
    when: When = "stale"
    history: History = "full"
    repair_batch: int = 1
    in_flight: int = 8
    workers: int = 4
    queue: int = 2
    control: Control = field(default_factory=Control)
    concurrency: int = 8
    accounts: Mapping[str, int] = field(default_factory=dict)
    """Roles with an account of their own, and its concurrency."""
    answer: Callable[[Request, Random], str | LLMError] = echo
    latency_s: Callable[[Random], float] = field(default=lambda rng: rng.lognormvariate(0, 1))
    run_seed: int = 0
    n_val: int = 2
    n_test: int = 0
    replicas: int = 1
    agent: RunFunction | None = None
    score: ScoreFunction = length_score
    budget: dict[str, Any] = field(default_factory=dict)
    deadline_s: float | None = None
    grace_s: float = 5.0
    seed: Artifact = SEED
    max_output_tokens: int = 100
    retry: RetryPolicy = field(default_factory=lambda: RetryPolicy(max_attempts=3))
    before: Callable[[Session], None] = field(default=lambda session: None)
    perfect_score: float = 1.0
    speculation: Speculation = OFF
    stops_s: tuple[float, ...] = ()
    """When `stop()` is called, in virtual seconds since the process began."""
    drive: Callable[[Coroutine[Any, Any, str]], str] = run_virtual

    def __post_init__(self) -> None:
        self.store = MemoryStore()
        self.model = ScriptedModel(self.answer, self.latency_s)
        self.reason = ""
        self.n_tasks_left = 0

    def setup(self) -> Setup:
        return Setup(
            seed=self.seed,
            train_ids=tuple(f"train-{i}" for i in range(5)),
            val_ids=tuple(f"val-{i}" for i in range(self.n_val)),
            perfect_score=self.perfect_score,
        )

    def fresh_workflow(self) -> Workflow[Any]:
        return self.workflow(self.setup())

    def plan(self, workflow: Workflow[Any]) -> Plan:
        def endpoints(
            report: Callable[[str, int, str], None],
        ) -> Mapping[str, Sequence[Endpoint]]:
            def endpoint(account: str, concurrency: int) -> Endpoint:
                return Endpoint(
                    label=account,
                    model=self.model,
                    limiter=Limiter(account, concurrency, concurrency, report),
                    price=PRICE,
                    parameters={"max_output_tokens": self.max_output_tokens},
                )

            own = {role: [endpoint(role, n)] for role, n in self.accounts.items()}
            return {"": [endpoint("fake", self.concurrency)], **own}

        return Plan(
            workflow=workflow,
            task=Task(
                train=examples("train", 5),
                val=examples("val", self.n_val),
                test=examples("test", self.n_test),
                run=self.agent,
                score=self.score,
                replicas=self.replicas,
            ),
            seed=self.seed,
            endpoints=endpoints,
            options=Options(
                in_flight=self.in_flight,
                workers=self.workers,
                queue=self.queue,
                control=self.control,
                staleness=Staleness(self.policy, self.delta_max, when=self.when),
                rng_seed=self.run_seed,
                deadline_s=self.deadline_s,
                grace_s=self.grace_s,
                speculation=self.speculation,
            ),
            history_tokens=500,
            repair_batch=self.repair_batch,
            history=self.history,
            gap_rule="scoped",
            max_threads=self.concurrency,
            max_parallel=self.concurrency,
            retry=self.retry,
            start=ev.RunStarted(
                run_id="run",
                algorithm=workflow.name,
                policy=self.policy,
                schedule="async",
                rng_seed=self.run_seed,
                artifact=self.seed.to_json(),
                config={"staleness": {"history": self.history, "when": self.when}},
                data={},
                pool="",
                stages=[stage.name for stage in workflow.stages],
                simulated=False,
                pool_state={},
                prices={},
                package="0",
            ),
            changes={},
        )

    def run(self) -> RunState:
        """Runs, or resumes what `self.store` holds, to the end; returns the state."""
        workflow = self.fresh_workflow()
        codec = TypeAdapter(workflow.payload)
        state = self.folded(workflow)
        plan = self.plan(workflow)

        def encode(payload: Any) -> Any:
            return codec.dump_python(payload, mode="json")

        session = Session(plan, self.store, state, encode, self.store)
        self.before(session)

        async def main() -> str:
            for at_s in self.stops_s:
                asyncio.get_running_loop().call_later(at_s, session.stop)
            try:
                return await session.run()
            finally:
                self.n_tasks_left = len(asyncio.all_tasks()) - 1

        self.reason = self.drive(main())
        return state

    def folded(self, workflow: Workflow[Any] | None = None) -> RunState:
        """Returns the fold of everything that is in the store."""
        workflow = workflow or self.fresh_workflow()
        codec = TypeAdapter(workflow.payload)
        budget = {"metric_calls": None, "proposals": None, "tokens": None, "usd": None}
        limits = limits_of(**{**budget, **self.budget})
        state = RunState(workflow.new_pool(), limits, codec.validate_python)
        for record in self.store.records:
            state.apply(record)
        return state
