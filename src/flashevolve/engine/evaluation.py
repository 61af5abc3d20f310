"""Evaluation: the one service through which artifacts meet examples.

Every outcome is recorded once per (ticket, stage, visit, artifact, example, replica) and given back
after a resume. Shared outcomes (not `fresh`) are recorded once per (artifact, split, example,
replica) in a run: known ones cost nothing, and one that is under way is waited for. Whoever asks
for a shared outcome gets the mean over the task's replicas 0..r-1. A failure of task code is an
outcome; only what no score can express is raised.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flashevolve import events as ev
from flashevolve.artifact import Artifact
from flashevolve.engine.ask import EmbedAsk, GuardedAsk
from flashevolve.engine.funds import BudgetExhausted
from flashevolve.engine.log import EventLog
from flashevolve.engine.outcomes import as_outcome, jsonable, mean_outcome, one_line
from flashevolve.engine.release import Release
from flashevolve.engine.shared import Scores, SharedScores
from flashevolve.engine.together import together
from flashevolve.engine.usercode import Attempt, UserCode
from flashevolve.errors import ConfigError, DataError, FlashEvolveError, TaskError
from flashevolve.llm.errors import Empty, LLMError, Refused, Truncated
from flashevolve.llm.messages import Message, system, user
from flashevolve.outcome import Outcome, Scored
from flashevolve.policies.stopping import FailureStreak
from flashevolve.task import Example, Split, Task, place_of

FreshKey = tuple[str, int, str, str, int]
"""Stage, visit, artifact hash, example id, replica."""

PROBES = 3
"""Examples on which an agent may fail before we conclude that it is broken, not the artifact."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where in a run an evaluation is asked for."""

    ticket: int
    stage: str
    visit: int
    journal: dict[FreshKey, ev.OutcomeRecorded]
    """What was recorded for this item; what is recorded here is added."""
    ask: Callable[[str, tuple[object, ...]], EmbedAsk]
    """(map key, sample) -> the way to a model for one evaluation."""
    spend: Callable[[], None]
    """Books one metric call; raises if the stage asked for more than it declared."""


@dataclass(frozen=True)
class _Sweep:
    """One artifact on many examples, and what was found so far."""

    place: Place
    artifact: Artifact
    split: Split
    fresh: bool
    found: dict[tuple[str, int], Outcome] = field(default_factory=dict)
    """(example id, replica) -> outcome."""


class EvaluationService:
    """Runs and scores; one per run."""

    def __init__(
        self,
        task: Task,
        code: UserCode,
        log: EventLog,
        max_parallel: int,
        shared: SharedScores | None = None,
    ) -> None:
        self.task = task
        self._code = code
        self._log = log
        self._max_parallel = max_parallel
        self._shared = shared or SharedScores(log.durable)
        self._under_way: dict[tuple[object, ...], asyncio.Future[None]] = {}
        self._metric_failures = FailureStreak()
        self._probe = asyncio.Lock()
        self._probes_left = PROBES
        self._broken: TaskError | None = None
        """What a probe found; whoever waits for its turn must not try again."""

    def resume(self) -> None:
        """Takes note of the shared scores that earlier processes recorded."""
        if self._shared.resume():
            self._probes_left = 0

    async def evaluate(
        self,
        place: Place,
        artifact: Artifact,
        split: Split,
        ids: Sequence[str],
        *,
        fresh: bool,
        release: Release | None = None,
    ) -> dict[str, Outcome]:
        """Returns outcomes by example id, in the order of `ids`.

        With a `release` they are those of its prefix only; the others go on as its tail. A shared
        outcome that was known before comes without output and trace.
        """
        wanted = list(dict.fromkeys(ids))
        sweep = _Sweep(place, artifact, split, fresh)
        if release is None or (m := release.n_first(len(wanted))) == len(wanted):
            await self._evaluate(sweep, wanted, len(wanted), None)
            return self._found(sweep, wanted)
        order = wanted if fresh else release.arrange(wanted)
        await release.first(lambda ready: self._evaluate(sweep, order, m, ready))
        return self._found(sweep, order[:m])

    async def _evaluate(
        self, sweep: "_Sweep", order: Sequence[str], m: int, ready: "asyncio.Future[None] | None"
    ) -> None:
        if sweep.fresh:
            await self._all(sweep, order, m, ready, None)
            return
        async with self._shared.of(sweep.artifact.hash) as known:
            await self._all(sweep, order, m, ready, known)

    async def _all(
        self,
        sweep: "_Sweep",
        order: Sequence[str],
        m: int,
        ready: "asyncio.Future[None] | None",
        known: Scores | None,
    ) -> None:
        """Evaluates, the first `m` first; `known` are the artifact's shared scores, None = afresh.

        Resolves `ready` when the first `m` are done.
        """
        replicas = self._replicas(sweep)
        # All examples once, then again: a probe of the task must meet several of them.
        pairs = [(r, e) for part in (order[:m], order[m:]) for r in replicas for e in part]
        todo, n_missing = iter(pairs), m * len(replicas)
        first = frozenset(order[:m])

        async def work() -> None:
            nonlocal n_missing
            for replica, example_id in todo:
                example = self.task.by_id[example_id]
                outcome = await self._one(
                    sweep.place, sweep.artifact, sweep.split, example, replica, known
                )
                sweep.found[example_id, replica] = outcome
                n_missing -= example_id in first
                if ready is not None and not n_missing and not ready.done():
                    ready.set_result(None)

        n_workers = min(self._max_parallel, len(pairs))
        await together(work() for _ in range(n_workers))

    def _replicas(self, sweep: "_Sweep") -> list[int]:
        return [sweep.place.ticket] if sweep.fresh else list(range(self.task.replicas))

    def _found(self, sweep: "_Sweep", ids: Sequence[str]) -> dict[str, Outcome]:
        replicas = self._replicas(sweep)
        return {e: mean_outcome([sweep.found[e, replica] for replica in replicas]) for e in ids}

    async def _one(
        self,
        place: Place,
        artifact: Artifact,
        split: Split,
        example: Example,
        replica: int,
        known: Scores | None,
    ) -> Outcome:
        fresh = known is None
        own = (place.stage, place.visit, artifact.hash, example.id, replica)
        shared = (split, example.id, replica)
        flight = (place.ticket, *own) if fresh else (artifact.hash, *shared)
        while True:
            recorded = place.journal.get(own)
            if recorded is not None:
                return _outcome_of(recorded)
            if known is not None and shared in known:
                return Outcome(score=known[shared].score, objectives=known[shared].objectives)
            if flight not in self._under_way:
                break
            # Whoever runs it may fail or be cancelled; then it is ours to run.
            await asyncio.wait([self._under_way[flight]])
        self._under_way[flight] = asyncio.get_running_loop().create_future()
        try:
            outcome = await self._recorded(place, artifact, split, example, replica, fresh)
            if known is not None:
                known[shared] = Scored(outcome.score, outcome.objectives)
            return outcome
        finally:
            self._under_way.pop(flight).cancel()

    async def _recorded(
        self,
        place: Place,
        artifact: Artifact,
        split: Split,
        example: Example,
        replica: int,
        fresh: bool,
    ) -> Outcome:
        place.spend()
        sample = (artifact.hash, split, example.id, replica)
        ask = place.ask(f"{artifact.hash[:12]}/{split}/{example.id}/{replica}", sample)
        attempt = Attempt(
            ticket=place.ticket,
            stage=place.stage,
            visit=place.visit,
            artifact=artifact.hash,
            split=split,
            example=example.id,
            replica=replica,
            fresh=fresh,
        )
        outcome = jsonable(await self._probed(artifact, example, ask, attempt))
        recorded = ev.OutcomeRecorded(
            **vars(attempt),
            **{name: getattr(outcome, name) for name in _RECORDED},
        )
        self._log.append(recorded)
        place.journal[(place.stage, place.visit, artifact.hash, example.id, replica)] = recorded
        return outcome

    async def _probed(
        self, artifact: Artifact, example: Example, ask: EmbedAsk, attempt: Attempt
    ) -> Outcome:
        """The first evaluations go one at a time: broken user code must not cost a sweep."""
        if self._probes_left:
            async with self._probe:
                if self._broken is not None:
                    raise self._broken
                if self._probes_left:
                    outcome = await self._attempt(artifact, example, ask, attempt)
                    self._broken = self._what_is_broken(example, outcome)
                    if self._broken is not None:
                        raise self._broken
                    return outcome
        # Those who waited for the probe are not held up by each other.
        return await self._attempt(artifact, example, ask, attempt)

    def _what_is_broken(self, example: Example, probed: Outcome) -> TaskError | None:
        error = probed.error or ""
        if error.startswith("score raised"):
            return TaskError(
                f"the metric failed on its first output: {error} "
                f"(example {example.id!r}, output {probed.output!r:.120})"
            )
        if not error.startswith("run raised"):
            self._probes_left = 0
        elif self._probes_left > 1:
            self._probes_left -= 1
        else:
            return TaskError(
                f"the agent failed on the first {PROBES} examples: {error}. "
                "Call run(artifact, example) by hand on one of them"
            )
        return None

    async def _attempt(
        self, artifact: Artifact, example: Example, ask: EmbedAsk, attempt: Attempt
    ) -> Outcome:
        guard = GuardedAsk(ask)
        try:
            output = await self._run(artifact, example, guard, attempt)
        except (Refused, Truncated, Empty) as error:
            return self._failed(f"the model's answer is unusable ({error.kind}): {error}")
        except (LLMError, BudgetExhausted, FlashEvolveError):
            raise
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            guard.raise_if_interrupted()
            return self._failed(_raised("run", error))
        guard.raise_if_interrupted()
        return await self._score(example, output, guard, attempt)

    async def _run(
        self, artifact: Artifact, example: Example, ask: EmbedAsk, attempt: Attempt
    ) -> Any:
        if self.task.run is not None:
            return await self._code.run(self.task.run, artifact, example, ask, attempt)
        return (await ask("task", default_messages(artifact, example, self.task.input))).text

    async def _score(
        self, example: Example, output: Any, guard: GuardedAsk, attempt: Attempt
    ) -> Outcome:
        try:
            scored = output
            if not isinstance(output, Outcome):
                scored = await self._code.score(self.task.score, example, output, guard, attempt)
            guard.raise_if_interrupted()
            outcome = as_outcome(scored, output)
        except (Refused, Truncated, Empty) as error:
            message = f"the judging model's answer is unusable ({error.kind}): {error}"
            return replace(self._failed(message), output=output)
        except (ConfigError, DataError):
            # These are about the set-up, such as a missing package, and never about an output: as
            # a score they would lower whatever is compared, and nobody would be told.
            raise
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            guard.raise_if_interrupted()
            message = _raised("score", error)
            # By type alone: texts tend to name the example.
            if self._metric_failures.failed(type(error).__name__):
                raise TaskError(
                    f"the metric failed {self._metric_failures.n} times in a row: "
                    f"{one_line(message)} (last example {example.id!r}). "
                    "Mend it and resume the run"
                ) from error
            return replace(self._failed(message), output=output)
        self._metric_failures.succeeded()
        return outcome

    def _failed(self, message: str) -> Outcome:
        return Outcome(score=self.task.failure_score, error=one_line(message), feedback=message)


_RECORDED = ("score", "output", "feedback", "trace", "error", "usage", "objectives")


def default_messages(artifact: Artifact, example: Example, input_field: str) -> list[Message]:
    """Returns the messages of `run=None`: the artifact as system prompt, the input as user turn.

    Several components are joined in name order. Raises `TaskError` if the example has no input.
    """
    if input_field not in example:
        raise TaskError(
            f"{place_of(example)}: expected a field {input_field!r} to ask a model with, found "
            f"{', '.join(example)}. Name the field (task.input), or give a run function"
        )
    return [system("\n\n".join(artifact.values())), user(str(example[input_field]))]


def _raised(function: str, error: BaseException) -> str:
    return f"{function} raised {type(error).__name__}" + (f": {error}" if str(error) else "")


def _is_cancelled() -> bool:
    """Says whether we were cancelled, rather than user code having raised `CancelledError`."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def first_of(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Returns the first exception of a group, groups within groups opened."""
    first = failures.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


def _outcome_of(recorded: ev.OutcomeRecorded) -> Outcome:
    return Outcome(**{name: getattr(recorded, name) for name in _RECORDED})
