"""Layout: the columns of an example, which are those of the public IFEval file.

    {"key": 1000, "prompt": "...", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}

`kwargs` holds one table of values for each instruction; a null value is as good as none, further
columns are ignored. What a checker may be given is read from its signature, so an example that
`constraints` accepts can be scored whatever the answer is, and its constraint can be met. Texts
among the values are stripped and normalized as answers are.
"""

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from flashevolve.errors import DataError, nearest
from flashevolve.task import place_of
from flashevolve.workloads.instructions.registry import CHECKERS
from flashevolve.workloads.instructions.text import normalized, shortened
from flashevolve.workloads.instructions.verdict import Checker, Rule

KEY, PROMPT, IDS, KWARGS = "key", "prompt", "instruction_id_list", "kwargs"

_TYPES: Mapping[Any, str] = {int: "a whole number", str: "a text", list[str]: "a list of texts"}


class Constraint(NamedTuple):
    """One instruction of an example, ready to be checked."""

    id: str
    checker: Checker
    values: Mapping[str, Any]


class Parameter(NamedTuple):
    """One value that a checker takes."""

    type: Any
    expected: str
    rules: tuple[Rule, ...]
    required: bool


def constraints(
    example: Mapping[str, Any], checkers: Mapping[str, Checker] = CHECKERS
) -> list[Constraint]:
    """Returns an example's constraints, in order. Raises `DataError`."""
    where = place_of(example, KEY)
    if PROMPT in example:
        _check_prompt(example[PROMPT], where)
    ids, tables = _list(example, IDS, where), _list(example, KWARGS, where)
    if not ids:
        raise DataError(f"{where}: expected at least one id in {IDS}, found none")
    if len(ids) != len(tables):
        raise DataError(
            f"{where}: expected as many tables in {KWARGS} as ids in {IDS}, "
            f"found {len(tables)} and {len(ids)}"
        )
    return [
        _constraint(name, table, where, index, checkers)
        for index, (name, table) in enumerate(zip(ids, tables, strict=True))
    ]


@cache
def parameters(checker: Checker) -> Mapping[str, Parameter]:
    """Returns what a checker takes besides the answer, by name."""
    return dict(_parameters(checker))


@cache
def rules(checker: Checker) -> tuple[Rule, ...]:
    """Returns what a checker's values must be together."""
    returned = inspect.signature(checker).return_annotation
    return get_args(returned)[1:] if get_origin(returned) is Annotated else ()


def _parameters(checker: Checker) -> Iterator[tuple[str, Parameter]]:
    for name, given in inspect.signature(checker).parameters.items():
        if given.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        kind, own = given.annotation, []
        if get_origin(kind) is Annotated:
            kind, *own = get_args(kind)
        expected = own[0].expected if own else _TYPES.get(kind, "")
        if get_origin(kind) is Literal:
            expected = " or ".join(map(repr, get_args(kind)))
        yield name, Parameter(kind, expected, tuple(own), given.default is given.empty)


def _check_prompt(prompt: Any, where: str) -> None:
    if not isinstance(prompt, str) or not prompt.strip():
        raise DataError(
            f"{where}: expected {PROMPT} to be a text that is not empty, found {_shown(prompt)}"
        )


def _list(example: Mapping[str, Any], name: str, where: str) -> list[Any]:
    if name not in example:
        raise DataError(
            f"{where}: expected a column {name}, found {', '.join(map(str, example)) or 'none'}."
            f"{nearest(name, map(str, example))}"
        )
    value = example[name]
    if not isinstance(value, list | tuple):
        raise DataError(f"{where}: expected {name} to be a list, found {_shown(value)}")
    return list(value)


def _constraint(
    name: Any, table: Any, where: str, index: int, checkers: Mapping[str, Checker]
) -> Constraint:
    if not isinstance(name, str) or name not in checkers:
        raise DataError(
            f"{where}: expected a known instruction as {IDS}[{index}], found {_shown(name)}."
            f"{nearest(str(name), checkers) or ' docs/instructions.md lists them'}"
        )
    # A table may be null where a file was written from columns.
    table = {} if table is None else table
    if not isinstance(table, Mapping):
        raise DataError(
            f"{where}: expected {KWARGS}[{index}] to be a table of values, found {_shown(table)}"
        )
    known = parameters(checkers[name])
    given = {str(key): value for key, value in table.items() if value is not None}
    of = f"{KWARGS}[{index}] of {name}"
    for key in given:
        if key not in known:
            raise DataError(
                f"{where}: expected in {of} nothing but {', '.join(known) or 'null values'}, "
                f"found {key!r}.{nearest(key, known)}"
            )
    for key, parameter in known.items():
        if parameter.required and key not in given:
            raise DataError(
                f"{where}: expected {key!r} ({parameter.expected}) in {of}, "
                f"found {', '.join(given) or 'no values'}"
            )
    values = {
        key: _value(value, known[key], f"{where}: expected {key!r} in {of} to be")
        for key, value in given.items()
    }
    for rule in rules(checkers[name]):
        if not rule.holds(**values):
            raise DataError(f"{where}: expected in {of} {rule.expected}, found {_shown(values)}")
    return Constraint(name, checkers[name], values)


def _value(value: Any, parameter: Parameter, expected: str) -> Any:
    # Tables with nulls turn whole numbers into floats.
    if parameter.type is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if parameter.type == list[str] and isinstance(value, tuple):
        value = list(value)
    # An answer is normalized, too: line ends of Windows could never be met.
    if parameter.type is str and isinstance(value, str):
        value = normalized(value).strip()
    if parameter.type == list[str] and isinstance(value, list):
        value = [normalized(one) if isinstance(one, str) else one for one in value]
    if not _fits(value, parameter.type) or not all(rule.holds(value) for rule in parameter.rules):
        raise DataError(f"{expected} {parameter.expected}, found {_shown(value)}")
    return value


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind == list[str]:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, kind) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    return shortened(repr(value))
