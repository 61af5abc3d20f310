"""Attention: which statements of a message reach the reader, and how they get distorted.

Capacity is a number of statements per call. All of a message compete for it; requests weigh more
than standing advice, and advice weighs more the more it relates to the request. A share of each
draw depends on the message alone, so that the same message mostly meets the same fate.
"""

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from flashevolve.simulate.statements import QUOTE, Statement, relatedness

MOST_STRENGTH = 1000.0
"""Its inverse is the least."""


@dataclass(frozen=True, kw_only=True)
class ReaderParameters:
    """The knobs of the reader; each touches one mechanism. Rates are probabilities in [0, 1].

    Their values stand in the world's file alone.
    """

    capacity_statements: int
    """Attention: how many statements reach a reader in one call. Bounds what long prompts give."""
    lapse_rate: float
    """Attention: a request statement that was seen is still not acted on."""
    support: float
    """Attention: the share of lapses that related advice prevents. 0 = advice only adds rules."""
    misread_rate: float
    """Attention: a number, literal or negation of a statement is read as another."""
    fickleness: float
    """Noise: the share of draws that differ between two calls with the same message."""
    anchoring: float
    """Reading: the weight of a value in standing advice against one in the request, per mention."""
    omission_rate: float
    """Rewriting: an old statement does not make it into the new text."""
    over_specific_rate: float
    """Reflection: a lesson keeps the literals and numbers of its one example. Falls as a power of
    the number of traces that agree."""
    overreach_rate: float
    """Reflection: a lesson is said to hold always, not just where the request speaks of it."""
    vague_rate: float
    """Reflection: a lesson names its subject and no rule."""
    wrong_rate: float
    """Reflection: a lesson is misread. Repair: a verdict is not the considered one."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "capacity_statements":
                if value < 1:
                    raise ValueError(f"capacity_statements must be at least 1, got {value}")
            elif not 0 <= value <= 1:
                raise ValueError(f"{name} must be between 0 and 1, got {value}")

    def at_strength(self, strength: float) -> "ReaderParameters":
        """Returns the parameters of a reader that is better (> 1) or worse (< 1) at everything.

        Capacity is multiplied by `strength`, and the odds of each error divided by it: a rate stays
        within [0, 1], 0 stays 0, small rates shrink in proportion and large ones saturate, and
        strengths s and t in turn are s * t at once (but for the rounding of capacity). What a
        reader listens to (support, anchoring) and how much it varies (fickleness) are
        dispositions, neither better nor worse, and stay. Raises ValueError unless strength is
        from 0.001 to 1,000: beyond, it is a reader without errors or without sense.
        """
        if not 1 / MOST_STRENGTH <= strength <= MOST_STRENGTH:
            raise ValueError(
                f"strength must be from {1 / MOST_STRENGTH:g} to {MOST_STRENGTH:g}, got "
                f"{strength:g}; 1 = as the world says"
            )
        capacity = max(1, round(self.capacity_statements * strength))
        rates = {name: _at_odds(getattr(self, name), 1 / strength) for name in ERROR_RATES}
        return replace(self, capacity_statements=capacity, **rates)


ERROR_RATES = (
    "lapse_rate",
    "misread_rate",
    "omission_rate",
    "over_specific_rate",
    "overreach_rate",
    "vague_rate",
    "wrong_rate",
)
"""The parameters that are probabilities of an error."""


def _at_odds(rate: float, factor: float) -> float:
    """Returns the probability whose odds are those of `rate` times `factor`."""
    return rate * factor / (1 - rate + rate * factor)


class Dice:
    """Draws that are partly the message's own and partly the call's."""

    def __init__(self, rng: random.Random, key: str, fickleness: float) -> None:
        self._rng = rng
        self._key = blake2b(key.encode(errors="surrogatepass"), digest_size=32).digest()
        self._fickleness = fickleness

    def draw(self, purpose: str) -> float:
        """Returns a number in [0, 1); the same purpose mostly gives the same number."""
        fresh = self._rng.random()
        if self._rng.random() < self._fickleness:
            return fresh
        digest = blake2b(
            purpose.encode(errors="surrogatepass"), digest_size=6, key=self._key
        ).digest()
        return int.from_bytes(digest, "big") / (1 << 48)

    def pick(self, purpose: str, weights: Sequence[float]) -> int:
        """Returns an index, drawn in proportion to the weights."""
        mark = self.draw(purpose) * sum(weights)
        for index, weight in enumerate(weights):
            mark -= weight
            if mark < 0:
                return index
        return len(weights) - 1


REQUEST_WEIGHT = 3.0
"""Weight with which a statement of the request competes for attention."""
ADVICE_WEIGHT = 0.3
"""The same for standing advice: what is asked now outweighs it tenfold."""
RELATED_WEIGHT = 4.0
"""What advice gets on top, times its relatedness to the request: advice to the point rivals it."""


def attend(
    advice: Sequence[Statement],
    request: Sequence[Statement],
    dice: Dice,
    parameters: ReaderParameters,
) -> tuple[list[Statement], list[Statement]]:
    """Returns the statements of advice and of request that are seen and acted on, in order."""
    ties = [max((relatedness(a, r) for r in request), default=0.0) for a in advice]
    keyed = [
        (_race(dice.draw(f"see {a.text}"), ADVICE_WEIGHT + RELATED_WEIGHT * tie), 0, i)
        for i, (a, tie) in enumerate(zip(advice, ties, strict=True))
    ]
    keyed += [
        (_race(dice.draw(f"see {r.text}"), REQUEST_WEIGHT), 1, i) for i, r in enumerate(request)
    ]
    seen = sorted(sorted(keyed)[: parameters.capacity_statements], key=lambda k: k[1:])
    heard = [advice[i] for _, group, i in seen if group == 0]
    acted: list[Statement] = []
    for _, group, i in seen:
        if group == 1:
            tie = max((relatedness(a, request[i]) for a in heard), default=0.0)
            lapse = parameters.lapse_rate * (1 - parameters.support * min(1.0, 2 * tie))
            if dice.draw(f"act {request[i].text}") >= lapse:
                acted.append(request[i])
    return heard, acted


def _race(draw: float, weight: float) -> float:
    """Returns an exponential arrival time: the earliest k are a weighted sample of k."""
    return -math.log(1.0 - draw) / weight


_NUMBER = re.compile(r"(?<![\w@])\d{1,9}(?!\w)")
_NEGATION = re.compile(r"\b(?:do not|must not|should not|not|never|no)\b ?", re.IGNORECASE)


def misread(text: str, rng: random.Random) -> str:
    """Returns the text with one number, literal or negation read as another.

    Numbers err up as often as down. A text with none of these loses one word.
    """
    spans = [(m.start(), m.end(), "number") for m in _NUMBER.finditer(text)]
    spans += [(m.start() + 1, m.end() - 1, "literal") for m in QUOTE.finditer(text)]
    spans += [(m.start(), m.end(), "negation") for m in _NEGATION.finditer(text)]
    if not spans:
        words = text.split()
        if len(words) > 2:
            del words[rng.randrange(1, len(words))]
        return " ".join(words)
    start, end, kind = rng.choice(spans)
    old = text[start:end]
    if kind == "number":
        value = int(old)
        step = rng.randint(1, max(1, value // 4))
        new = str(max(0, value + rng.choice((-step, step))))
    elif kind == "negation":
        new = ""
    else:
        new = _misread_literal(old, rng)
    return text[:start] + new + text[end:]


def _misread_literal(old: str, rng: random.Random) -> str:
    if not any(c.isalnum() for c in old):
        return rng.choice([sign for sign in ("- ", "+ ", "==", "~~", "# ", "* ") if sign != old])
    at = rng.randrange(len(old))
    return old[:at] + old[at + 1 :] if len(old) > 2 else old + old
