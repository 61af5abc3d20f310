"""A gepa adapter at its best: all rollouts of a batch at once, in a thread for each slot.

It keeps nothing between calls, so that it may be entered by several threads.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from flashevolve.bench.realtime.client import Client
from flashevolve.bench.realtime.data import COMPONENT, Example, judged, turns


class Rollout(NamedTuple):
    """One answer, judged."""

    request: str
    output: str
    score: float
    feedback: str


class PooledAdapter:
    """Runs prompts on examples against one endpoint."""

    propose_new_texts = None
    """gepa's own proposals."""

    def __init__(self, client: Client, pool: ThreadPoolExecutor) -> None:
        self._client = client
        self._pool = pool

    def evaluate(
        self, batch: Sequence[Example], candidate: Mapping[str, str], capture_traces: bool = False
    ) -> Any:
        """Returns the evaluation of one candidate on a batch."""
        return self.batch_evaluate([(candidate, batch)], capture_traces=capture_traces)[0]

    def batch_evaluate(
        self,
        items: Sequence[tuple[Mapping[str, str], Sequence[Example]]],
        *,
        capture_traces: bool = True,
    ) -> list[Any]:
        """Returns the evaluations of several candidates, each on its own batch."""
        from gepa.core.adapter import EvaluationBatch

        work = [(candidate[COMPONENT], e) for candidate, batch in items for e in batch]
        done = iter(self._pool.map(self._rollout, work))
        made: list[Any] = []
        for _, batch in items:
            rollouts = [next(done) for _ in batch]
            made.append(
                EvaluationBatch(
                    outputs=[r.output for r in rollouts],
                    scores=[r.score for r in rollouts],
                    trajectories=rollouts if capture_traces else None,
                )
            )
        return made

    def _rollout(self, work: tuple[str, Example]) -> Rollout:
        text, example = work
        output = self._client.complete(turns(text, example))
        return Rollout(example["prompt"], output, *judged(example, output))

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], eval_batch: Any, components_to_update: Sequence[str]
    ) -> dict[str, list[dict[str, Any]]]:
        """Returns what a reflection is shown of each rollout."""
        records = [
            {"Inputs": r.request, "Generated Outputs": r.output, "Feedback": r.feedback}
            for r in eval_batch.trajectories
        ]
        return dict.fromkeys(components_to_update, records)
