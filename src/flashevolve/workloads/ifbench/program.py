"""The program: one call answers the request, a second one revises the answer to what was asked.

Each call is a component of the artifact. Without `revise` the first answer is the last one. The
output holds both, so that whoever reflects sees which of them erred.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from flashevolve.llm.messages import Reply, system, user

RESPOND, REVISE = "respond", "revise"
DRAFT, ANSWER = "draft", "answer"
SEED: Mapping[str, str] = {
    RESPOND: "Answer the request.",
    REVISE: "Revise the answer so that it meets the request.",
}
"""An artifact to start from."""


class Asking(Protocol):
    """What a program needs of its context."""

    async def chat(self, role: str, messages: Any) -> Reply:
        """Asks a model of `role`."""
        ...


async def run(
    artifact: Mapping[str, str], example: Mapping[str, Any], ctx: Asking
) -> dict[str, str]:
    """Returns `{"draft", "answer"}`; without `revise` only `{"answer"}`."""
    request = str(example["prompt"])
    reply = await ctx.chat("task", [system(artifact[RESPOND]), user(request)])
    if REVISE not in artifact:
        return {ANSWER: reply.text}
    told = f"{request}\n\nThe answer so far:\n{reply.text}"
    revised = await ctx.chat("task", [system(artifact[REVISE]), user(told)])
    return {DRAFT: reply.text, ANSWER: revised.text}
