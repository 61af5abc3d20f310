import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.workloads.instructions.drawing import Deck, draw
from flashevolve.workloads.instructions.kinds import ALL_KINDS, UNSEEN
from flashevolve.workloads.instructions.layout import constraints
from flashevolve.workloads.instructions.vocabulary import SPLITS

TOPIC = "Describe a bridge."


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(SPLITS)))
def test_what_is_drawn_is_what_the_checkers_take(seed: int, split: str) -> None:
    rng = random.Random(seed)
    for kind in ALL_KINDS:
        if split == "test" or kind not in UNSEEN:
            kwargs = draw(kind, rng, Deck(SPLITS[split], rng), TOPIC)
            example = {"key": 1, "instruction_id_list": [kind], "kwargs": [kwargs]}
            assert constraints(example)


def test_a_deck_deals_nothing_twice() -> None:
    deck = Deck(SPLITS["test"], random.Random(4))
    n = len(SPLITS["test"].keywords)
    assert sorted(deck.deal("keywords") for _ in range(n)) == sorted(SPLITS["test"].keywords)


def test_the_topic_is_what_is_to_be_repeated() -> None:
    rng = random.Random(0)
    kwargs = draw("combination:repeat_prompt", rng, Deck(SPLITS["val"], rng), TOPIC)
    assert kwargs == {"prompt_to_repeat": TOPIC}


@pytest.mark.parametrize("kind", ["detectable_format:title", "words:growing"])
def test_a_kind_without_parameters_draws_none(kind: str) -> None:
    rng = random.Random(0)
    assert draw(kind, rng, Deck(SPLITS["test"], rng), TOPIC) == {}
