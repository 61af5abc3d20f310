import json
from collections import Counter
from pathlib import Path

import pytest

from flashevolve.data.loaders import load_splits
from flashevolve.errors import DataError
from flashevolve.workloads.aime import generate, score, write
from flashevolve.workloads.aime.problems import MAKERS


def test_the_same_arguments_give_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    one, two, other = write(tmp_path / "1"), write(tmp_path / "2"), write(tmp_path / "3", seed=1)
    assert [p.read_bytes() for p in one.values()] == [p.read_bytes() for p in two.values()]
    assert one["train"].read_bytes() != other["train"].read_bytes()
    loaded = load_splits(one["train"], one["val"], one["test"])
    assert [len(loaded[s]) for s in ("train", "val", "test")] == [60, 60, 100]
    score.check_examples(loaded.test)


def test_no_two_splits_share_a_kind_or_a_problem() -> None:
    made = generate()
    kinds = [{e["kind"] for e in made[split]} for split in made]
    assert kinds == [set(makers) for makers in MAKERS.values()]
    assert sum(map(len, kinds)) == len(set().union(*kinds))
    problems = [e["problem"] for split in made.values() for e in split]
    assert len(problems) == len(set(problems))


def test_kinds_take_turns_and_answers_are_of_the_right_size() -> None:
    made = generate(3)
    counts = Counter(e["kind"] for e in made["test"])
    assert min(counts.values()) >= 8
    answers = [int(e["answer"]) for split in made.values() for e in split]
    assert set(answers) <= set(range(1000))
    assert len(set(answers)) > 100


def test_a_solution_ends_with_the_answer() -> None:
    for example in generate()["test"]:
        assert example["solution"].endswith(f" The answer is {example['answer']}.")


def test_levels_are_kept_to_and_larger_ones_have_larger_numbers() -> None:
    easy, hard = (generate(0, 30, 30, 30, levels=[level]) for level in (1, 3))
    assert {e["level"] for e in easy["train"]} == {1}
    assert len(json.dumps(easy["test"])) < len(json.dumps(hard["test"]))


def test_what_cannot_be_made_is_one_line() -> None:
    with pytest.raises(DataError, match="expected split sizes from 0 to 1000"):
        generate(n_train=-1)
    with pytest.raises(DataError, match=r"expected levels from 1 to 3, found \[4\]"):
        generate(levels=[4])
