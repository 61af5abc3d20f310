from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.task import Example
from flashevolve.workloads.hover.layout import claim, label, supporting

ROW: dict[str, Any] = {
    "uid": "33ca",
    "claim": "Ravelin's director was born in Tessel.",
    "supporting_facts": [["Ravelin", 0], ["Anna Bolt", 1], ["Ravelin", 1]],
    "label": "NOT_SUPPORTED",
    "num_hops": 2,
    "hpqa_id": "5ab7",
}


def test_the_public_layout_is_read() -> None:
    assert claim(ROW) == "Ravelin's director was born in Tessel."
    assert supporting(ROW) == ["Ravelin", "Anna Bolt"]
    assert label(ROW) == "NOT_SUPPORTED"


def test_supporting_facts_of_the_table_are_read() -> None:
    facts = [{"key": title, "value": place} for title, place in ROW["supporting_facts"]]
    assert supporting({**ROW, "supporting_facts": facts}) == ["Ravelin", "Anna Bolt"]


@pytest.mark.parametrize(("number", "name"), [(0, "NOT_SUPPORTED"), (1, "SUPPORTED")])
def test_labels_as_numbers_are_read(number: int, name: str) -> None:
    assert label({**ROW, "label": number}) == name


@pytest.mark.parametrize(
    ("changes", "read", "message"),
    [
        ({"claim": ""}, claim, r"expected claim to be a text, found ''$"),
        ({"label": "REFUTED"}, label, r"to be NOT_SUPPORTED or SUPPORTED, found 'REFUTED'$"),
        ({"label": True}, label, r"to be NOT_SUPPORTED or SUPPORTED, found True$"),
        ({"supporting_facts": [{"title": "T"}]}, supporting, r"expected supporting_facts to be a"),
        ({"supporting_facts": [7]}, supporting, r"expected supporting_facts to be a list such as"),
    ],
)
def test_a_wrong_column_is_one_line_with_its_place(
    changes: dict[str, Any], read: Any, message: str
) -> None:
    example = Example(id="33ca", data={**ROW, **changes}, place="dev.json[3]")
    with pytest.raises(DataError, match=rf"^dev\.json\[3\] \(uid '33ca'\): .*{message}"):
        read(example)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(DataError, match=r"example 'x': expected a column claim, found uid\.$"):
        claim({"uid": "x"})
