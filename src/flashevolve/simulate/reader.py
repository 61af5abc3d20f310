"""The reader: one bounded text-in, text-out model for all roles of a run.

It infers its role from the message. Asked to improve an instruction from examples with feedback, it
reflects; shown a stale text with what changed since and asked for a verdict, it repairs; anything
else it answers. It knows no task, no algorithm and no engine: what it learns, it learns from text.
The same messages and the same state of `rng` give the same answer.
"""

import random
import re
from collections.abc import Sequence

from flashevolve.llm.messages import Message
from flashevolve.simulate.attention import Dice, ReaderParameters, attend, misread
from flashevolve.simulate.planning import make_plan
from flashevolve.simulate.reflecting import reflect
from flashevolve.simulate.repairing import repair
from flashevolve.simulate.statements import Statement, read, statement
from flashevolve.simulate.writing import write

_REPAIR_CUES = ("stale", "discard", "verdict", "accept", "updates", "patch")
_REFLECT_CUES = ("feedback", "example", "instruction", "improve", "rewrite", "new", "assistant")
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})", re.MULTILINE)


class TextReader:
    """A model that reads and writes; stateless between calls."""

    def __init__(self, parameters: ReaderParameters | None = None) -> None:
        self.parameters = parameters or ReaderParameters()

    def answer(self, messages: Sequence[Message], rng: random.Random) -> str:
        """Returns the reply to a conversation, in the role that it implies."""
        text = "\n\n".join(message.text for message in messages)
        role = infer_role(text)
        if role == "repair":
            return repair(text, rng, self.parameters)
        if role == "reflect":
            return reflect(text, rng, self.parameters)
        return self._solve(messages, rng)

    def _solve(self, messages: Sequence[Message], rng: random.Random) -> str:
        advice = [s for m in messages if m.role == "system" for s in read(m.text)]
        request = [s for m in messages if m.role != "system" for s in read(m.text)]
        key = "\n".join(s.text for s in request)
        dice = Dice(rng, key, self.parameters.fickleness)
        heard, acted = attend(advice, request, dice, self.parameters)
        heard = [self._perceive(s, dice, rng) for s in heard]
        acted = [self._perceive(s, dice, rng) for s in acted]
        return write(make_plan(heard, acted, dice, self.parameters), dice)

    def _perceive(self, said: Statement, dice: Dice, rng: random.Random) -> Statement:
        if dice.draw(f"misread {said.text}") < self.parameters.misread_rate:
            return statement(misread(said.text, rng))
        return said


def infer_role(text: str) -> str:
    """Returns `repair`, `reflect` or `answer`, judged by general cues."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    if "json" in words and sum(cue in words for cue in _REPAIR_CUES) >= 4:
        return "repair"
    singular = words | {word.removesuffix("s") for word in words}
    n_cues = sum(cue in singular for cue in _REFLECT_CUES)
    return "reflect" if "feedback" in words and n_cues >= 3 and _FENCE.search(text) else "answer"
