from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.config import DataSettings
from flashevolve.data.loaders import Splits, rows
from flashevolve.data.splits import load_data, split
from flashevolve.errors import ConfigError, DataError
from flashevolve.task import SPLITS

shares = st.lists(st.floats(0.1, 5), min_size=3, max_size=3)


@given(st.integers(60, 200), shares, st.integers(0, 3))
def test_splits_are_disjoint_complete_seeded_and_of_the_sizes_asked_for(
    n: int, given_shares: list[float], seed: int
) -> None:
    found = rows([{"id": i} for i in range(n)])
    made = split(found, given_shares, seed)
    assert split(found, given_shares, seed) == made
    parts = [[int(e.id) for e in part] for part in (made.train, made.val, made.test)]
    assert sorted(chain(*parts)) == list(range(n))
    assert all(part == sorted(part) for part in parts)
    for part, share in zip(parts, given_shares, strict=True):
        assert abs(len(part) - n * share / sum(given_shares)) < 1


def test_another_seed_is_another_split() -> None:
    found = rows([{"id": i} for i in range(40)])
    assert split(found, (2, 1, 1), 0).train != split(found, (2, 1, 1), 1).train


def test_a_split_says_how_it_was_made() -> None:
    found = rows([{"id": i} for i in range(8)])
    assert split(found, (0.5, 0.25, 0.25), 3).note == "split with split_seed 3"


def test_a_split_may_leave_out_the_test_examples() -> None:
    assert split(rows([{"id": 1}, {"id": 2}]), (1, 1, 0), 0).test == ()


@pytest.mark.parametrize("bad", [(1, 0, 1), (1, 1, 1), (0, 1, 1)])
def test_a_split_without_examples_is_refused(bad: tuple[float, ...]) -> None:
    with pytest.raises(DataError, match=r"^data\.split: 2 examples by shares .* leave \w+ without"):
        split(rows([{"id": 1}, {"id": 2}]), bad, 0)


def test_shares_of_nothing_are_refused() -> None:
    with pytest.raises(DataError, match=r"expected shares above 0, found \[0, 0, 0\]"):
        split(rows([{"id": 1}]), (0, 0, 0), 0)


def test_a_duplicate_is_refused_before_splitting() -> None:
    with pytest.raises(DataError, match=r"id '1' stands already at data\[0\]"):
        split(rows([{"id": 1}, {"id": 1}]), (1, 1, 0), 0)


def sizes(splits: Splits) -> list[int]:
    return [len(splits[split]) for split in SPLITS]


def test_data_is_loaded_from_three_files_or_from_one(tmp_path: Path) -> None:
    for name, ids in {"a": "12", "b": "34", "c": "5", "all": "1234"}.items():
        (tmp_path / f"{name}.csv").write_text("id,x\n" + "".join(f"{i},x\n" for i in ids))
    three = DataSettings(train=tmp_path / "a.csv", val=tmp_path / "b.csv", test=tmp_path / "c.csv")
    assert sizes(load_data(three)) == [2, 2, 1]
    one = DataSettings(path=tmp_path / "all.csv")
    assert sizes(load_data(one)) == [2, 1, 1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (DataSettings(), r"^data: expected train and val, or path, found none\. For example --da"),
        (DataSettings(train=Path("t.csv")), r"expected train and val, or path, found train\."),
        (
            DataSettings(path=Path("a.csv"), val=Path("v.csv")),
            r"expected either path or train, val and test, found path and val\. Remove one$",
        ),
    ],
)
def test_too_little_or_too_much_data_is_refused(data: DataSettings, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_data(data)
