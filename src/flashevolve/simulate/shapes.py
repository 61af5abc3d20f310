"""Shapes: what a published workload asks of a backend, and nothing of what it learns from it.

A shape gives the number of calls, their lengths and the rate at which a gate lets a child pass.
Every child is as good as its parent, so no score of a shape says anything about quality.

Invariants:

- A call of an evaluation is told from all others by its last message, which starts with `MARK`.
- All calls of an evaluation end with the same message, so that a long example is long in each.
- Every reply holds a new text: in a fence, or where JSON is asked for, in a verdict.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from random import Random
from typing import Any

from flashevolve.llm.messages import Message
from flashevolve.simulate.lengths import LengthSettings, check_sigma, digest
from flashevolve.simulate.prefix import BYTES_PER_TOKEN

MARK = "A question of the shape "
"""How the last message of each call of an evaluation starts."""
FILLER = "Words that stand for a question and its context. "
COMPONENTS, VERDICT_EACH = '"components"', '"verdicts"'
"""What a question holds that wants JSON, and one that wants a verdict for each of several texts."""
_NUMBERED = re.compile(r"^#+ [A-Za-z ]+ (\d+)$", re.MULTILINE)
COMPONENT = "system"
"""The one component of an artifact that runs on a shape."""
_STEPS = 60
"""Halvings of an interval: as exact as a number can be."""


@dataclass(frozen=True, kw_only=True)
class ShapeSettings:
    """One workload, as its backend sees it."""

    calls_per_evaluation: int
    """Calls, one after the other, that run an artifact on one example."""
    tokens_per_evaluation: float
    """Mean output tokens of all these calls together."""
    reflection_tokens: float
    """Mean output tokens of any other call: a reflection, an aggregation, a repair."""
    sigma_example: float
    """Standard deviation of ln(tokens of a call) between examples."""
    sigma_sample: float
    """The same between artifacts and samples."""
    input_tokens: int
    """Of the question and its context, in every call of an evaluation."""
    n_train: int
    n_val: int
    minibatch: int
    """Examples on which a child has to beat its parent."""
    gate_rate: float
    """Share of the children that do."""
    accept_rate: float
    """Share of the repairs that accept a text as it is; the others patch it."""
    baseline_in_flight: int
    """Requests that the published synchronous baseline had in flight at most."""

    def __post_init__(self) -> None:
        for name in (
            "calls_per_evaluation",
            "n_train",
            "n_val",
            "minibatch",
            "baseline_in_flight",
            "tokens_per_evaluation",
            "reflection_tokens",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("sigma_example", "sigma_sample", "input_tokens"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if not 0 <= self.accept_rate <= 1:
            raise ValueError(f"accept_rate must be from 0 to 1, got {self.accept_rate:g}")
        check_sigma("sigma_example", self.sigma_example)
        check_sigma("sigma_sample", self.sigma_sample)
        most = pass_rate(0.5, self.minibatch)
        if not 0 < self.gate_rate <= most:
            raise ValueError(
                f"gate_rate must be above 0 and at most {most:g}, which coins reach on "
                f"{self.minibatch} examples, got {self.gate_rate:g}"
            )

    @property
    def success_rate(self) -> float:
        """The probability that an output is right: the smaller one that gives `gate_rate`."""
        low, high = 0.0, 0.5
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if pass_rate(middle, self.minibatch) < self.gate_rate:
                low = middle
            else:
                high = middle
        return high

    @property
    def tokens_per_step(self) -> float:
        """Mean output tokens for each proposal: two minibatches, a reflection, at times a sweep."""
        evaluations = 2 * self.minibatch + self.gate_rate * self.n_val
        return self.tokens_per_evaluation * evaluations + self.reflection_tokens

    def lengths(self, messages: Sequence[Message], max_tokens: int) -> LengthSettings:
        """Returns how long the answer to `messages` is, at most `max_tokens`."""
        mean_tokens = self.reflection_tokens
        if messages[-1].text.startswith(MARK):
            mean_tokens = max(1.0, self.tokens_per_evaluation / self.calls_per_evaluation)
        return LengthSettings(
            mean_tokens=mean_tokens,
            sigma_example=self.sigma_example,
            sigma_sample=self.sigma_sample,
            max_tokens=max_tokens,
        )

    def question(self, name: str, example_id: str) -> str:
        """Returns what an example of the shape called `name` asks."""
        start = f"{MARK}{name}: {example_id}. "
        missing = self.input_tokens * BYTES_PER_TOKEN - len(start)
        return (start + FILLER * (1 + max(0, missing) // len(FILLER))).strip()


def pass_rate(success_rate: float, n: int) -> float:
    """Returns how often one of two equal texts has strictly more successes in `n` than the other.

    Each has the same binomial number of successes: (1 - P(equal)) / 2.
    """
    equal = sum(
        (comb(n, k) * success_rate**k * (1 - success_rate) ** (n - k)) ** 2 for k in range(n + 1)
    )
    return (1 - equal) / 2


def is_success(text: str, success_rate: float) -> bool:
    """Says whether an output is right, by nothing but a hash of it."""
    return digest(b"success", text.encode()) < success_rate * 2**64


class ShapeReader:
    """Answers anything with a short new text: in a fence, or in a verdict where one is asked for.

    A reply's time comes from its simulated length; there is nothing in it to learn from.
    """

    def __init__(self, shape: ShapeSettings) -> None:
        self._accept_rate = shape.accept_rate

    def answer(self, messages: Sequence[Message], rng: Random) -> str:
        """Returns the text of the answer."""
        question = messages[0].text if len(messages) > 1 else messages[-1].text
        if COMPONENTS not in question:
            return f"```\n{_text(rng)}\n```"
        if VERDICT_EACH in question:
            answer: Any = {number: self._verdict(rng) for number in _NUMBERED.findall(question)}
            return json.dumps({VERDICT_EACH.strip('"'): answer})
        return json.dumps(self._verdict(rng))

    def _verdict(self, rng: Random) -> dict[str, Any]:
        """Returns a verdict, or a new text for whoever asks for that alone."""
        verdict = "accept" if rng.random() < self._accept_rate else "patch"
        return {"verdict": verdict, "reason": "-", "components": {COMPONENT: _text(rng)}}


def _text(rng: Random) -> str:
    return f"text {rng.getrandbits(64):016x}"
