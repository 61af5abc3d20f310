import random
import sys
from itertools import combinations
from typing import Any

import pytest

from flashevolve.workloads.instructions.drawing import Deck, draw
from flashevolve.workloads.instructions.kinds import (
    ALL_KINDS,
    DEFAULT_KINDS,
    FEATURES,
    OWNED,
    TRAITS,
    UNSEEN,
    clash,
    go_together,
)
from flashevolve.workloads.instructions.registry import CHECKERS
from flashevolve.workloads.instructions.scoring import PROBE
from flashevolve.workloads.instructions.vocabulary import SPLITS
from tests.workloads.instructions.solving import solve

PAIRS = [pair for pair in combinations(ALL_KINDS, 2) if go_together(pair)]
LIBRARIES = ("punkt", "py3langid", "py3langid.langid")


def drawn(kinds: tuple[str, ...], split: str, seed: int) -> dict[str, Any]:
    rng = random.Random(f"{split}/{seed}")
    deck = Deck(SPLITS[split], rng)
    topic = "Describe a salt mine to a friend."
    return {
        "instruction_id_list": kinds,
        "kwargs": [draw(kind, rng, deck, topic) for kind in kinds],
    }


def test_every_kind_that_can_be_checked_has_traits() -> None:
    assert set(TRAITS) == set(CHECKERS)
    assert len(ALL_KINDS) == 61


def test_traits_are_made_of_known_parts_and_features() -> None:
    for traits in TRAITS.values():
        assert traits.owns <= OWNED
        assert traits.needs | traits.bars <= FEATURES.keys()
        assert not traits.needs & traits.bars


def test_eighteen_of_the_further_kinds_occur_in_test_data_only() -> None:
    assert len(UNSEEN) == 18
    assert set(TRAITS) > UNSEEN
    assert not UNSEEN.intersection(DEFAULT_KINDS)


def test_the_default_kinds_need_no_optional_library(monkeypatch: pytest.MonkeyPatch) -> None:
    from flashevolve.workloads.instructions import language, text

    language._identifier.cache_clear()
    text._tokenizer.cache_clear()
    for library in LIBRARIES:
        monkeypatch.setitem(sys.modules, library, None)
    for kind in DEFAULT_KINDS:
        (kwargs,) = drawn((kind,), "train", 0)["kwargs"]
        CHECKERS[kind](PROBE, **kwargs)


def test_two_of_a_kind_do_not_go_together() -> None:
    assert go_together(["layout:bold", "words:last"])
    assert not go_together(["layout:bold", "words:last", "layout:bold"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("words:last", "startend:end_checker"),  # one last thing
        ("punctuation:no_comma", "punctuation:no_comma"),
        ("signs:forbidden", "signs:semicolons"),
        ("detectable_format:number_bullet_lists", "edges:signature"),  # "-- name" is a bullet
        ("keywords:existence", "letters:forbidden"),
        ("words:growing", "repeats:answer"),
    ],
)
def test_what_excludes_each_other_clashes(one: str, other: str) -> None:
    assert not go_together([one, other])


def test_a_clash_works_both_ways() -> None:
    assert all(clash(one, other) == clash(other, one) for one, other in PAIRS)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_each_kind_alone_can_be_met(kind: str, split: str) -> None:
    if split == "test" or kind not in UNSEEN:
        for seed in range(5):
            example = drawn((kind,), split, seed)
            assert solve(example), example


def test_each_pair_that_does_not_clash_can_be_met() -> None:
    assert len(PAIRS) > 1200
    unmet = [pair for i, pair in enumerate(PAIRS) if not solve(drawn(pair, "test", i))]
    assert not unmet
