import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.errors import DataError
from flashevolve.workloads.instructions import generate, write
from flashevolve.workloads.instructions.kinds import (
    ALL_KINDS,
    DEFAULT_KINDS,
    UNSEEN,
    go_together,
)
from flashevolve.workloads.instructions.layout import constraints
from flashevolve.workloads.instructions.vocabulary import SPLITS
from flashevolve.workloads.instructions.wording import WORDINGS, ways
from tests.workloads.instructions.solving import solve

SEEDS = st.integers(0, 10_000)


def asked(examples: list[dict[str, Any]]) -> set[str]:
    return {kind for example in examples for kind in example["instruction_id_list"]}


def test_the_default_sizes_are_60_60_100() -> None:
    assert {k: len(v) for k, v in generate().items()} == {"train": 60, "val": 60, "test": 100}


def test_the_reference_cell_has_300_validation_examples() -> None:
    val = generate(n_val=300)["val"]
    assert len({e["prompt"] for e in val}) == len({e["key"] for e in val}) == 300


def test_keys_are_whole_numbers_and_unique_over_all_splits() -> None:
    keys = [example["key"] for examples in generate().values() for example in examples]
    assert all(type(key) is int for key in keys)
    assert len(set(keys)) == len(keys)


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_some_answer_meets_all_constraints_of_an_example(seed: int) -> None:
    for examples in generate(seed, 8, 8, 16, kinds=ALL_KINDS).values():
        for example in examples:
            assert solve(example), example


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_an_example_has_the_public_layout_and_one_to_three_kinds_that_go_together(
    seed: int,
) -> None:
    for examples in generate(seed, 15, 5, 15, kinds=ALL_KINDS).values():
        for example in examples:
            assert list(example) == ["key", "prompt", "instruction_id_list", "kwargs"]
            assert 1 <= len(constraints(example)) <= 3
            assert go_together(example["instruction_id_list"])


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_a_prompt_holds_one_wording_of_each_constraint_and_a_topic(seed: int) -> None:
    for split, examples in generate(seed, 10, 10, 10, kinds=ALL_KINDS).items():
        for example in examples:
            left = example["prompt"]
            for kind, kwargs in zip(example["instruction_id_list"], example["kwargs"], strict=True):
                found = {way for full in (0, 1) for way in ways(kind, kwargs, full=bool(full))}
                said = max((way for way in found if way in left), key=len)
                left = left.replace(said, "", 1)
            assert any(subject in left for subject in SPLITS[split].subjects)


def test_three_of_four_constraints_are_asked_for_tersely() -> None:
    n: Counter[bool] = Counter()
    for example in generate(0, 600, 0, 0)["train"]:
        for kind, kwargs in zip(example["instruction_id_list"], example["kwargs"], strict=True):
            if WORDINGS[kind].terse:
                n[any(way in example["prompt"] for way in ways(kind, kwargs, full=True))] += 1
    assert 0.2 < n[True] / n.total() < 0.35  # some cannot be put tersely


def test_the_same_arguments_give_the_same_examples_and_another_seed_others() -> None:
    assert generate(5, 9, 9, 9) == generate(5, 9, 9, 9)
    assert generate(5, 9, 9, 9) != generate(6, 9, 9, 9)
    assert generate(5, 9, 9, 9, kinds=ALL_KINDS) != generate(5, 9, 9, 9)


def test_the_order_of_kinds_does_not_matter() -> None:
    assert generate(5, kinds=ALL_KINDS) == generate(5, kinds=set(ALL_KINDS))


def test_more_examples_begin_with_the_fewer() -> None:
    assert generate(5, 20, 0, 0)["train"][:9] == generate(5, 9, 0, 0)["train"]


def test_every_kind_is_asked_for_and_the_unseen_ones_in_the_test_only() -> None:
    made = generate(0, 300, 300, 600, kinds=ALL_KINDS)
    assert asked(made["train"]) == asked(made["val"]) == set(ALL_KINDS) - UNSEEN
    assert asked(made["test"]) == set(ALL_KINDS)


def test_half_of_the_test_is_about_unseen_kinds() -> None:
    made = generate(0, 0, 0, 600, kinds=ALL_KINDS)["test"]
    n_unseen = sum(k in UNSEEN for example in made for k in example["instruction_id_list"])
    assert 0.35 < n_unseen / sum(len(example["kwargs"]) for example in made) < 0.65


def test_only_the_kinds_that_are_wanted_are_asked_for() -> None:
    made = generate(0, kinds=["layout:bold", "words:last"])
    assert asked(made["test"]) == {"layout:bold", "words:last"}
    assert asked(generate(0)["test"]) == set(DEFAULT_KINDS)


def test_examples_with_one_constraint_can_be_had() -> None:
    made = generate(0, n_constraints=[1])
    assert {len(e["kwargs"]) for examples in made.values() for e in examples} == {1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_train": -1}, r"expected split sizes from 0 to 100000, found .*-1"),
        ({"kinds": ["layout:bald"]}, r"known instruction ids as kinds, found 'layout:bald'\. Did"),
        ({"n_constraints": []}, r"n_constraints to be numbers of 1 or more, found \[\]"),
        ({"n_constraints": [0, 1]}, r"n_constraints to be numbers of 1 or more, found \[0, 1\]"),
        ({"kinds": ["words:growing"]}, r"kinds with one that may occur in train data, found"),
        ({"kinds": []}, r"kinds with one that may occur in train data, found \[\]"),
        (
            {"kinds": ["punctuation:no_comma"], "n_train": 9000},
            r"expected 9000 different examples of these kinds in train, found only \d+; allow more",
        ),
    ],
)
def test_arguments_that_make_no_data_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        generate(0, **options)


def test_test_data_may_have_unseen_kinds_alone() -> None:
    assert asked(generate(0, 0, 0, 20, kinds=["words:growing"])["test"]) == {"words:growing"}


def test_files_hold_one_example_a_line(tmp_path: Path) -> None:
    paths = write(tmp_path / "data", seed=2, n_train=3, n_val=2, n_test=1, kinds=ALL_KINDS)
    read = {
        split: [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for split, path in paths.items()
    }
    assert read == generate(2, 3, 2, 1, kinds=ALL_KINDS)


def test_the_shipped_example_holds_the_default_data() -> None:
    folder = Path(__file__).parents[3] / "examples" / "instructions"
    for split, examples in generate().items():
        lines = (folder / f"{split}.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line) for line in lines] == examples
    assert (folder / "prompt.md").read_text("utf-8").strip() == "Answer the request."
