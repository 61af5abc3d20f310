"""Sizes: how many words, sentences and groups of sentences an answer has."""

import random
from dataclasses import dataclass

from flashevolve.simulate.planning import MAX_WORDS, Plan
from flashevolve.simulate.writing.habits import N_SENTENCES, Habits

_ITEMS = ("bullet", "numbered", "line")
_GROUPS = ("paragraph", "section", "heading", "variant")
WORDS_A_SENTENCE = 10
UNIQUE_SHARE = 0.6
"""Of the words of an answer that repeats none but articles, so many are new."""
ONE_MORE = 0.3
"""Chance that a writer who is asked for at least so many gives one more."""


@dataclass(frozen=True)
class Bounds:
    """How many words are wanted in all; None = no such bound."""

    low: int | None
    high: int | None
    multiple: int
    unit: int
    """How often each word of the draft shows in the answer."""

    def target(self, rng: random.Random) -> int | None:
        """Returns the number of words to aim at."""
        low, high, step = self.low, self.high, self.multiple * self.unit
        if low is not None and high is not None and low > high:
            low, high = (low, None) if rng.random() < 0.5 else (None, high)
        if low is not None and high is not None:
            wanted = rng.randint(low, high)
        elif low is not None:
            wanted = low + rng.randint(0, 2)
        elif high is not None:
            wanted = max(1, high - rng.randint(0, 2))
        elif self.multiple > 1:
            wanted = rng.randint(30, 45)
        else:
            return None
        if self.multiple > 1:
            wanted -= wanted % step
            if low is not None and wanted < low:
                wanted += step
        return max(step if self.multiple > 1 else 1, wanted)

    def hold(self, n_words: int) -> bool:
        """Tells whether a number of words is fine."""
        return (
            (self.low is None or n_words >= self.low)
            and (self.high is None or n_words <= self.high)
            and n_words % self.multiple == 0
        )


def bounds(plan: Plan) -> Bounds:
    """Returns the bounds on the number of words."""
    exact, low, high = (plan.number(f"{r} word") for r in ("exactly", "atleast", "atmost"))
    if exact is not None:
        low = high = exact
    unique = plan.number("atleast unique") or plan.number("exactly unique")
    if unique and not exact:
        low = max(low or 0, int(unique / UNIQUE_SHARE) + 8)
    unit = 2 if plan.text("repeat") == "answer" else 1
    return Bounds(low, high, max(1, plan.number("multiple word") or 1), unit)


def wanted(plan: Plan, unit: str, rng: random.Random) -> int:
    """Returns how many of a unit to write; 0 = the plan does not say."""
    exact = plan.number(f"exactly {unit}")
    if exact is not None:
        return max(0, exact)
    least, most = plan.number(f"atleast {unit}"), plan.number(f"atmost {unit}")
    if least is not None:
        more = least + (rng.random() < ONE_MORE)
        return max(0, more if most is None else min(more, most))
    return max(0, min(most, 1)) if most is not None else 0


def n_items(plan: Plan, rng: random.Random) -> int:
    """Returns the number of lines that are items of a list or lines of a poem; 0 = prose."""
    acrostic = plan.text("acrostic")
    if acrostic:
        return len(acrostic)
    return max((wanted(plan, unit, rng) for unit in _ITEMS), default=0)


def n_groups(plan: Plan, rng: random.Random) -> int:
    """Returns the number of paragraphs, sections or the like; 0 = one text."""
    openings = plan.openings()
    named = max((wanted(plan, unit, rng) for unit in _GROUPS), default=0)
    return max(named, plan.number("variants") or 0, *openings)


def n_sentences(plan: Plan, n_parts: int, habits: Habits, rng: random.Random) -> int | None:
    """Returns the number of sentences that the plan fixes; None = as many as the words need."""
    needed = [n_parts, sum(wanted(plan, mark, rng) for mark in ("question", "exclamation"))]
    needed += [3] * bool(plan.text("growth") or plan.text("indent"))
    exact = plan.number("exactly sentence")
    if exact is not None:
        return max(1, exact)
    least, most = plan.number("atleast sentence"), plan.number("atmost sentence")
    if least is None and most is None:
        return None if not max(needed) else max(needed)
    n = max(*needed, least or 1)
    if least is None:
        n = max(n, habits.pick("sentences", N_SENTENCES))
    return max(1, n if most is None else min(n, most))


def lengths(
    plan: Plan, n_fixed: int | None, n_least: int, n_words: int | None, habits: Habits,
    rng: random.Random,
) -> list[int]:  # fmt: skip
    """Returns the number of words of each sentence."""
    cap = plan.number("atmost word in sentence") or 99
    floor = plan.number("atleast word in sentence") or 1
    if n_words is None:
        n = max(n_least, n_fixed or habits.pick("sentences", N_SENTENCES))
        each = [max(_room(floor, n), min(cap, rng.randint(8, 12))) for _ in range(n)]
        return _growing(each, sum(each)) if plan.text("growth") else each
    n = max(1, n_least, n_fixed or max(round(n_words / WORDS_A_SENTENCE), -(-n_words // cap)))
    short, n_longer = divmod(n_words, n)
    each = [max(_room(floor, n), short + (i < n_longer)) for i in range(n)]
    return _growing(each, n_words) if plan.text("growth") else each


def _room(floor: int, n: int) -> int:
    """Returns the least number of words of each of n sentences that an answer has room for."""
    return min(floor, max(1, MAX_WORDS // n))


def _growing(each: list[int], total: int) -> list[int]:
    """Returns as many lengths, each more than the one before, of the same sum where possible."""
    n = len(each)
    first = max(1, (total - n * (n - 1) // 2) // n)
    grown = [min(first + i, max(1, 2 * MAX_WORDS // n)) for i in range(n)]
    grown[-1] += max(0, total - sum(grown))
    return grown
