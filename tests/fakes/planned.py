"""GEPA's evaluation and pool under a plan: who is derived from whom, what it scores, and when.

What an artifact scores, how long each example takes and how long its screening takes are written
down beforehand, so that a test can put every event of a speculation where it wants it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from flashevolve.algorithms.gepa import GEPA
from flashevolve.algorithms.gepa.sources import Step
from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
from flashevolve.engine.item import Item, Selection
from flashevolve.engine.workflow import Setup, Stage, StageContext
from flashevolve.outcome import Outcome
from flashevolve.pools.pareto import pareto, put
from flashevolve.pools.pool import Pool
from flashevolve.task import Example
from tests.fakes.runs import Bench


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One artifact: its text is its name."""

    scores: Sequence[float]
    """On val-0, val-1, ..."""
    parent: str | None = None
    """Its step starts as soon as this one is in the pool."""
    screen_s: float = 0.0
    """From its selection to the gate."""
    example_s: Sequence[float] = ()
    """What each example takes; missing ones take a second."""


Plan = Mapping[str, Planned]


@dataclass(frozen=True)
class PlanSource:
    """Starts the next one whose parent can be selected."""

    plan: Plan
    name: str = "plan"

    def select(self, pool: Pool, rng: Random) -> Selection[Step] | None:
        known = pareto(pool)
        started: list[str] = list(known.state.get("started", []))
        for name, planned in self.plan.items():
            if name in started:
                continue
            parent = None
            if planned.parent is not None:
                parent = next((c for c in known.means if text_of(known, c) == planned.parent), None)
                if parent is None:
                    continue
            lineage = () if parent is None else (parent,)
            return Selection(
                payload=Step(parents=lineage, child={"text": name}),
                lineage=lineage,
                ops=(put("started", [*started, name]),),
            )
        return None


def text_of(pool: Pool, candidate: int) -> str:
    return pool.candidates[candidate].artifact["text"]


class PlannedWorkflow(GEPAWorkflow):
    """Screens by waiting; evaluates and commits as GEPA does."""

    def __init__(self, plan: Plan, setup: Setup) -> None:
        super().__init__(GEPA(merge=False), setup)
        self.plan = plan
        self.sources = (PlanSource(plan),)
        self.stages = (
            Stage(name="screen", run=self.wait),
            *(stage for stage in self.stages if stage.name == "evaluate"),
        )

    async def wait(self, item: Item[Step], ctx: StageContext) -> Item[Step]:
        name = (item.payload.child or {})["text"]
        if name in self.plan:
            await asyncio.sleep(self.plan[name].screen_s)
        return item


def planned_bench(plan: Plan, **changes: Any) -> Bench:
    """Returns a bench whose validation set is as long as the plan's scores."""
    n_val = len(next(iter(plan.values())).scores)

    async def agent(artifact: Mapping[str, str], example: Example) -> Outcome:
        planned = plan.get(artifact["text"])
        place = int(example.id.split("-")[1])
        if planned is None:
            return Outcome(score=0.0, output=artifact["text"])
        took_s = planned.example_s[place] if place < len(planned.example_s) else 1.0
        await asyncio.sleep(took_s)
        return Outcome(score=planned.scores[place], output=artifact["text"])

    options = {"agent": agent, "n_val": n_val, "concurrency": 64, "delta_max": 99, **changes}
    return Bench(lambda setup: PlannedWorkflow(plan, setup), **options)
