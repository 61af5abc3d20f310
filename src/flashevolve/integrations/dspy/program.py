"""Program: a user's DSPy program as the run's agent and metric, and its traces for reflection.

Every example runs in a thread of its own, in a copy of the context that `compile` was called in, so
that `dspy.context` holds there. Threads that work for one step on one candidate share a copy of the
program, as those of `dspy.Evaluate` do. Traces live in memory only, by (ticket, example), from the
rollout to the reflection on it; where a kill has lost them, the program is run again and its calls
are answered from the journal.
"""

import contextvars
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from random import Random
from typing import Any

import dspy
from dspy.teleprompt.bootstrap_trace import FailedPrediction
from dspy.teleprompt.gepa.gepa_utils import DspyAdapter
from dspy.utils.exceptions import AdapterParseError
from gepa import EvaluationBatch

from flashevolve.engine.current import being
from flashevolve.integrations.dspy.metered import ASKS
from flashevolve.outcome import Outcome

MAX_SAID_CHARS = 200
"""Of an exception, in the line that tells why a step was skipped."""
IDLE_KEPT = 4
"""Copies of programs that are kept though nobody is in them, for a step's next example. A program
may hold an index of gigabytes, and a copy has its own: what is copied again costs only time."""


@dataclass(frozen=True)
class Ran:
    """What a program did on an example."""

    example: Any
    prediction: Any
    """A `FailedPrediction` if the model's reply could not be read."""
    trace: list[Any]
    error: str | None = None


@dataclass
class _Copy:
    """A copy of the program, with a candidate's instructions."""

    program: Any
    n_inside: int = 0
    """Threads that run it."""


class Program:
    """Runs, scores and reflects; all methods but `forget` are called in threads of their own."""

    def __init__(
        self,
        adapter: DspyAdapter,
        lm: Any,
        metric: Callable[..., Any],
        examples: Mapping[str, Any],
        *,
        keep_outputs: bool = False,
    ) -> None:
        """`adapter` holds the program and the reflection, `lm` is the metered default LM."""
        self.adapter = adapter
        self._lm = lm
        self._metric = metric
        self._examples = examples
        self._keep_outputs = keep_outputs
        self.outputs: dict[tuple[str, str], Any] = {}
        """(artifact hash, example) -> what the program returned in a full evaluation."""
        self._traces: dict[tuple[int, str], dict[str, Any]] = {}
        self._context = contextvars.copy_context()
        self._copies: OrderedDict[tuple[int, str, str], _Copy] = OrderedDict()
        self._building = threading.Lock()

    def run(self, artifact: Any, example: Any, ctx: Any) -> Ran:
        """Runs the program with the artifact's instructions on an example."""
        attempt = ctx.attempt
        try:
            with self._program(attempt.ticket, attempt.stage, artifact) as program:
                ran: Ran = self._inside(ctx, self._ran, program, self._examples[example.id])
            return ran
        except Exception as error:
            self._lost(ctx, example, error)
            raise

    def score(self, example: Any, ran: Ran, ctx: Any) -> Outcome:
        """Scores what the program did, and keeps the trace of a rollout."""
        value: Any = None
        if ran.error is None:
            given = (self._examples[example.id], ran.prediction, None, None, None)
            try:
                value = self._inside(ctx, self._metric, *given)
            except Exception as error:
                self._lost(ctx, example, error)
                raise
        score = _score(value, self.adapter.failure_score)
        attempt = ctx.attempt
        if attempt.stage == "rollout":
            self._traces[attempt.ticket, example.id] = {
                "example": ran.example, "prediction": ran.prediction, "trace": ran.trace,
                "score": score if value is None else value, "example_ind": 0, "error": ran.error,
            }  # fmt: skip
        if self._keep_outputs and not attempt.fresh:
            self.outputs[attempt.artifact, example.id] = ran.prediction
        said = ran.prediction
        output = said.completion_text if isinstance(said, FailedPrediction) else _shown(said)
        return Outcome(
            score=score,
            output=output,
            error=ran.error,
            feedback=_feedback(value),
            objectives=_objectives(value),
        )

    def known(self, ticket: int, example_ids: Sequence[str]) -> set[str]:
        """Returns which of the examples have a trace."""
        return {e for e in example_ids if (ticket, e) in self._traces}

    def trouble(self, ticket: int) -> str:
        """Returns in one line what went wrong first in a rollout; empty if nothing did."""
        found = (t.get("error") for (at, _), t in self._traces.items() if at == ticket)
        return next((said for said in found if said), "")

    def batch(self, ticket: int, example_ids: Sequence[str]) -> EvaluationBatch:
        """Returns a rollout's traces and scores as gepa's selectors get them."""
        found = [self._traces[ticket, e] for e in example_ids]
        return EvaluationBatch(
            outputs=[t.get("prediction") for t in found],
            scores=[_score(t.get("score"), self.adapter.failure_score) for t in found],
            trajectories=[t for t in found if t["trace"]],
        )

    def forget(self, ticket: int) -> None:
        """Lets go of a step's traces."""
        for key in [key for key in self._traces if key[0] == ticket]:
            del self._traces[key]

    def reflective(
        self, ctx: Any, candidate: Mapping[str, str], ids: Sequence[str], names: Sequence[str],
        rng: Random,
    ) -> dict[str, Any]:  # fmt: skip
        """Returns gepa's reflective dataset of a rollout; empty if nothing can be learnt from it.

        The metric is asked for its feedback here.
        """
        ticket = ctx.attempt.ticket
        found = [self._traces[ticket, e] for e in ids]
        trajectories = [t for t in found if t["trace"]]
        adapter = copy(self.adapter)  # Its generator is this step's alone.
        adapter.rng = rng
        batch = EvaluationBatch(
            outputs=[t["prediction"] for t in trajectories],
            scores=[0.0] * len(trajectories),
            trajectories=trajectories,
        )
        if not trajectories:
            return {}
        try:
            return dict(
                self._inside(
                    ctx, adapter.make_reflective_dataset, dict(candidate), batch, list(names)
                )
            )
        except Exception as error:
            if str(error) == NOTHING_VALID:
                return {}
            raise

    def propose(
        self, ctx: Any, candidate: Mapping[str, str], dataset: Mapping[str, Any], names: list[str]
    ) -> dict[str, str]:
        """Returns new texts of components, from the adapter's proposer."""
        return dict(
            self._inside(ctx, self.adapter.propose_new_texts, dict(candidate), dict(dataset), names)
        )

    def _lost(self, ctx: Any, example: Any, error: Exception) -> None:
        """Notes that a rollout raised, so that nothing can be learnt from it."""
        if ctx.attempt.stage == "rollout":
            said = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_SAID_CHARS]
            self._traces[ctx.attempt.ticket, example.id] = {"trace": [], "error": said}

    def _inside(self, ctx: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        def call() -> Any:
            with being(ctx), dspy.context(lm=self._lm, **{ASKS: ctx}):
                return function(*arguments)

        return self._context.copy().run(call)

    @contextmanager
    def _program(self, ticket: int, stage: str, artifact: Any) -> Iterator[Any]:
        """Lends the copy that a step's threads share; at most one a thread is lent at a time."""
        key = (ticket, stage, artifact.hash)
        with self._building:
            if key not in self._copies:
                self._copies[key] = _Copy(self.adapter.build_program(dict(artifact)))
            copied = self._copies[key]
            copied.n_inside += 1
        try:
            yield copied.program
        finally:
            with self._building:
                copied.n_inside -= 1
                self._copies.move_to_end(key)
                idle = [k for k, c in self._copies.items() if not c.n_inside]
                for old in idle[:-IDLE_KEPT]:
                    del self._copies[old]

    @staticmethod
    def _ran(program: Any, example: Any) -> Ran:
        with dspy.context(trace=[]):
            try:
                prediction = program(**example.inputs())
            except AdapterParseError as error:
                return _failed(program, example, error, list(dspy.settings.trace))
            return Ran(example, prediction, list(dspy.settings.trace))


NOTHING_VALID = "No valid predictions found for any module."
"""What DSPy's adapter raises where no trace holds the component."""


def _failed(program: Any, example: Any, error: Any, trace: list[Any]) -> Ran:
    """Returns a run that ended at a reply that could not be read; it ends the trace."""
    failed = FailedPrediction(completion_text=str(error.lm_response))
    asked = [p for p in program.predictors() if p.signature == error.signature]
    if asked:
        trace = [*trace, (asked[0], dict(example.inputs()), failed)]
    return Ran(example, failed, trace, f"the reply could not be read: {error}")


def _score(value: Any, failure_score: float) -> float:
    score = value.score if isinstance(value, dspy.Prediction) else value
    return failure_score if score is None else float(score)


def _objectives(value: Any) -> dict[str, float]:
    given = value.get("objective_scores") if isinstance(value, dspy.Prediction) else None
    return {str(name): float(score) for name, score in (given or {}).items()}


def _feedback(value: Any) -> str:
    feedback = getattr(value, "feedback", None) if isinstance(value, dspy.Prediction) else None
    return feedback if isinstance(feedback, str) else ""


def _shown(prediction: Any) -> Any:
    if isinstance(prediction, dspy.Prediction):
        return {name: _plain(value) for name, value in prediction.items()}
    return _plain(prediction)


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
