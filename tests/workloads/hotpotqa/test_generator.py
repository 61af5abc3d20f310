import json
import re
from pathlib import Path
from typing import Any

import pytest

from flashevolve.data.loaders import load_splits
from flashevolve.errors import DataError
from flashevolve.workloads.hotpotqa import generate, score, write
from flashevolve.workloads.hotpotqa.layout import context, supporting
from flashevolve.workloads.retrieval.vocabulary import SPLITS

DATA = generate(0)


def test_the_same_arguments_give_the_same_files(tmp_path: Path) -> None:
    first, again = (write(tmp_path / name, n_train=5, n_val=5, n_test=5) for name in "ab")
    assert list(first) == ["train", "val", "test"]
    for split in first:
        assert first[split].read_bytes() == again[split].read_bytes()
    assert generate(1, 5, 5, 5) != generate(0, 5, 5, 5)


def test_files_are_lists_as_the_public_ones_and_can_be_scored(tmp_path: Path) -> None:
    paths = write(tmp_path, n_train=5, n_val=6, n_test=7)
    assert len(json.loads(paths["val"].read_text(encoding="utf-8"))) == 6
    splits = load_splits(paths["train"], paths["val"], paths["test"], id_field="_id")
    for name in SPLITS:
        examples = splits[name]  # type: ignore[index]  # the names of the splits
        score.check_examples(examples)
        assert [e.id for e in examples] == [f"{name}-{k}" for k in range(len(examples))]


def test_each_example_has_ten_pages_two_of_which_hold_the_answer() -> None:
    for examples in DATA.values():
        for example in examples:
            pages = {p.title: p.text for p in context(example)}
            gold = supporting(example)
            assert (len(pages), len(gold)) == (10, 2)
            said = " ".join(pages[title] for title in gold)
            if example["answer"] not in ("yes", "no"):
                assert example["answer"] in said
            for title, place in example["supporting_facts"]:
                sentences: list[Any] = dict(example["context"])[title]
                assert sentences[place]


def test_a_bridge_question_names_neither_the_second_page_nor_the_answer() -> None:
    kinds = set()
    for example in DATA["train"] + DATA["val"] + DATA["test"]:
        first, second = supporting(example)
        kinds.add(example["type"])
        assert first in example["question"]
        assert (second in example["question"]) == (example["type"] == "comparison")
        if example["type"] == "bridge":
            assert example["answer"] not in example["question"]
    assert kinds == {"bridge", "comparison"}


def test_the_splits_share_no_question_no_title_and_no_answer() -> None:
    by_split = list(DATA.values())
    for mine in by_split:
        for others in by_split:
            if mine is others:
                continue
            for read in (titles, answers):
                assert not read(mine) & read(others)


def test_no_name_of_a_split_occurs_in_another_one() -> None:
    names = {split: set(re.findall(NAME, json.dumps(DATA[split]))) for split in DATA}
    for split, words in SPLITS.items():
        syllables = set(words.syllables.split())
        own = {
            n
            for n in names[split]
            if {n[i : i + 3].lower() for i in range(0, len(n), 3)} <= syllables
        }
        assert len(own) > 100
        assert all(not own & names[other] for other in SPLITS if other != split)


@pytest.mark.parametrize(("difficulty", "level"), [(0, "easy"), (0.5, "medium"), (1, "hard")])
def test_the_level_tells_the_difficulty(difficulty: float, level: str) -> None:
    made = generate(0, 2, 0, 0, difficulty=difficulty)["train"]
    assert {example["level"] for example in made} == {level}


def test_the_largest_splits_have_names_enough() -> None:
    made = generate(0, 500, 0, 0, difficulty=0.0)["train"]
    assert len({example["question"] for example in made}) == 500


def test_sizes_out_of_range_are_refused() -> None:
    with pytest.raises(DataError, match=r"^expected split sizes from 0 to 500, found .*'val': 501"):
        generate(0, 1, 501, 1)


NAME = r"\b[A-Z][a-z]+\b"


def titles(examples: list[dict[str, Any]]) -> set[str]:
    return {page.title for example in examples for page in context(example)}


def answers(examples: list[dict[str, Any]]) -> set[str]:
    return {example["answer"] for example in examples} - {"yes", "no"}


def test_a_comparison_never_compares_equals() -> None:
    n_compared = 0
    for seed in range(20):
        for example in generate(seed, 0, 0, 150)["test"]:
            pages = {p.title: p.text for p in context(example)}
            a, b = (pages[title] for title in supporting(example))
            for asked, told in (("born first", r"born in (\d+)"), ("longer", r"length of (\d+)")):
                if asked in example["question"]:
                    n_compared += 1
                    assert re.findall(told, a) != re.findall(told, b), example["question"]
    assert n_compared > 300
