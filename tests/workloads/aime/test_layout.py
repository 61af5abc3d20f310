from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.aime.layout import answer, problem, solution

FILES = [
    {"id": 0, "problem": "P", "solution": "S", "answer": "116", "url": "https://x"},
    {"ID": "2024-II-4", "Problem": "P", "Solution": "S", "Answer": 116},
    {"id": "7", "problem": "P", "answer": "116"},
    {
        "ID": "2024-II-4",
        "Year": "2024",
        "Problem Number": "4",
        "Question": "P",
        "Answer": "116",
        "Part": "II",
    },
    {"question": "P", "answer": "116"},
    {"problem": "P", "question": "Which topic?", "answer": "116"},
]


@pytest.mark.parametrize("example", FILES)
def test_the_public_layouts_are_read_unchanged(example: dict[str, Any]) -> None:
    assert (problem(example), answer(example)) == ("P", 116)
    assert solution(example) in ("S", "")


@pytest.mark.parametrize(
    ("given", "value"), [("042", 42), (0, 0), (33.0, 33), ("$25$", 25), ("999", 999)]
)
def test_an_answer_may_be_a_number_or_a_text(given: Any, value: int) -> None:
    assert answer({"answer": given}) == value


@pytest.mark.parametrize("given", [1000, "-1", "x", "", None, True, 2.5, [3]])
def test_an_answer_that_no_problem_has_is_refused(given: Any) -> None:
    with pytest.raises(
        DataError, match=r"^example 'a': expected answer to be a whole number from 0 to 999, found"
    ):
        answer({"ID": "a", "answer": given})


def test_a_missing_column_is_named() -> None:
    with pytest.raises(
        DataError,
        match=r"expected a column problem or question, in any case, found id, problm\. Did you",
    ):
        problem({"id": 1, "problm": "P"})
    with pytest.raises(DataError, match="expected problem to be a text that is not empty"):
        problem({"problem": " "})
