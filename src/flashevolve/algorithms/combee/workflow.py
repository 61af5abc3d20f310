"""Combee's workflow: a batch of reflections becomes one child by a tree of two levels.

    pool <- seed, scored on the validation set
    repeat
        parent      <- drawn by the per-example fronts that it wins
        examples    <- the next b of the shuffled training set
        reflections <- what the parent did on each of them           (`rollout`)
        groups      <- reflections, copied twice, shuffled and cut
                       into floor(sqrt(b)) groups                    (`augmented_shuffle`)
        proposals   <- one rewriting of the component per group
        child       <- the parent with one text of all proposals     (`rewrite`, in `propose`)
        go on if the child beats the parent on the examples          (`screen`)
        scores      <- the child on the validation set               (`evaluate`)
        pool        <- pool + child                                  (`commit`)

Everything but the tree and the batch is GEPA's, merges and options included. Differences from the
paper: a reflection is the record of a rollout with its feedback and costs no call of its own; steps
need not wait for each other, and only a trial runs alone; where the batch is dynamic, a trial is
timed without the full validation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from flashevolve.algorithms.asking import ask
from flashevolve.algorithms.combee import prompts
from flashevolve.algorithms.combee.config import Combee
from flashevolve.algorithms.combee.groups import augmented_shuffle
from flashevolve.algorithms.combee.sources import (
    BatchSource,
    CombeeStep,
    LaterMerges,
    TrialSource,
    batches,
    timed,
)
from flashevolve.algorithms.gepa.prompts import reflect
from flashevolve.algorithms.gepa.sources import MergeSource, Step
from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
from flashevolve.algorithms.records import numbered, record
from flashevolve.engine.item import Item
from flashevolve.engine.workflow import Setup, Source, StageContext
from flashevolve.outcome import Outcome
from flashevolve.pools.pareto import Ops, pareto
from flashevolve.pools.pool import Pool
from flashevolve.task import Example


class CombeeWorkflow(GEPAWorkflow):
    """Combee as GEPA with another batch and another way to rewrite."""

    name: ClassVar[str] = "combee"
    payload: type[Step] = CombeeStep

    def __init__(self, config: Combee, setup: Setup) -> None:
        self.combee = config
        n_train = len(setup.train_ids)
        largest = config.n_examples(n_train)
        self.batches = batches(config.batch_trials, config.batch_tau_s, largest, n_train)
        super().__init__(config, setup)
        if config.batch == "dynamic":
            self.sources = tuple(
                LaterMerges(s, self.batches) if isinstance(s, MergeSource) else s
                for s in self.sources
            )

    def mutations(self) -> tuple[Source[Step], ...]:
        """Returns the source of steps; where the batch is dynamic, that of trials before it."""
        if self.combee.batch != "dynamic":
            return super().mutations()
        sources = (
            kind(self.combee, self.setup, self.batches) for kind in (TrialSource, BatchSource)
        )
        return cast(tuple[Source[Step], ...], tuple(sources))

    def noted(self, examples: Sequence[Example], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
        """Returns the reflections, one per example."""
        shown = self.setup.input
        return {"reflections": tuple(record(e, outcomes[e.id], shown) for e in examples)}

    async def rewrite(self, step: Step, component: str, current: str, ctx: StageContext) -> str:
        """Returns one text of all groups' proposals; with a single group its own."""
        reflections = cast(CombeeStep, step).reflections
        groups = augmented_shuffle(reflections, self.combee.copies, ctx.rng("shuffle"))

        async def aggregate(place: str, ctx: StageContext) -> str:
            examples = numbered(groups[int(place)])
            return await ask(
                ctx, component, reflect(self.config.reflect, component, current, examples)
            )

        proposals = await ctx.map(aggregate, map(str, range(len(groups))))
        if len(proposals) == 1:
            return proposals["0"]
        question = prompts.reduce(component, current, list(proposals.values()))
        return await ask(ctx, component, question, "reduce")

    def learnt(self, item: Item[Step], worked_s: Mapping[str, float], pool: Pool) -> Ops:
        """Returns how long a trial took."""
        return timed(cast(CombeeStep, item.payload), worked_s, pareto(pool).state)
