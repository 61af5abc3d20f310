"""Layout: the columns of an example, which are those of the public AIME files.

    {"id": 0, "problem": "...", "solution": "...", "answer": "116", "url": "..."}

Names of columns are read in any case, since the files differ in it (`ID`, `Problem`, `Answer`), and
`question` is read where there is no `problem`.
The answer is a whole number from 0 to 999, as a number or as a text such as "042"; `solution` may
be absent. Other columns are ignored.
"""

from collections.abc import Mapping
from typing import Any

from flashevolve.errors import DataError, nearest
from flashevolve.task import place_of
from flashevolve.workloads.aime.reading import integer

ID, PROBLEM, SOLUTION, ANSWER = "id", "problem", "solution", "answer"
QUESTION = "question"
"""What other files call the problem."""
LARGEST = 999


def problem(example: Mapping[str, Any]) -> str:
    """Returns the problem. Raises `DataError`, as the others do."""
    return _text(example, PROBLEM, QUESTION)


def answer(example: Mapping[str, Any]) -> int:
    """Returns the expected answer, from 0 to 999."""
    given = _column(example, ANSWER)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    value = integer(str(given)) if isinstance(given, int | str) else None
    if value is None or isinstance(given, bool) or not 0 <= value <= LARGEST:
        raise DataError(
            f"{_place(example)}: expected {ANSWER} to be a whole number from 0 to {LARGEST}, "
            f"found {given!r:.80}"
        )
    return value


def solution(example: Mapping[str, Any]) -> str:
    """Returns the worked solution; empty if the file has none."""
    name = column(example, SOLUTION)
    given = example[name] if name is not None else None
    return given.strip() if isinstance(given, str) else ""


def column(example: Mapping[str, Any], name: str) -> str | None:
    """Returns how an example spells a column's name; None if it lacks the column."""
    if name in example:
        return name
    return next((str(key) for key in example if str(key).casefold() == name), None)


def _column(example: Mapping[str, Any], name: str, *others: str) -> Any:
    spelt = (column(example, one) for one in (name, *others))
    own = next((one for one in spelt if one is not None), None)
    if own is None:
        raise DataError(
            f"{_place(example)}: expected a column {' or '.join((name, *others))}, in any case, "
            f"found {', '.join(map(str, example)) or 'none'}.{nearest(name, map(str, example))}"
        )
    return example[own]


def _text(example: Mapping[str, Any], name: str, *others: str) -> str:
    value = _column(example, name, *others)
    if not isinstance(value, str) or not value.strip():
        raise DataError(
            f"{_place(example)}: expected {name} to be a text that is not empty, found "
            f"{value!r:.80}"
        )
    return value


def _place(example: Mapping[str, Any]) -> str:
    return place_of(example, column(example, ID) or ID)
