"""What the documentation claims about the simulated world, each claim measured.

Means are over stated numbers of answers; a bound is three standard errors where it guards against
chance. The reader's mechanisms one by one are in `test_knobs`, wordings in `test_paraphrases`.
"""

import random
import re
from collections.abc import Callable
from statistics import fmean, pvariance
from typing import Any

import pytest

from flashevolve.simulate.attention import Dice
from flashevolve.simulate.reader import TextReader
from flashevolve.workloads.instructions import generate, score
from flashevolve.workloads.instructions.kinds import ALL_KINDS
from tests.simulate.instructing import DATA, KINDS, ORACLE, RULES, SEED, answer, mean
from tests.simulate.usual import USUAL, reader_with

MANY = generate(1, 0, 0, 600)["test"]
NOISE = 3 * 0.017
"""Three standard errors of the difference of two means of 600 scores, paired by example."""


def own_rules(example: Any) -> str:
    """Returns the advice that one example needs, and nothing else."""
    wanted = [rule for name, rule in RULES.items() if KINDS[name] in example["instruction_id_list"]]
    return "\n".join([SEED, *wanted])


def test_an_oracle_prompt_reaches_the_ceiling_of_advice_made_for_each_example() -> None:
    ceiling = fmean(score(e, answer(own_rules(e), e))[0] for e in MANY)
    assert ceiling - 0.06 < mean(ORACLE, MANY) < ceiling + NOISE


def test_gains_saturate_as_true_rules_are_added() -> None:
    rules = list(RULES.values())
    orders = [random.Random(f"order {k}").sample(rules, len(rules)) for k in range(6)]

    def with_rules(n: int) -> float:
        return fmean(mean("\n".join([SEED, *order[:n]]), MANY[:300]) for order in orders)

    none, third, two_thirds, all_of_them = (with_rules(n) for n in (0, 3, 6, 9))
    assert third - none > 0.05
    assert two_thirds - third > 0
    assert (third - none) + 0.02 > two_thirds - third > all_of_them - two_thirds - 0.02
    surplus = "\n".join(f'A caption number {k} begins with "Fig {k}".' for k in range(9))
    assert mean(f"{ORACLE}\n{surplus}", MANY) < mean(ORACLE, MANY) + NOISE


NEGATED = {
    "never": (
        'Never begin a bullet line with "* ".',
        'Never put a title between "<<" and ">>".',
        'A postscript must not begin with "P.S.".',
        'Never put a separator line "***" between paragraphs.',
        "Do not write placeholders in square brackets.",
        'Do not put a line "******" between two different answers.',
        'No heading line may begin with "## ".',
        'Do not make a phrase bold with "**" on each side.',
        'A signature must not begin with "-- ".',
    ),
    "wrong": (
        'It is wrong to begin a bullet with "* ".',
        'Putting a title between "<<" and ">>" is wrong.',
        'A postscript that begins with "P.S." is wrong.',
        'A separator line "***" between paragraphs is forbidden.',
        "It is a mistake to write placeholders in square brackets.",
        'A line "******" between two different answers is not allowed.',
        '"## " is not right at the start of a heading.',
        'It is incorrect to make a phrase bold with "**" on each side.',
        '"-- " must not stand before the name in a signature.',
    ),
    "instead": (
        'Stop beginning bullet lines with "* ".',
        'Instead of putting titles between "<<" and ">>", leave them plain.',
        'Begin a postscript with anything but "P.S.".',
        'Put something other than "***" between paragraphs.',
        "Write placeholders in something other than square brackets.",
        'Stop putting a line "******" between two different answers.',
        'Begin headings with something else instead of "## ".',
        'Make phrases bold without "**".',
        'Sign without "-- " before the name.',
    ),
}
"""The nine rules of `RULES` turned into their opposite, in three ways."""


@pytest.mark.parametrize("way", NEGATED)
def test_rules_that_say_the_opposite_earn_no_more_than_none(way: str) -> None:
    bare, told = mean(SEED, MANY), mean("\n".join([SEED, *NEGATED[way]]), MANY)
    assert told < bare + NOISE / 3
    assert mean(ORACLE, MANY) > told + 0.25


def test_rules_earn_mostly_by_the_words_that_they_hold_and_little_by_their_order() -> None:
    """A limit of the reader, which the documentation states: it hardly reads syntax."""
    rng = random.Random("scrambled")

    def scrambled(rule: str) -> str:
        parts = re.findall(r'"[^"]*"|[\w]+', rule)
        return " ".join(rng.sample(parts, len(parts))) + "."

    told = mean("\n".join([SEED, *map(scrambled, RULES.values())]), MANY)
    assert mean(SEED, MANY) + 0.1 < told < mean(ORACLE, MANY) + NOISE


@pytest.mark.parametrize(
    "advice",
    [
        'The word "lantern" must appear at least 3 times.',
        'When the request speaks of the lighthouse: sign as "-- Anna".',
        "A note about the night market has exactly 4 bullets.",
    ],
)
def test_advice_about_one_entity_does_not_transfer(advice: str) -> None:
    assert mean(f"{SEED}\n{advice}", MANY) < mean(SEED, MANY) + NOISE / 2


@pytest.mark.parametrize(
    ("advice", "request_text", "shows"),
    [
        (
            'The word "lantern" must appear at least 3 times.',
            "Tell a short story about a lantern.",
            lambda text: text.lower().count("lantern") >= 3,
        ),
        (
            'When the request speaks of the lighthouse: sign as "-- Anna".',
            "Describe the lighthouse to a friend.",
            lambda text: text.endswith("-- Anna"),
        ),
        (
            "A note about the night market has exactly 4 bullets.",
            "Write a note about the night market.",
            lambda text: len(re.findall(r"(?m)^[-*•+] ", text)) == 4,
        ),
    ],
)
def test_advice_about_one_entity_helps_requests_about_it(
    advice: str, request_text: str, shows: Callable[[str], bool]
) -> None:
    example = {"prompt": request_text, "key": "entity"}
    told, bare = (
        fmean(shows(answer(prompt, example, draw)) for draw in range(100))
        for prompt in (f"{SEED}\n{advice}", SEED)
    )
    assert told > bare + 0.5


def test_two_calls_with_one_message_differ_as_often_as_fickleness_says() -> None:
    """Chance p decides an event; two calls share its draw unless one of them draws afresh."""
    p, n = 0.3, 40_000
    for fickleness in (0.0, 0.12, 0.5, 1.0):
        rng = random.Random(f"noise {fickleness}")
        differ = 0
        for k in range(n):
            one, other = (Dice(rng, f"message {k}", fickleness).draw("event") for _ in range(2))
            differ += (one < p) != (other < p)
        expected = 2 * p * (1 - p) * (1 - (1 - fickleness) ** 2)
        assert abs(differ / n - expected) < 3 * (0.25 / n) ** 0.5


def test_scores_vary_between_calls_more_with_fickleness_and_not_at_all_without() -> None:
    def noise(**knobs: float) -> float:
        reader = TextReader(reader_with(**knobs))
        return fmean(
            pvariance([score(e, answer(SEED, e, draw, reader))[0] for draw in range(6)])
            for e in MANY[:150]
        )

    quiet = noise(fickleness=0, misread_rate=0)
    usual, wild = noise(fickleness=0.12), noise(fickleness=1)
    assert quiet == 0 < usual < wild


@pytest.mark.parametrize("kinds", [None, ALL_KINDS], ids=["default", "all"])
def test_examples_are_exchangeable_so_that_no_order_of_them_can_help(kinds: Any) -> None:
    """Early and late examples of a split are equally hard, whatever the prompt."""
    options = {} if kinds is None else {"kinds": kinds}
    val = generate(2, 0, 600, 0, **options)["val"]
    for prompt in (SEED, ORACLE):
        scores = [score(e, answer(prompt, e))[0] for e in val]
        gap = fmean(scores[:300]) - fmean(scores[300:])
        assert abs(gap) < 3 * (2 * pvariance(scores) / 300) ** 0.5


def test_an_answer_depends_on_its_own_message_alone() -> None:
    """Whatever was answered before or in which order, the same draw gives the same answer."""
    reader = TextReader(USUAL)
    forwards = {e["key"]: answer(SEED, e, 5, reader) for e in DATA["val"]}
    backwards = {e["key"]: answer(SEED, e, 5, reader) for e in reversed(DATA["val"])}
    assert forwards == backwards
