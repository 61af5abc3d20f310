import re
from itertools import combinations

from flashevolve.workloads.instructions.vocabulary import SPLITS, Words

STOP = frozenset(["a", "all", "an", "at", "in", "it", "of", "the"])
"""Words that tell nothing of a subject or a phrase."""


def told(words: Words) -> set[str]:
    """Returns the words and signs that requests of a split may hold because of its vocabulary."""
    entries = [entry.lower() for pool in words[: Words._fields.index("letters")] for entry in pool]
    found = {word for entry in [*entries, *words.acrostics] for word in re.findall(r"\w+", entry)}
    return (found - STOP) | set(words.signs)


def test_splits_share_no_entry_of_any_pool() -> None:
    for one, other in combinations(SPLITS.values(), 2):
        for mine, theirs in zip(one, other, strict=True):
            assert not {w.lower() for w in mine} & {w.lower() for w in theirs}


def test_splits_share_no_word_across_pools_either() -> None:
    for one, other in combinations(SPLITS.values(), 2):
        assert not told(one) & told(other)


def test_no_other_split_bars_the_marks_that_test_sentences_end_in() -> None:
    assert not {".", "!", "?"} & {*SPLITS["train"].signs, *SPLITS["val"].signs}


def test_only_test_data_has_acrostics() -> None:
    assert [split for split, words in SPLITS.items() if words.acrostics] == ["test"]
