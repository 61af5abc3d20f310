"""Workflow: GEPA's, with DSPy's own reflection on the traces of a program.

    rollout   runs the parent, then turns its traces into gepa's reflective dataset
    propose   has the program's proposer write new instructions from that

The rest is GEPA's. What the dataset holds besides JSON (images, histories) lives in memory from one
stage to the next; after a kill between them, its JSON form stands in.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from flashevolve.algorithms.gepa.sources import Step
from flashevolve.engine.context import BoundContext
from flashevolve.engine.item import End, Item
from flashevolve.engine.threads import DaemonThreads
from flashevolve.engine.usercode import SyncContext
from flashevolve.engine.workflow import Setup, StageContext
from flashevolve.errors import ConfigError
from flashevolve.integrations.dspy.program import Program
from flashevolve.integrations.gepa.config import Adapted
from flashevolve.integrations.gepa.errors import OURS
from flashevolve.integrations.gepa.workflow import AdaptedStep, AdaptedWorkflow, Objects
from flashevolve.outcome import Outcome
from flashevolve.task import Example


@checked(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class DspyGEPA(Adapted):
    """GEPA with a program of DSPy. Made by `GEPA.compile`, which adds the objects."""

    @property
    def objectives_fix(self) -> str:
        """What to do where a metric names none although it must."""
        return (
            "Return dspy.Prediction(score=..., objective_scores={name: score}) from the metric, or "
            "set frontier_type='instance' in gepa_kwargs"
        )

    def workflow(self, setup: Setup) -> "DspyWorkflow":
        """Returns the workflow for one run. Raises `ConfigError` without the user's objects."""
        objects = getattr(self, "_objects", None)
        if objects is None:
            raise ConfigError(
                "this run was started by flashevolve.integrations.dspy with a program that its "
                "directory does not hold; call compile again with the same arguments and log_dir"
            )
        return DspyWorkflow(self, setup, objects)


@dataclass(frozen=True)
class Bridge:
    """What the workflow needs besides gepa's objects."""

    program: Program
    threads: DaemonThreads
    whole: bool
    """Whether the proposer is the user's, who may rewrite components together: one call for all."""

    @property
    def adapter(self) -> Any:
        """The adapter, as gepa's port has it."""
        return self.program.adapter

    def take(self, ticket: int, ids: Sequence[str]) -> None:
        """Returns no batch: traces of a screen are not kept."""


class DspyWorkflow(AdaptedWorkflow):
    """GEPA's workflow over a program of DSPy."""

    def __init__(self, config: DspyGEPA, setup: Setup, objects: Objects) -> None:
        super().__init__(config, setup, objects)
        # Where an adapter of gepa's would have its port.
        self._bridge = cast(Bridge, objects.port)

    def noted(self, examples: Sequence[Example], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
        """Notes nothing: `rollout` makes the dataset of the traces."""
        return {}

    async def rollout(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Runs the parent on the examples, then makes the reflective dataset of the traces."""
        program = self._bridge.program
        try:
            rolled = await super(AdaptedWorkflow, self).rollout(item, ctx)
            if isinstance(rolled, End):
                return rolled
            step = rolled.payload
            parent = ctx.pool.candidates[step.parents[0]].artifact
            known = program.known(item.ticket, step.examples)
            lost = [e for e in step.examples if e not in known]
            for example_id in lost:
                await self._again(item, ctx, parent, example_id)
            batch = program.batch(item.ticket, step.examples)
            components = step.components or self._components(step, ctx, batch)
            rng = ctx.rng("reflective")
            dataset = await self._in_thread(
                ctx, "dataset",
                lambda inner: program.reflective(
                    inner, parent, step.examples, components, rng
                ),
            )  # fmt: skip
            why = program.trouble(item.ticket)
        finally:
            program.forget(item.ticket)
        if not dataset:
            reason = f"no trace that a component could be improved by{why and ': '}{why}"
            # A predictor that these examples did not reach is no cause to stop.
            useless = not batch.trajectories or set(components) == set(parent)
            return End("skipped", reason, useless=useless)
        self.objects.datasets[item.ticket] = dataset
        if self.objects.built is not None:
            self.objects.built(item.ticket, step.parents[0], components, dataset)
        return rolled.with_payload(components=components, dataset=_json(dataset))

    async def propose(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Has the proposer write the chosen components anew."""
        step = item.payload
        assert isinstance(step, AdaptedStep)
        parent = ctx.pool.candidates[step.parents[0]].artifact
        dataset = self.objects.datasets.pop(item.ticket, None) or dict(step.dataset)
        names = [name for name in step.components if name in dataset]
        groups = {"all": names} if self._bridge.whole else {name: [name] for name in names}

        async def rewrite(key: str, inner: StageContext) -> dict[str, str]:
            chosen = {name: dataset[name] for name in groups[key]}
            propose = self._bridge.program.propose
            found: dict[str, str] = await self._in_thread(
                inner, key,
                lambda asking: propose(asking, parent, chosen, groups[key]),
            )  # fmt: skip
            return found

        try:
            written = await ctx.map(rewrite, groups)
        except OURS:
            raise
        except Exception as error:
            # The boundary to the user's proposer, and to replies that DSPy could not read.
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            return End("skipped", f"no new text from the proposer: {said}", useless=True)
        texts = {name: text for found in written.values() for name, text in found.items()}
        if not texts or not all(isinstance(t, str) and t.strip() for t in texts.values()):
            return End("skipped", "no new text from the proposer: it is empty", useless=True)
        if self.objects.proposed is not None:
            self.objects.proposed(item.ticket, texts)
        # A duplicate of a candidate is found by the screen.
        return item.with_payload(child=parent.replace(texts).to_json(), dataset={})

    async def _again(
        self, item: Item[Step], ctx: StageContext, artifact: Any, example_id: str
    ) -> None:
        """Runs a rollout whose outcome is recorded and whose trace is lost; nothing is charged."""
        example, program = ctx.example(example_id), self._bridge.program
        # As the evaluation named its calls, so that the journal answers them.
        map_key = f"{artifact.hash[:12]}/train/{example_id}/{item.ticket}"
        sample = (artifact.hash, "train", example_id, item.ticket)

        def run(inner: SyncContext) -> None:
            with suppress(Exception):  # It is noted as a rollout that taught nothing.
                program.score(example, program.run(artifact, example, inner), inner)

        await self._in_thread(ctx, map_key, run, sample=sample)

    async def _in_thread(
        self,
        ctx: StageContext,
        map_key: str,
        function: Callable[[SyncContext], Any],
        *,
        sample: tuple[object, ...] | None = None,
    ) -> Any:
        """Calls a function of the user's in a thread; its calls are the item's."""
        loop = asyncio.get_running_loop()
        # A loop in virtual time has threads of its own.
        threads = None if hasattr(loop, "call_from_thread") else self._bridge.threads
        async with cast(BoundContext, ctx).lent(map_key, sample) as lent:
            return await loop.run_in_executor(threads, partial(_contained, function, lent))


def _contained(function: Callable[[SyncContext], Any], asking: SyncContext) -> Any:
    try:
        with asking.at_work():
            return function(asking)
    except (StopIteration, SystemExit) as error:
        # A future refuses the one, and the other would end the loop.
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _json(dataset: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(dataset, default=str))
