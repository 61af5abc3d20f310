"""Scoring on test after a simulated run: outside virtual time, in this process, with one reader.

The same artifact, example and replica give the same score, whatever arm found the artifact and
whenever: what two arms differ by is their artifacts. Replica 1 is a second sample of everything.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from flashevolve.artifact import Artifact
from flashevolve.engine.evaluation import default_messages
from flashevolve.engine.outcomes import as_outcome
from flashevolve.llm.errors import Truncated
from flashevolve.llm.messages import Request
from flashevolve.simulate.batching import FirstToken, Timing
from flashevolve.simulate.lengths import digest
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.serving import Job as ServerJob
from flashevolve.simulate.world import World
from flashevolve.task import Example, Task


class Timeless:
    """A server that takes no time."""

    async def serve(self, job: ServerJob, on_first_token: FirstToken | None = None) -> Timing:
        """Returns at once."""
        return Timing(queued_s=0.0, prefill_s=0.0, decode_s=0.0)


class TestScorer:
    """Scores artifacts on examples that no run has seen."""

    __test__ = False  # pytest takes the name for a test's

    def __init__(self, world: World, preset: str, task: Task, test: Sequence[Example]) -> None:
        self._model = SimulatedModel.from_preset(preset, {preset: Timeless()}, world=world)
        self._task = task
        self._test = test
        self._known: dict[tuple[str, int], list[float]] = {}

    def __call__(self, artifact: Artifact, replica: int) -> list[float]:
        """Returns the score on each example."""
        key = (artifact.hash, replica)
        if key not in self._known:
            self._known[key] = asyncio.run(self._scores(artifact, replica))
        return self._known[key]

    async def _scores(self, artifact: Artifact, replica: int) -> list[float]:
        return [await self._score(artifact, example, replica) for example in self._test]

    async def _score(self, artifact: Artifact, example: Example, replica: int) -> float:
        messages = tuple(default_messages(artifact, example, self._task.input))
        sample = digest(b"test", str(replica).encode())
        try:
            reply = await self._model.complete(Request(messages=messages, seed=sample))
        except Truncated:
            return self._task.failure_score
        scored: Any = self._task.score(example, reply.text)
        return as_outcome(scored, reply.text).score
