from itertools import combinations

from flashevolve.workloads.instructions.vocabulary import SPLITS


def test_splits_share_no_subject_and_no_word_that_is_asked_for() -> None:
    for one, other in combinations(SPLITS.values(), 2):
        for mine, theirs in zip(one, other, strict=True):
            assert not {w.lower() for w in mine} & {w.lower() for w in theirs}


def test_splits_share_nothing_across_pools_either() -> None:
    told = [{word.lower() for pool in words[1:7] for word in pool} for words in SPLITS.values()]
    for one, other in combinations(told, 2):
        assert not one & other


def test_only_test_data_has_acrostics() -> None:
    assert [split for split, words in SPLITS.items() if words.acrostics] == ["test"]
