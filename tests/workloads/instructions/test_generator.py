from pathlib import Path

import pytest

from flashevolve.data.loaders import load_splits
from flashevolve.errors import DataError
from flashevolve.workloads.instructions import CHECKERS, generate, write
from flashevolve.workloads.instructions.generator import CLASHES


def test_the_same_arguments_give_the_same_examples_and_another_seed_others() -> None:
    assert generate(1, 20, 10, 10) == generate(1, 20, 10, 10)
    assert generate(1, 20, 10, 10) != generate(2, 20, 10, 10)


def test_a_longer_split_begins_like_a_shorter_one() -> None:
    assert generate(0, 30, 5, 5)["train"][:10] == generate(0, 10, 5, 5)["train"]


def test_splits_have_the_sizes_asked_for_and_share_no_request_and_no_id() -> None:
    splits = generate(0, 60, 40, 50)
    assert {name: len(found) for name, found in splits.items()} == {
        "train": 60,
        "val": 40,
        "test": 50,
    }
    everything = [example for found in splits.values() for example in found]
    assert len({e["request"] for e in everything}) == len({e["id"] for e in everything}) == 150


def test_examples_ask_for_one_to_three_known_things_that_do_not_clash() -> None:
    for example in generate(5, 200, 0, 0)["train"]:
        kinds = [c["kind"] for c in example["constraints"]]
        assert 1 <= len(kinds) <= 3
        assert len(set(kinds)) == len(kinds)
        assert set(kinds) <= set(CHECKERS)
        assert all(len(clash.intersection(kinds)) <= 1 for clash in CLASHES)


def test_every_kind_of_constraint_is_asked_for_somewhere() -> None:
    asked = {c["kind"] for e in generate(0, 300, 0, 0)["train"] for c in e["constraints"]}
    assert asked == set(CHECKERS)


def test_written_files_read_back_as_what_was_generated(tmp_path: Path) -> None:
    paths = write(tmp_path, seed=4, n_train=6, n_val=3, n_test=2)
    splits = load_splits(paths["train"], paths["val"], paths["test"])
    assert [dict(e) for e in splits.train] == generate(4, 6, 3, 2)["train"]
    assert [e.id for e in splits.test] == ["test-0000", "test-0001"]


def test_a_negative_size_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match="split sizes must be 0 or more"):
        generate(0, -1)
