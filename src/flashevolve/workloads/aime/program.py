"""The program: one call that solves the problem, with the component `solve` as instruction."""

from collections.abc import Mapping
from typing import Any, Protocol

from flashevolve.llm.messages import Reply, system, user
from flashevolve.workloads.aime.layout import problem

COMPONENT = "solve"
SEED: Mapping[str, str] = {COMPONENT: "Solve the problem. End with the answer."}
"""An artifact to start from."""


class Asking(Protocol):
    """What a program needs of its context."""

    async def chat(self, role: str, messages: Any) -> Reply:
        """Asks a model of `role`."""
        ...


async def run(artifact: Mapping[str, str], example: Mapping[str, Any], ctx: Asking) -> str:
    """Returns what the model answers."""
    reply = await ctx.chat("task", [system(artifact[COMPONENT]), user(problem(example))])
    return reply.text
