import json
from pathlib import Path

import pytest
from flashevolve.workloads.instructions.checkers import BULLET, JSON_KEY, POSTSCRIPT, SEPARATOR
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.errors import DataError
from flashevolve.workloads.instructions import CHECKERS, generate, write
from flashevolve.workloads.instructions.generator import CLASHES, REQUESTS
from flashevolve.workloads.instructions.vocabulary import SPLITS


def test_the_default_sizes_are_60_60_100() -> None:
    assert {k: len(v) for k, v in generate().items()} == {"train": 60, "val": 60, "test": 100}


def test_the_reference_cell_has_300_validation_examples() -> None:
    val = generate(n_val=300)["val"]
    assert len({e["request"] for e in val}) == len({e["id"] for e in val}) == 300


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_constraints_can_be_met_together_and_requests_state_them(seed: int) -> None:
    for examples in generate(seed, 15, 5, 5).values():
        for example in examples:
            kinds = [c["kind"] for c in example["constraints"]]
            assert 1 <= len(kinds) <= 3
            assert len(set(kinds)) == len(kinds)
            assert all(len(clash.intersection(kinds)) <= 1 for clash in CLASHES)
            for constraint in example["constraints"]:
                for value in constraint.values():
                    shown = value if isinstance(value, list) else [value]
                    if value != constraint["kind"]:
                        assert all(str(one) in example["request"] for one in shown)


def test_the_same_seed_gives_the_same_examples_and_another_seed_others() -> None:
    assert generate(5, 9, 9, 9) == generate(5, 9, 9, 9)
    assert generate(5, 9, 9, 9) != generate(6, 9, 9, 9)


def test_splits_share_no_subject_and_no_word_that_is_asked_for() -> None:
    splits = list(SPLITS.values())
    for i, one in enumerate(splits):
        for other in splits[i + 1 :]:
            for mine, theirs in zip(one, other, strict=True):
                assert not set(mine) & set(theirs)


def test_every_kind_is_asked_for_and_checked() -> None:
    asked = {c["kind"] for e in generate(0, 300, 0, 0)["train"] for c in e["constraints"]}
    assert asked == set(REQUESTS) == set(CHECKERS)


def test_no_request_spells_out_a_house_rule() -> None:
    told = " ".join(way for ways in REQUESTS.values() for way in ways).lower()
    for rule in (BULLET, SEPARATOR, "<<", POSTSCRIPT.lower(), JSON_KEY + '"', "twice", "semicolon"):
        assert rule not in told


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(DataError, match=r"split sizes must be 0 or more, got .*-1"):
        generate(0, -1)


def test_files_hold_one_example_a_line(tmp_path: Path) -> None:
    paths = write(tmp_path / "data", seed=2, n_train=3, n_val=2, n_test=1)
    read = {
        split: [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for split, path in paths.items()
    }
    assert read == generate(2, 3, 2, 1)


def test_the_shipped_example_holds_the_default_data() -> None:
    folder = Path(__file__).parents[3] / "examples" / "instructions"
    for split, examples in generate().items():
        lines = (folder / f"{split}.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line) for line in lines] == examples
    assert (folder / "prompt.md").read_text("utf-8").strip() == "Answer the request."
