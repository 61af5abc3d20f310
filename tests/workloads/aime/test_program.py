import asyncio
from collections.abc import Sequence

from flashevolve.llm.messages import Message, Reply
from flashevolve.workloads.aime import SEED, run, score


class Solver:
    """Knows the answer, and says it as it is told to."""

    async def chat(self, role: str, messages: Sequence[Message]) -> Reply:
        instruction, problem = (str(message.text) for message in messages)
        assert (role, problem) == ("task", "Add 1 and 41.")
        return Reply(text="42" if "number" in instruction else "forty-two")


def test_the_component_decides_how_the_problem_is_solved() -> None:
    example = {"ID": "x", "Problem": "Add 1 and 41.", "Answer": 42}
    seed = asyncio.run(run(SEED, example, Solver()))
    better = asyncio.run(run({"solve": "End with a number."}, example, Solver()))
    assert (score(example, seed)[0], score(example, better)[0]) == (0.0, 1.0)
