"""Ornaments: parts of sentences that look different. Bold words, brackets, capitals, numbers."""

import random
from collections.abc import Callable

from flashevolve.simulate.planning import Plan
from flashevolve.simulate.writing.habits import (
    ASIDES,
    BOLDS,
    HIGHLIGHTS,
    NUMBER_STYLES,
    PLACEHOLDERS,
    Habits,
)
from flashevolve.simulate.writing.lexicon import NUMERALS
from flashevolve.simulate.writing.sentences import Sentence
from flashevolve.simulate.writing.sizes import wanted

Places = Callable[[], tuple[Sentence, int]]

_WRAPPED = (
    ("placeholder", PLACEHOLDERS),
    ("highlight", HIGHLIGHTS),
    ("bold", BOLDS),
    ("parenthesis", ASIDES),
)


def ornament(
    plan: Plan, sentences: list[Sentence], places: Places, habits: Habits, rng: random.Random
) -> None:
    """Gives the wanted number of words each wanted look."""
    for unit, options in _WRAPPED:
        n = wanted(plan, unit, rng)
        if n:
            opening, closing = plan.mark(f"{unit} marks") or habits.pick(unit, options)
            for _ in range(min(n, 60)):
                one, at = places()
                one.words[at] = f"{opening}{one.words[at]}{closing}"
    for _ in range(min(60, wanted(plan, "capital", rng))):
        one, at = places()
        one.words[at] = one.words[at].upper()
    n_numbers = wanted(plan, "number", rng)
    if n_numbers:
        style = plan.text("number style") or habits.pick("numbers", NUMBER_STYLES)
        for k in range(min(60, n_numbers)):
            one, at = places()
            digits = str(rng.randint(2, 60)) if style == "digits" else ""
            one.words[at] = digits or NUMERALS[k % len(NUMERALS)]
