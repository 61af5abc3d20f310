from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.task import Example
from flashevolve.workloads.hotpotqa.layout import answer, context, question, supporting
from flashevolve.workloads.retrieval.passages import Passage

ROW: dict[str, Any] = {
    "_id": "5a8b",
    "question": "Who directed it?",
    "answer": "Anna",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["Ravelin", 0], ["Anna Bolt", 1], ["Ravelin", 2]],
    "context": [["Ravelin", ["A film.", " It is old."]], ["Anna Bolt", ["A person."]]],
}
TABLE = {
    **ROW,
    "supporting_facts": {"title": ["Ravelin", "Anna Bolt", "Ravelin"], "sent_id": [0, 1, 2]},
    "context": {
        "title": ["Ravelin", "Anna Bolt"],
        "sentences": [["A film.", " It is old."], ["A person."]],
    },
}


@pytest.mark.parametrize("row", [ROW, TABLE])
def test_both_public_layouts_are_read_alike(row: dict[str, Any]) -> None:
    assert (question(row), answer(row)) == ("Who directed it?", "Anna")
    assert supporting(row) == ["Ravelin", "Anna Bolt"]
    assert context(row) == [
        Passage("Ravelin", "A film. It is old."),
        Passage("Anna Bolt", "A person."),
    ]


@pytest.mark.parametrize(
    ("changes", "read", "message"),
    [
        (
            {"question": " "},
            question,
            r"\(_id '5a8b'\): expected question to be a text, found ' '$",
        ),
        ({"answer": 3}, answer, r"expected answer to be a text, found 3$"),
        ({"supporting_facts": "x"}, supporting, r'to be a list such as \[\["Title", 0\]\], found'),
        ({"supporting_facts": [[1, 2]]}, supporting, r"expected supporting_facts to be a list "),
        ({"supporting_facts": []}, supporting, r"expected at least one page in supporting_facts"),
        ({"context": [["T", "text"]]}, context, r"expected context to be a list such as "),
        ({"context": {"title": ["T"], "sentences": []}}, context, r"expected context to be a list"),
        ({"context": 7}, context, r"expected context to be a list such as .*found 7$"),
    ],
)
def test_a_wrong_column_is_one_line_with_its_place(
    changes: dict[str, Any], read: Any, message: str
) -> None:
    example = Example(id="5a8b", data={**ROW, **changes}, place="dev.json[3]")
    with pytest.raises(
        DataError,
        match=r"^dev\.json\[3\] \(_id '5a8b'\): .*" + message.removeprefix(r"\(_id '5a8b'\): "),
    ):
        read(example)


def test_a_missing_column_is_named() -> None:
    row = {**ROW, "anser": "x"}
    del row["answer"]
    with pytest.raises(
        DataError, match=r"expected a column answer, found .*Did you mean 'anser'\?$"
    ):
        answer(row)
