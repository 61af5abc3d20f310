"""Callbacks: gepa's 22 `on_*` methods, told of a run from its events.

Each gets the fields that gepa gives, and `proposal_id`, the step's ticket: steps overlap, so that
events of several come mixed. `iteration` is the ticket less one, since the seed's step is the first
one and gepa's iteration 0. Invariants: everything is told on the run's own loop, where the mirror
lives, once the event is durable; of one step the order is gepa's; every iteration that started ends
exactly once, also if the run stops or fails; what a callback raises is logged and changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.state import RunState
from flashevolve.integrations.gepa.mirror import Mirror
from flashevolve.pools.pareto import ParetoPool, pareto

if TYPE_CHECKING:
    from flashevolve.integrations.gepa.workflow import Objects

MERGE = "merge"
SKIPPED = {"perfect": "all_scores_perfect", "trajectories": "no_trajectories"}
"""Word of our reason for a skipped step -> gepa's."""


@dataclass
class _Step:
    """What is known of one step in flight."""

    ticket: int
    source: str
    payload: dict[str, Any]
    outcomes: dict[tuple[str, str, str], ev.OutcomeRecorded] = field(default_factory=dict)
    """(stage, artifact hash, example) -> what came of it."""
    batches: dict[str, Any] = field(default_factory=dict)
    """Stage -> the adapter's own batch, where it is at hand."""
    built: tuple[list[str], dict[str, list[Any]]] | None = None
    """Components and dataset, until they were told."""
    texts: dict[str, str] = field(default_factory=dict)
    calls: dict[int, str] = field(default_factory=dict)
    """Call of `propose` -> component."""
    prompts: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    admitted: bool = False

    @property
    def child(self) -> dict[str, str] | None:
        found: dict[str, str] | None = self.payload.get("child")
        return found


class Callbacks:
    """Tells callbacks what happens in one run."""

    def __init__(
        self,
        callbacks: Sequence[Any],
        mirror: Mirror,
        objects: "Objects",
        read: Callable[[], RunState | None],
        *,
        config: dict[str, Any],
        max_metric_calls: int | None,
        run_dir: str | None,
        will_continue: bool,
    ) -> None:
        """`config` is what gepa calls so in `on_optimization_start`."""
        self._callbacks = list(callbacks)
        self._mirror, self._objects, self._read = mirror, objects, read
        self._config, self._run_dir = config, run_dir
        self._max_calls, self._will_continue = max_metric_calls, will_continue
        self._steps: dict[int, _Step] = {}
        self._hooked: dict[int, dict[str, Any]] = {}
        """Ticket -> what the workflow told before the events came."""
        self._front: set[int] = set()
        self._used = 0
        self._n_ended = 0
        self._began = self._ended = False
        objects.built, objects.proposed, objects.traced = self._built, self._proposed, self._traced

    # -- from the workflow, ahead of the events ----------------------------------------------

    def _built(self, ticket: int, candidate: int, components: Sequence[str], dataset: Any) -> None:
        self._hooked.setdefault(ticket, {})["built"] = (list(components), dataset)

    def _proposed(self, ticket: int, texts: dict[str, str]) -> None:
        self._hooked.setdefault(ticket, {})["texts"] = dict(texts)

    def _traced(self, ticket: int, stage: str, batch: Any) -> None:
        self._hooked.setdefault(ticket, {}).setdefault("batches", {})[stage] = batch

    # -- events ------------------------------------------------------------------------------

    def observe(self, record: ev.Record) -> None:
        """Tells what an event means."""
        event = record.event
        if not self._began:
            self._begin()
        match event:
            case ev.ItemSelected():
                self._selected(event)
            case ev.StageTaken():
                self._taken(self._step(event.ticket), event.stage)
            case ev.OutcomeRecorded():
                key = event.stage, event.artifact, event.example
                self._step(event.ticket).outcomes[key] = event
            case ev.CallReserved() if event.stage == "propose":
                self._asked(event)
            case ev.CallSettled() if event.reply is not None:
                self._answered(event)
            case ev.StageEnded():
                self._stage_ended(event)
            case ev.TailEnded():
                self._spent(event.ticket)
            case ev.PoolChanged() if event.admits:
                self._admitted(event.ticket)
            case ev.ItemEnded():
                self._item_ended(event)
            case ev.RunEnded() if event.reason != "failed":  # Then `close` knows why.
                self._end()

    def close(self, error: BaseException | None = None) -> None:
        """Ends what the events did not, after a run that failed with `error`."""
        if self._ended or not self._began:
            return
        for step in list(self._steps.values()):
            if isinstance(error, Exception):
                self._tell(step, "on_error", exception=error, will_continue=False)
                error = None
            self._end_iteration(step)
        self._ended = True

    def _begin(self) -> None:
        self._began = True
        objects = self._objects
        seed = self._mirror.texts(self._seed())
        self._notify(
            "on_optimization_start",
            {
                "seed_candidate": seed,
                "trainset_size": len(objects.train.ids),
                "valset_size": len(objects.val.ids),
                "config": self._config,
            },
        )
        self._used = self._calls()

    def _end(self) -> None:
        for step in list(self._steps.values()):
            self._end_iteration(step)
        self._ended = True
        state = self._mirror.sync()
        if state is None:
            return
        best = max(
            range(len(state.program_candidates)),
            key=lambda i: (state.program_full_scores_val_set[i], -i),
        )
        self._notify(
            "on_optimization_end",
            {
                "best_candidate_idx": best,
                "total_iterations": state.i,
                "total_metric_calls": state.total_num_evals,
                "final_state": state,
            },
        )

    # -- a step's way ------------------------------------------------------------------------

    def _step(self, ticket: int) -> _Step:
        """Returns a step; one that an earlier process selected starts here."""
        if ticket not in self._steps:
            flight = self._state().in_flight.get(ticket)
            payload = vars(flight.item.payload) if flight else {}
            source = flight.item.source if flight else ""
            self._steps[ticket] = _Step(ticket, source, dict(payload))
            self._start(self._steps[ticket])
        return self._steps[ticket]

    def _selected(self, event: ev.ItemSelected) -> None:
        step = _Step(event.ticket, event.source, dict(event.payload))
        self._steps[event.ticket] = step
        self._start(step)
        if event.source in ("seed", MERGE):
            return
        pool, state = self._pool(), self._mirror.sync()
        index = self._mirror.index_of(step.payload["parents"][0], pool)
        self._tell(
            step,
            "on_candidate_selected",
            candidate_idx=index,
            candidate=dict(state.program_candidates[index]),
            score=state.program_full_scores_val_set[index],
        )
        self._tell(
            step,
            "on_minibatch_sampled",
            minibatch_ids=[self._objects.train.ids[e] for e in step.payload["examples"]],
            trainset_size=len(self._objects.train.ids),
        )

    def _start(self, step: _Step) -> None:
        if step.source == "seed" or step.ticket < 1:
            return
        self._tell(step, "on_state_saved", run_dir=self._run_dir)
        loader = self._objects.train.loader
        state = self._mirror.sync()
        self._tell(step, "on_iteration_start", state=state, trainset_loader=loader)

    def _taken(self, step: _Step, stage: str) -> None:
        if stage == "rollout" or (stage == "screen" and step.child is not None):
            examples = list(step.payload["examples"])
            table = self._objects.val if step.payload["split"] == "val" else self._objects.train
            self._tell(
                step,
                "on_evaluation_start",
                **self._subject(step, stage),
                batch_size=len(examples),
                capture_traces=step.source != MERGE,
                inputs=table.fetch(examples),
            )

    def _stage_ended(self, event: ev.StageEnded) -> None:
        step = self._step(event.ticket)
        self._take_hooked(step)
        if event.payload is not None:
            step.payload = {**step.payload, **event.payload}
        self._spent(event.ticket)
        if event.stage == "rollout":
            self._evaluated(step, "rollout")
            if step.built is not None:
                components, dataset = step.built
                index = self._subject(step, "rollout")["candidate_idx"]
                known = {"components": components, "dataset": dataset}
                self._tell(step, "on_reflective_dataset_built", candidate_idx=index, **known)
                state = self._mirror.state
                self._tell(
                    step,
                    "on_proposal_start",
                    parent_candidate=dict(state.program_candidates[index]),
                    components=components,
                    reflective_dataset=dataset,
                )
        elif event.stage == "propose":
            found = {"prompts": step.prompts, "raw_lm_outputs": step.raw}
            self._tell(step, "on_proposal_end", new_instructions=step.texts, **found)
        elif event.stage == "screen":
            self._evaluated(step, "screen")
            if step.source == MERGE:
                merged = self._mirror.texts(step.child or {})
                ids = self._parents(step)
                self._tell(step, "on_merge_attempted", parent_ids=ids, merged_candidate=merged)

    def _evaluated(self, step: _Step, stage: str) -> None:
        known, batch = self._known(step, stage), step.batches.pop(stage, None)
        trajectories = getattr(batch, "trajectories", None)
        objectives = [dict(o.objectives) for o in known]
        self._tell(
            step,
            "on_evaluation_end",
            **self._subject(step, stage),
            scores=[o.score for o in known],
            has_trajectories=bool(trajectories),
            outputs=list(batch.outputs) if batch is not None else [o.output for o in known],
            trajectories=trajectories,
            objective_scores=objectives if any(objectives) else None,
        )

    def _item_ended(self, event: ev.ItemEnded) -> None:
        step = self._step(event.ticket)
        self._take_hooked(step)
        if event.outcome == "skipped" and event.stage == "rollout":
            reason = next((g for word, g in SKIPPED.items() if word in event.reason), event.reason)
            subject = self._subject(step, "rollout")
            subject.pop("parent_ids")
            scores = [o.score for o in self._known(step, "rollout")]
            self._tell(step, "on_evaluation_skipped", **subject, reason=reason, scores=scores)
        elif event.outcome == "failed":
            error = RuntimeError(event.reason)
            self._tell(step, "on_error", exception=error, will_continue=self._will_continue)
        elif step.child is not None and event.outcome != "committed":
            self._rejected(step, event)
        self._end_iteration(step)

    def _rejected(self, step: _Step, event: ev.ItemEnded) -> None:
        reason = event.reason if event.outcome == "rejected" else f"{event.outcome}: {event.reason}"
        if step.source == MERGE:
            ids = self._parents(step)
            self._tell(step, "on_merge_rejected", parent_ids=ids, reason=reason)
            return
        before = step.payload.get("base_scores") or {}
        old, new = sum(before.values()), sum(o.score for o in self._known(step, "screen"))
        self._tell(step, "on_candidate_rejected", old_score=old, new_score=new, reason=reason)

    def _end_iteration(self, step: _Step) -> None:
        del self._steps[step.ticket]
        self._hooked.pop(step.ticket, None)
        if step.source != "seed" and step.ticket > 0:
            state = self._mirror.sync()
            self._tell(step, "on_iteration_end", state=state, proposal_accepted=step.admitted)

    # -- an admission ------------------------------------------------------------------------

    def _admitted(self, ticket: int) -> None:
        step, pool, state = self._step(ticket), self._pool(), self._mirror.sync()
        step.admitted = True
        own = [c for c in reversed(list(pool.candidates.values())) if c.ticket == ticket]
        if not own or own[0].status != "confirmed":
            return
        candidate, val = own[0], self._objects.val
        index, is_seed = self._mirror.index_of(candidate.id, pool), step.source == "seed"
        parents = [] if is_seed else self._parents(step)
        front = {i for ids in state.get_pareto_front_mapping().values() for i in ids}
        if not is_seed:
            gone = sorted(self._front - front)
            update = {"new_front": sorted(front), "displaced_candidates": gone}
            self._tell(step, "on_pareto_front_updated", **update)
        self._front = front
        self._tell(
            step,
            "on_valset_evaluated",
            candidate_idx=index,
            candidate=self._mirror.texts(candidate.artifact),
            scores_by_val_id={val.ids[e]: score for e, score in candidate.scores.items()},
            average_score=candidate.mean,
            num_examples_evaluated=len(candidate.scores),
            total_valset_size=len(val.ids),
            parent_ids=parents,
            is_best_program=pool.best() is candidate,
            outputs_by_val_id=None if is_seed else self._outputs(index),
        )
        if is_seed:
            return
        if step.source == MERGE:
            self._tell(step, "on_merge_accepted", new_candidate_idx=index, parent_ids=parents)
        new = sum(o.score for o in self._known(step, "screen"))
        known = {"new_score": new, "parent_ids": parents}
        self._tell(step, "on_candidate_accepted", new_candidate_idx=index, **known)

    def _outputs(self, index: int) -> dict[Any, Any] | None:
        """Returns the outputs of a program that gepa's state keeps: those that are best."""
        best = self._mirror.state.best_outputs_valset or {}
        found = {v: o for v, kept in best.items() for program, o in kept if program == index}
        return found or None

    # -- pieces ------------------------------------------------------------------------------

    def _subject(self, step: _Step, stage: str) -> dict[str, Any]:
        """Returns the fields that say what is evaluated."""
        parents = self._parents(step)
        if stage == "screen":
            return {"candidate_idx": None, "parent_ids": parents, "is_seed_candidate": False}
        index, state = parents[0], self._mirror.state
        known = [p for p in state.parent_program_for_candidate[index] if p is not None]
        return {"candidate_idx": index, "parent_ids": known, "is_seed_candidate": index == 0}

    def _parents(self, step: _Step) -> list[int]:
        pool = self._pool()
        return [self._mirror.index_of(p, pool) for p in step.payload.get("parents", ())]

    def _known(self, step: _Step, stage: str) -> list[ev.OutcomeRecorded]:
        """Returns the outcomes of a step's examples that were recorded in a stage, in order."""
        if stage == "screen":
            artifact = Artifact(step.child or {}).hash
        else:
            artifact = self._pool().candidates[step.payload["parents"][0]].artifact.hash
        found = (step.outcomes.get((stage, artifact, e)) for e in step.payload["examples"])
        return [outcome for outcome in found if outcome is not None]

    def _asked(self, event: ev.CallReserved) -> None:
        step = self._step(event.ticket)
        component = event.map_key.split("/")[0]
        step.calls[event.call] = component
        messages = event.request.get("messages", [])
        single = len(messages) == 1 and isinstance(messages[0]["content"], str)
        step.prompts[component] = messages[0]["content"] if single else messages

    def _answered(self, event: ev.CallSettled) -> None:
        step = self._steps.get(event.ticket)
        component = step.calls.pop(event.call, None) if step else None
        if step is not None and component is not None and event.reply is not None:
            step.raw[component] = event.reply.get("text", "")

    def _take_hooked(self, step: _Step) -> None:
        hooked = self._hooked.pop(step.ticket, {})
        step.built = hooked.get("built")
        step.texts = hooked.get("texts", step.texts)
        step.batches |= hooked.get("batches", {})

    def _spent(self, ticket: int) -> None:
        used, step = self._calls(), self._steps.get(ticket)
        delta, self._used = used - self._used, used
        if delta <= 0 or step is None or step.source == "seed":
            return
        left = None if self._max_calls is None else self._max_calls - used
        known = {"metric_calls_used": used, "metric_calls_delta": delta}
        self._tell(step, "on_budget_updated", **known, metric_calls_remaining=left)

    def _calls(self) -> int:
        return int(self._state().ledger.spent.get("metric_calls", 0))

    def _seed(self) -> Artifact:
        started = self._state().started
        return Artifact(started.artifact if started else {})

    def _state(self) -> RunState:
        state = self._read()
        assert state is not None, "an event comes from a run that has begun"
        return state

    def _pool(self) -> ParetoPool:
        return pareto(self._state().pool)

    def _tell(self, step: _Step, method: str, **fields: Any) -> None:
        known = {"iteration": step.ticket - 1, "proposal_id": step.ticket}
        self._notify(method, {**known, **fields})

    def _notify(self, method: str, event: dict[str, Any]) -> None:
        from gepa.core.callbacks import notify_callbacks

        notify_callbacks(self._callbacks, method, event)
