"""A second, simpler reader, which shows what does not depend on how the first one is made.

It takes a text for a bag of statements: every statement is as likely to be seen as any other,
whatever it relates to; what the request says always wins over advice; advice makes nothing surer;
every call is a fresh draw. It learns one lesson per reflection, each as likely as any other, and
two statements are the same only if they are the same words. It reads prompts, understands demands
and writes as the first one does. Rates and capacity are the first one's; anchoring, support and
fickleness have no meaning here.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from flashevolve.llm.messages import Message
from flashevolve.simulate.attention import Dice, ReaderParameters, misread
from flashevolve.simulate.lessons import Trace, learn, phrase
from flashevolve.simulate.planning import make_plan
from flashevolve.simulate.prompt import Prompt
from flashevolve.simulate.reader import respond
from flashevolve.simulate.reflecting import Revision
from flashevolve.simulate.repairing import Comparison, decide
from flashevolve.simulate.statements import Statement, read, split, statement
from flashevolve.simulate.writing import write


class SimpleReader:
    """A model that reads bags of statements; stateless between calls."""

    def __init__(self, parameters: ReaderParameters) -> None:
        self.parameters = replace(parameters, anchoring=0, support=0)

    def answer(self, messages: Sequence[Message], rng: random.Random) -> str:
        """Returns the reply to a conversation, in the role that it implies."""
        return respond(self, messages, rng)

    def solve(self, standing: str, request: str, rng: random.Random) -> str:
        """Returns an answer that does what was seen."""
        advice, asked = read(standing), read(request)
        places = range(len(advice) + len(asked))
        seen = set(rng.sample(places, min(self.parameters.capacity_statements, len(places))))
        heard = [self._perceive(said, rng) for i, said in enumerate(advice) if i in seen]
        acted = [
            self._perceive(said, rng)
            for i, said in enumerate(asked, len(advice))
            if i in seen and rng.random() >= self.parameters.lapse_rate
        ]
        dice = Dice(rng, request, fickleness=1.0)
        return write(make_plan(heard, acted, dice, self.parameters), dice)

    def reflect(self, old: str, shown: Sequence[Trace], rng: random.Random) -> Revision:
        """Returns the old text with one lesson of the examples, or with a part of a request."""
        lessons = learn(shown)
        said = [part for trace in shown for part in split(trace.inputs)]
        if lessons:
            new = [phrase(rng.choice(lessons), rng, self.parameters)]
        else:
            new = [rng.choice(said)] if said else []
        kept = self._rewrite(split(old), rng)
        return Revision("\n".join(dict.fromkeys([*kept, *new])) or old, "Here is the new text.")

    def repair(self, prompt: Prompt, rng: random.Random) -> str:
        """Returns a verdict on a stale text."""

        def compare(old: Sequence[str], now: Sequence[str], n_beside: int) -> Comparison:
            new = [said for said in old if said not in now]
            n_missing = sum(said not in old for said in now)
            return Comparison(len(new), n_missing, tuple(self._rewrite([*now, *new], rng)))

        return decide(prompt, compare, rng, self.parameters.wrong_rate)

    def merge(self, texts: Sequence[str], rng: random.Random) -> str:
        """Returns as many statements of several texts as it can hold."""
        said = list(dict.fromkeys(part for text in texts for part in split(text)))
        seen = rng.sample(range(len(said)), min(self.parameters.capacity_statements, len(said)))
        return "\n".join(self._rewrite([said[i] for i in sorted(seen)], rng) or said[:1])

    def _rewrite(self, said: Sequence[str], rng: random.Random) -> list[str]:
        kept = [part for part in said if rng.random() >= self.parameters.omission_rate]
        return [self._perceive(statement(part), rng).text for part in kept]

    def _perceive(self, said: Statement, rng: random.Random) -> Statement:
        if rng.random() < self.parameters.misread_rate:
            return statement(misread(said.text, rng))
        return said
