import json
from pathlib import Path
from typing import Any

import pytest

from flashevolve.data.loaders import load_splits
from flashevolve.errors import DataError
from flashevolve.workloads.hover import generate, score_label, write
from flashevolve.workloads.hover.layout import supporting
from flashevolve.workloads.retrieval.passages import read_corpus

MADE = generate(0)
SPLITS = ("train", "val", "test")
TEXTS: dict[str, str] = {page["title"]: page["text"] for page in MADE["corpus"]}


def test_the_same_arguments_give_the_same_files(tmp_path: Path) -> None:
    first, again = (write(tmp_path / name, n_train=5, n_val=5, n_test=5) for name in "ab")
    assert list(first) == [*SPLITS, "corpus"]
    for name in first:
        assert first[name].read_bytes() == again[name].read_bytes()
    assert generate(1, 5, 5, 5) != generate(0, 5, 5, 5)


def test_files_can_be_loaded_scored_and_searched(tmp_path: Path) -> None:
    paths = write(tmp_path, n_train=5, n_val=6, n_test=7)
    splits = load_splits(paths["train"], paths["val"], paths["test"], id_field="uid")
    titles = {passage.title for passage in read_corpus(paths["corpus"])}
    for examples in (splits.train, splits.val, splits.test):
        score_label.check_examples(examples)
        assert all(set(supporting(e)) <= titles for e in examples)
    assert [e.id for e in splits.val] == [f"val-{k}" for k in range(6)]


def test_a_claim_names_its_first_page_and_no_later_one() -> None:
    for split in SPLITS:
        for example in MADE[split]:
            first, *later = supporting(example)
            assert len(later) + 1 == example["num_hops"]
            assert first in example["claim"]
            assert not any(title in example["claim"] for title in later)
            for title, following in zip((first, *later), later, strict=False):
                assert following in TEXTS[title]


def test_a_claim_is_supported_if_its_last_page_says_so() -> None:
    labels = set()
    for split in SPLITS:
        for example in MADE[split]:
            fact = example["claim"].rstrip(".").removesuffix(" as a child").split()
            value = fact[-2] if fact[-1] == "km" else fact[-1]
            said = value in TEXTS[supporting(example)[-1]].replace(".", " ").split()
            assert said == (example["label"] == "SUPPORTED"), example
            labels.add((example["num_hops"], example["label"]))
    assert len(labels) == 6


def test_the_splits_share_no_claim_and_no_page() -> None:
    for read in (titles, claims):
        found = [read(MADE[split]) for split in SPLITS]
        assert sum(map(len, found)) == len(set().union(*found))


@pytest.mark.parametrize("n_hops", [(), (1,), (2, 5)])
def test_hops_out_of_range_are_refused(n_hops: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"^expected n_hops to be numbers from 2 to 4, found \["):
        generate(n_hops=n_hops)


def test_hops_are_drawn_from_what_is_asked_for() -> None:
    assert {e["num_hops"] for e in generate(0, 9, 0, 0, n_hops=(4,))["train"]} == {4}


def test_the_largest_splits_have_names_enough() -> None:
    made = generate(0, 500, 0, 0, difficulty=0.0)
    assert len({json.dumps(page) for page in made["corpus"]}) == len(made["corpus"])
    assert len(claims(made["train"])) == 500


def titles(examples: list[dict[str, Any]]) -> set[str]:
    return {title for example in examples for title in supporting(example)}


def claims(examples: list[dict[str, Any]]) -> set[str]:
    return {example["claim"] for example in examples}
