"""GEPA's workflow through an adapter of gepa's.

Sources, pool, commit rule and repair are ours, unchanged. What differs is what a step reads and who
writes: the rollout's traces become a reflective dataset, made by the adapter in the same stage, and
the new texts come from a model of ours, the adapter, a function, or gepa's `ReflectionLM`. Traces
are the adapter's own objects, live in memory only, and never leave their stage; the dataset is in
the step's payload. After a kill in between, the rollout is run again, uncharged.
"""

import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from flashevolve.algorithms.gepa.sources import MutateSource, Step
from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
from flashevolve.artifact import Artifact
from flashevolve.engine.context import BoundContext
from flashevolve.engine.item import End, Item
from flashevolve.engine.usercode import SyncContext
from flashevolve.engine.workflow import Setup, StageContext
from flashevolve.errors import TaskError
from flashevolve.integrations.gepa.batches import Texts, checked_dataset, checked_texts
from flashevolve.integrations.gepa.config import Adapted
from flashevolve.integrations.gepa.data import Table
from flashevolve.integrations.gepa.errors import OURS
from flashevolve.integrations.gepa.mirror import Mirror
from flashevolve.integrations.gepa.port import Port, at_work
from flashevolve.integrations.gepa.reflection import Template, ask, from_json, question, to_json
from flashevolve.integrations.gepa.sources import AdaptedSource
from flashevolve.llm.errors import Empty, Refused, Truncated
from flashevolve.outcome import Outcome
from flashevolve.pools.pareto import pareto
from flashevolve.replies.fences import ReplyError


@dataclass(kw_only=True)
class Objects:
    """What a run has of the user's, and what stands between them and the engine."""

    port: Port
    mirror: Mirror
    train: Table
    val: Table
    order: tuple[str, ...]
    """The components as the user ordered them; an artifact sorts them by name."""
    template: Template = None
    proposer: Callable[..., Any] | None = None
    """Writes new texts; None = a model of ours does."""
    proposer_name: str = ""
    reflector: Any = None
    """gepa's `ReflectionLM`; replaced by what its `reflect` returns."""
    selector: Any = None
    sampler: Any = None
    components: Any = None
    acceptance: Any = None
    validation: Any = None
    """gepa's objects where the user brought one; None = ours, as the settings say."""
    log: Callable[[str], None] = field(default=lambda line: None)
    datasets: dict[int, Any] = field(default_factory=dict)
    """Ticket -> the dataset as the adapter made it, until it was reflected on."""
    built: Callable[[int, int, Sequence[str], Any], None] | None = None
    """Told of each dataset: ticket, candidate, components, dataset."""
    traced: Callable[[int, str, Any], None] | None = None
    """Told of a batch with traces: ticket, stage, batch."""
    proposed: Callable[[int, Texts], None] | None = None
    """Told of new texts: ticket, texts."""
    subsets: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Ticket -> validation ids that the user's policy chose for its child."""
    warn: Callable[[str], None] = field(default=lambda line: None)
    warned: set[str] = field(default_factory=set)
    """Methods of which it was told already that they raise."""

    def raised(self, method: str, error: Exception) -> End:
        """Tells what user code raised, with its traceback, and returns the end of the step."""
        tell = self.log if method in self.warned else self.warn
        self.warned.add(method)
        trace = "".join(traceback.format_exception(error)).rstrip()
        tell(f"{method} raised {error!r}; the step is skipped\n{trace}")
        said = " ".join(f"{method} raised {type(error).__name__}: {error}".split())
        whose = "the adapter" if "adapter" in method or "dataset" in method else method
        return End("skipped", said.rstrip(". "), useless=True, hint=f"Mend {whose}")


@dataclass(frozen=True, kw_only=True)
class AdaptedStep(Step):
    """A step with its reflective dataset."""

    dataset: Mapping[str, list[Any]] = field(default_factory=dict)
    subset: tuple[str, ...] = ()
    """Validation ids that the user's policy chose for the child; empty = all, or not asked yet."""


class AdaptedWorkflow(GEPAWorkflow):
    """GEPA's stages, with an adapter in place of a run function."""

    name: ClassVar[str] = "gepa"
    payload: type[Step] = AdaptedStep

    def __init__(self, config: Adapted, setup: Setup, objects: Objects) -> None:
        self.objects = objects
        super().__init__(config, setup)
        self.sweep_ids = self._picked
        if config.proposer != "model":
            self.roles = ()  # type: ignore[misc]

    def mutations(self) -> tuple[MutateSource, ...]:
        """Returns the sources of mutations."""
        n = self.config.n_examples(len(self.setup.train_ids))
        return (AdaptedSource(self.config, self.setup, n, self.payload, objects=self.objects),)

    # -- rollout ------------------------------------------------------------

    async def rollout(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Runs the parent on the examples with traces, and has the adapter make its dataset."""
        step, objects = item.payload, self.objects
        parent = ctx.pool.candidates[step.parents[0]].artifact
        outcomes = await ctx.evaluate(parent, "train", step.examples, fresh=True)
        ids = tuple(outcomes)
        scores = {e: outcome.score for e, outcome in outcomes.items()}
        batch = objects.port.take(item.ticket, ids)
        if objects.traced is not None and batch is not None:
            objects.traced(item.ticket, "rollout", batch)
        if self.config.skip_perfect and min(scores.values()) >= self.setup.perfect_score:
            return End("skipped", f"the parent is perfect on all {len(scores)} examples")
        if batch is None:
            async with cast(BoundContext, ctx).lent("again") as lent:
                batch = await objects.port.again(parent, "train", ids, _Asks(ctx), lent)
        if not batch.trajectories:
            return End("skipped", "the adapter returned no trajectories", useless=True)
        components = step.components or self._components(step, ctx, batch)
        try:
            async with cast(BoundContext, ctx).lent("dataset") as lent:
                found = await objects.port.call(
                    at_work(lent, objects.port.adapter.make_reflective_dataset),
                    objects.mirror.texts(parent),
                    batch,
                    list(components),
                    alone=True,
                )
            dataset = checked_dataset(found)
        except OURS:
            raise
        except Exception as error:
            # gepa, too, goes on without: adapters raise here when nothing can be learnt.
            return objects.raised("make_reflective_dataset", error)
        objects.datasets[item.ticket] = dataset
        if objects.built is not None:
            objects.built(item.ticket, step.parents[0], components, dataset)
        return item.with_payload(
            examples=ids, base_scores=scores, components=components, dataset=to_json(dataset)
        )

    def _components(self, step: Step, ctx: StageContext, batch: Any) -> tuple[str, ...]:
        """Asks the user's selector which components to rewrite."""
        mirror, pool = self.objects.mirror, pareto(ctx.pool)
        state = mirror.sync()
        parent = step.parents[0]
        texts = mirror.texts(pool.candidates[parent].artifact)
        index = mirror.index_of(parent, pool)
        found = self.objects.components(state, batch.trajectories, list(batch.scores), index, texts)
        if isinstance(found, str) or not found or any(name not in texts for name in found):
            raise TaskError(
                f"module_selector: expected a list of components out of {', '.join(texts)}, found "
                f"{found!r:.80}. Mend it"
            )
        return tuple(found)

    # -- propose ------------------------------------------------------------

    async def propose(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Has new texts written for the chosen components in the light of the dataset."""
        step, objects = item.payload, self.objects
        assert isinstance(step, AdaptedStep)
        parent = ctx.pool.candidates[step.parents[0]].artifact
        dataset = objects.datasets.pop(item.ticket, None) or from_json(step.dataset)
        try:
            if objects.proposer is not None or objects.reflector is not None:
                async with cast(BoundContext, ctx).lent("written") as lent:
                    texts = await self._written(item, parent, dataset, lent)
            else:
                texts = await self._asked(step, parent, dataset, ctx)
        except (ReplyError, Refused, Truncated, Empty) as error:
            return End("skipped", f"no new text from the reflecting model: {error}", useless=True)
        except OURS:
            raise
        except Exception as error:
            return objects.raised(objects.proposer_name, error)
        if not texts or any(not text.strip() for text in texts.values()):
            return End("skipped", "the proposal holds no new text", useless=True)
        if objects.proposed is not None:
            objects.proposed(item.ticket, texts)
        child = parent.replace(texts)
        twin = pareto(ctx.pool).contains(child)
        if twin is not None:
            return End("no-op", f"duplicate of candidate {twin}")
        # The dataset has served; a payload is written with every stage that follows.
        return replace(item, payload=replace(step, child=child.to_json(), dataset={}))

    async def _asked(
        self, step: Step, parent: Artifact, dataset: Mapping[str, Sequence[Any]], ctx: StageContext
    ) -> Texts:
        """Asks our model about each component that has records."""
        names = [name for name in step.components if dataset.get(name)]
        for name in step.components:
            if name not in names:
                self.objects.log(f"component {name!r} has no records to reflect on; it is kept")

        async def one(name: str, ctx: StageContext) -> str:
            asked = question(self.objects.template, name, parent[name], dataset[name])
            return await ask(ctx, name, asked)

        return await ctx.map(one, names) if names else {}

    async def _written(
        self,
        item: Item[Step],
        parent: Artifact,
        dataset: Mapping[str, Sequence[Any]],
        lent: SyncContext,
    ) -> Texts:
        """Lets the adapter, the user's function or gepa's `ReflectionLM` write."""
        objects, names = self.objects, list(item.payload.components)
        texts = objects.mirror.texts(parent)
        if objects.reflector is not None:
            # It may carry what it was told before: one after the other.
            reflect = at_work(lent, self._reflected)
            found = await objects.port.call(reflect, texts, dataset, names, alone=True)
        else:
            assert objects.proposer is not None
            metadata = {"proposal_id": item.ticket, "parent_ids": list(item.payload.parents)}
            write = at_work(lent, _with_metadata(objects.proposer, metadata))
            found = await objects.port.call(write, texts, dataset, names)
        return checked_texts(found, texts, objects.proposer_name)

    def _reflected(self, texts: Texts, dataset: Any, names: list[str]) -> Any:
        proposal, following = self.objects.reflector.reflect(texts, dataset, names)
        self.objects.reflector = following
        return proposal.new_texts

    # -- screen and evaluate ------------------------------------------------------------

    async def screen(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        """Lets a child pass as GEPA does, or as the user's criterion says."""
        judged = await self._screened(item, ctx)
        if self.objects.validation is None or isinstance(judged, End):
            return judged
        # In the payload, so that after a kill the policy is not asked again.
        return judged.with_payload(subset=tuple(self._picked(judged)))

    async def _screened(self, item: Item[Step], ctx: StageContext) -> Item[Step] | End:
        judged = await super().screen(item, ctx)
        step = judged.payload if isinstance(judged, Item) else item.payload
        ended_alike = isinstance(judged, End) and judged.outcome != "rejected"
        if self.objects.acceptance is None or step.split == "val" or ended_alike:
            return judged
        child = Artifact(step.child or {})
        # Recorded by now, so that neither is run or charged again.
        after = await ctx.evaluate(child, "train", step.examples, fresh=True)
        before = dict(step.base_scores or {})
        if missing := [e for e in step.examples if e not in before]:
            base = ctx.pool.candidates[step.parents[0]].artifact
            found = await ctx.evaluate(base, "train", missing, fresh=True)
            before |= {e: found[e].score for e in missing}
        if self._accepts(item.ticket, step, before, after, ctx):
            return replace(item, payload=replace(step, base_scores=before))
        return End("rejected", f"by the acceptance criterion, on {len(step.examples)} examples")

    def _accepts(
        self,
        ticket: int,
        step: Step,
        before: Mapping[str, float],
        after: Mapping[str, Outcome],
        ctx: StageContext,
    ) -> bool:
        from gepa.proposer.base import CandidateProposal, SubsampleEvaluation

        objects, pool = self.objects, pareto(ctx.pool)
        state = objects.mirror.sync()
        batch = objects.port.take(ticket, step.examples)
        old, new = [before[e] for e in step.examples], [after[e].score for e in step.examples]
        outputs = list(batch.outputs) if batch else [after[e].output for e in step.examples]
        proposal = CandidateProposal(
            candidate=objects.mirror.texts(step.child or {}),
            parent_program_ids=[objects.mirror.index_of(p, pool) for p in step.parents],
            subsample_indices=[objects.train.ids[e] for e in step.examples],
            subsample_scores_before=old,
            subsample_scores_after=new,
            eval_before=SubsampleEvaluation(scores=old),
            eval_after=SubsampleEvaluation(
                scores=new,
                outputs=outputs,
                objective_scores=getattr(batch, "objective_scores", None),
                trajectories=getattr(batch, "trajectories", None),
            ),
            tag="reflective_mutation",
            metadata={"proposal_id": ticket},
        )
        return bool(objects.acceptance.should_accept(proposal, state))

    def _picked(self, item: Item[Step]) -> Sequence[str]:
        """Returns the validation ids, or what the user's policy picks of them."""
        state, objects = self.objects.mirror.sync(), self.objects
        if objects.validation is None or state is None:
            return self.setup.val_ids
        assert isinstance(item.payload, AdaptedStep)
        if item.payload.subset:
            return item.payload.subset
        if item.ticket not in objects.subsets:  # The stage may run twice.
            objects.subsets[item.ticket] = self._subset(state)
        return objects.subsets[item.ticket]

    def _subset(self, state: Any) -> tuple[str, ...]:
        val = self.objects.val
        ids = list(self.objects.validation.get_eval_batch(val.loader, state))
        unknown = [i for i in ids if i not in val.ours]
        if unknown or not ids:
            found = repr(unknown[0]) if unknown else "none"
            raise TaskError(
                "val_evaluation_policy: expected ids of the validation set as it was when the run "
                f"began, found {found}. Mend it"
            )
        return tuple(val.ours[i] for i in ids)


class _Asks:
    """A stage's own way to models, for an evaluation that is no evaluation of the engine's."""

    attempt = None

    def __init__(self, ctx: StageContext) -> None:
        self._ctx = ctx
        self._n = 0

    async def chat(self, role: str, messages: Any, **parameters: Any) -> Any:
        self._n += 1
        return await self._ctx.chat(role, messages, name=f"rerun-{self._n}", **parameters)


def _with_metadata(proposer: Callable[..., Any], metadata: dict[str, Any]) -> Callable[..., Any]:
    """Returns a proposer that is told for which proposal it writes, if it wants to know."""
    try:
        parameters = inspect.signature(proposer).parameters
    except (TypeError, ValueError):
        return proposer
    if "metadata" not in parameters:
        return proposer
    return lambda *given: proposer(*given, metadata=metadata)
