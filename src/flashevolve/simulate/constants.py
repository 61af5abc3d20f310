"""What the code of the simulated world fixes: weights, habits, thresholds and words, for its hash.

They are found, not listed: every constant (a name in upper case) of every module of this package,
if it is a number, a text, or a collection of these. A new module counts unless it is named below.
Compiled patterns and what a function's own lines fix are not seen here: whoever changes those
raises the world's revision.
"""

import pkgutil
from collections.abc import Iterator, Mapping, Set
from importlib import import_module
from types import ModuleType
from typing import Any

import flashevolve.simulate as package

NOT_OF_THE_WORLD = frozenset(
    {
        "answering",
        "bodies",
        "ceiling",
        "charged",
        "completions",
        "constants",
        "endpoint",
        "loop",
        "pace",
        "world",
    }
)
"""Modules that carry the world, or measure it, and decide nothing in it."""


def constants() -> dict[str, Any]:
    """Returns the values as JSON has them, by module and name."""
    return {
        f"{module.__name__.removeprefix(package.__name__)[1:]}.{name}": value
        for module in world_modules()
        for name, value in _constants_of(module)
    }


def world_modules() -> Iterator[ModuleType]:
    """Yields the modules that decide what happens in the world; imports them."""
    within = f"{package.__name__}."
    for found in pkgutil.walk_packages(package.__path__, within):
        if found.name.removeprefix(within) not in NOT_OF_THE_WORLD:
            yield import_module(found.name)


def _constants_of(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(module).items()):
        if name.isupper():
            try:
                yield name, _plain(value)
            except TypeError:
                continue


def _plain(value: Any) -> Any:
    """Returns a value as JSON has it. Raises `TypeError` for anything that has no such form."""
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, Set):
        return sorted(_plain(each) for each in value)
    if isinstance(value, Mapping):
        return sorted([_plain(key), _plain(each)] for key, each in value.items())
    raise TypeError(f"expected a constant, found {type(value).__name__}")
