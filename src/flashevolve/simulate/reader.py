"""The reader: one bounded text-in, text-out model for all roles of a run.

It infers its role from the message (`roles`). Asked to improve an instruction from examples with
feedback, it reflects; shown a stale text with what changed since and asked for a verdict, it
repairs; shown several texts to be made one, it merges; anything else it answers. It knows no task,
no algorithm and no engine: what it learns, it learns from text. The same messages and the same
state of `rng` give the same answer.
"""

import random
from collections.abc import Sequence
from typing import Protocol

from flashevolve.llm.messages import Message
from flashevolve.simulate.attention import Dice, ReaderParameters, attend, misread
from flashevolve.simulate.forms import wrap
from flashevolve.simulate.lessons import Trace
from flashevolve.simulate.merging import merge
from flashevolve.simulate.planning import make_plan
from flashevolve.simulate.prompt import Prompt, take_apart
from flashevolve.simulate.reflecting import Revision, reflect
from flashevolve.simulate.repairing import repair
from flashevolve.simulate.roles import current_text, infer_role, shown_texts
from flashevolve.simulate.statements import Statement, read, statement
from flashevolve.simulate.writing import write


class Mind(Protocol):
    """What a reader does in each role, once the message is taken apart."""

    def solve(self, standing: str, request: str, rng: random.Random) -> str:
        """Returns the answer to a request under standing advice."""
        ...

    def reflect(self, old: str, shown: Sequence[Trace], rng: random.Random) -> Revision:
        """Returns a text in place of the old one."""
        ...

    def repair(self, prompt: Prompt, rng: random.Random) -> str:
        """Returns the JSON object of a verdict."""
        ...

    def merge(self, texts: Sequence[str], rng: random.Random) -> str:
        """Returns one text out of several."""
        ...


def respond(mind: Mind, messages: Sequence[Message], rng: random.Random) -> str:
    """Returns a mind's reply to a conversation, in the role and the form that it implies."""
    prompt = take_apart(messages)
    role = infer_role(prompt)
    if role == "repair":
        return mind.repair(prompt, rng)
    if role == "reflect":
        old = current_text(prompt) or ""
        revision = mind.reflect(old, prompt.traces, rng)
        return wrap(revision.text, revision.remark, prompt, [old], rng)
    if role == "merge":
        texts = list(shown_texts(prompt).values())
        return wrap(mind.merge(texts, rng), f"This joins {len(texts)} texts.", prompt, texts, rng)
    answer = mind.solve(prompt.standing, prompt.request, rng)
    if prompt.fields is None:
        return answer
    return prompt.fields.render(answer, "It follows from the request.", rng)


class TextReader:
    """A model that reads and writes; stateless between calls."""

    def __init__(self, parameters: ReaderParameters) -> None:
        self.parameters = parameters

    def answer(self, messages: Sequence[Message], rng: random.Random) -> str:
        """Returns the reply to a conversation, in the role that it implies."""
        return respond(self, messages, rng)

    def solve(self, standing: str, request: str, rng: random.Random) -> str:
        """Returns an answer that does what was attended to."""
        advice, asked = read(standing), read(request)
        key = "\n".join(said.text for said in asked)
        dice = Dice(rng, key, self.parameters.fickleness)
        heard, acted = attend(advice, asked, dice, self.parameters)
        heard = [self._perceive(said, dice, rng) for said in heard]
        acted = [self._perceive(said, dice, rng) for said in acted]
        return write(make_plan(heard, acted, dice, self.parameters, asked), dice)

    def reflect(self, old: str, shown: Sequence[Trace], rng: random.Random) -> Revision:
        """Returns the old text with lessons of the examples."""
        return reflect(old, shown, rng, self.parameters)

    def repair(self, prompt: Prompt, rng: random.Random) -> str:
        """Returns a verdict on a stale text."""
        return repair(prompt, rng, self.parameters)

    def merge(self, texts: Sequence[str], rng: random.Random) -> str:
        """Returns one text that holds what was noticed of several."""
        return merge(texts, rng, self.parameters)

    def _perceive(self, said: Statement, dice: Dice, rng: random.Random) -> Statement:
        if dice.draw(f"misread {said.text}") < self.parameters.misread_rate:
            return statement(misread(said.text, rng))
        return said
