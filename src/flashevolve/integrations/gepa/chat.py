"""Chat: the adapter behind `task_lm="model"`: one call of role `task` for each example.

It stands where gepa has its `DefaultAdapter`: the first component is the system prompt and the
instance's `input` the user message. The call goes through our limiter, ledger and journal, and no
thread waits for it. The evaluator is the user's code and is called in a thread, one at a time
unless told otherwise; gepa's own default is called where we are.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from flashevolve.errors import DataError, TaskError
from flashevolve.integrations.gepa.batches import Texts, checked
from flashevolve.integrations.gepa.threads import Threads
from flashevolve.llm.errors import Empty, Refused, Truncated
from flashevolve.llm.messages import system, user


class ChatAdapter:
    """A GEPAAdapter that asks a model of ours."""

    def __init__(self, evaluator: Any = None, *, n_calls: int = 1, failure_score: float = 0.0):
        from gepa.adapters.default_adapter.default_adapter import ContainsAnswerEvaluator

        self._is_pure = evaluator is None or type(evaluator) is ContainsAnswerEvaluator
        self._evaluator = ContainsAnswerEvaluator() if evaluator is None else evaluator
        self._n_calls = n_calls
        self._turns: asyncio.Semaphore | None = None
        self._threads = Threads(n_calls)
        self._failure_score = failure_score
        self._calls: set[asyncio.Task[Any]] = set()

    def evaluate(self, batch: list[Any], candidate: Texts, capture_traces: bool = False) -> Any:
        """Refuses: an example is evaluated by `evaluate_one`."""
        raise TaskError("expected examples one by one, found a batch; call evaluate_one")

    async def evaluate_one(self, instance: Any, candidate: Texts, ctx: Any) -> Any:
        """Returns an `EvaluationBatch` of one example."""
        from gepa.core.adapter import EvaluationBatch

        prompt = [system(next(iter(candidate.values()))), user(str(_input(instance)))]
        try:
            answer = (await ctx.chat("task", prompt)).text
        except (Refused, Truncated, Empty) as error:
            said = f"the model's answer is unusable ({error.kind}): {error}"
            return self._batch(EvaluationBatch, instance, "", self._failure_score, said, None)
        found = await self._evaluated(instance, answer)
        try:
            score, feedback, objectives = found.score, found.feedback, found.objective_scores
        except AttributeError:
            raise TaskError(
                "evaluator: expected an EvaluationResult with score, feedback and "
                f"objective_scores, found {found!r:.80}. Mend it"
            ) from None
        return self._batch(EvaluationBatch, instance, answer, score, feedback, objectives)

    def make_reflective_dataset(
        self, candidate: Texts, eval_batch: Any, components_to_update: Sequence[str]
    ) -> Mapping[str, list[dict[str, Any]]]:
        """Returns input, answer and feedback of each example, for each component."""
        records = [
            {
                "Inputs": _input(one["data"]),
                "Generated Outputs": one["full_assistant_response"],
                "Feedback": one["feedback"],
            }
            for one in eval_batch.trajectories
        ]
        return dict.fromkeys(components_to_update, records)

    def close(self) -> None:
        """Lets the threads go."""
        self._threads.close(0.0)

    async def _evaluated(self, instance: Any, answer: str) -> Any:
        if self._is_pure:
            return self._evaluator(instance, answer)
        if self._turns is None:
            self._turns = asyncio.Semaphore(self._n_calls)
        call = asyncio.get_running_loop().create_task(self._in_turn(instance, answer))
        self._calls.add(call)
        call.add_done_callback(self._over)
        return await asyncio.shield(call)

    async def _in_turn(self, instance: Any, answer: str) -> Any:
        assert self._turns is not None
        async with self._turns:
            return await self._threads.call(self._evaluator, instance, answer)

    def _over(self, call: "asyncio.Task[Any]") -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # Looked at: whoever asked may be gone.

    def _batch(
        self, kind: Any, instance: Any, answer: str, score: Any, feedback: str, objectives: Any
    ) -> Any:
        trajectory = {"data": instance, "full_assistant_response": answer, "feedback": feedback}
        batch = kind(
            outputs=[{"full_assistant_response": answer}],
            scores=[score],
            trajectories=[trajectory],
            objective_scores=None if objectives is None else [objectives],
        )
        return checked(batch, 1, "evaluator", traces=True)


def _input(instance: Any) -> Any:
    try:
        return instance["input"]
    except (TypeError, KeyError, IndexError):
        raise DataError(
            "trainset: expected instances with a field 'input', as task_lm is asked with, found "
            f"{instance!r:.80}. Name it so, or pass an adapter"
        ) from None
