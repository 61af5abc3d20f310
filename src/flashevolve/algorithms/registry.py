"""Registry: the names of built-in algorithms, and how a configuration finds an algorithm's class.

The class holds the algorithm's settings, checks its table, and builds its workflow. Nothing is
imported before an algorithm is asked for.
"""

from pathlib import Path

from flashevolve.data.imports import load_object
from flashevolve.errors import ConfigError, nearest

ALGORITHMS = {
    "gepa": "flashevolve.algorithms.gepa.config:GEPA",
    "combee": "flashevolve.algorithms.combee.config:Combee",
}
"""Name in a configuration -> `module:Class`."""


def algorithm_class(name: str, base_dir: Path | None = None) -> type:
    """Returns the class of a built-in algorithm, or of a user's `module:Class`.

    Raises `ConfigError` if there is none of that name.
    """
    path = ALGORITHMS.get(name, name)
    if ":" not in path:
        raise ConfigError(
            f"algorithm: expected one of {', '.join(ALGORITHMS)}, or module:Class, "
            f"found {name!r}.{nearest(name, ALGORITHMS)}"
        )
    found = load_object(path, base_dir, key="algorithm")
    if not (isinstance(found, type) and hasattr(found, "workflow")):
        raise ConfigError(
            f"algorithm: expected {path} to be a class with a method workflow(setup), "
            f"found {type(found).__name__}"
        )
    return found


def table_name(name: str) -> str:
    """Returns the name of an algorithm's table: its own, or its class's in lower case."""
    return name if name in ALGORITHMS else name.rpartition(":")[2].lower()


def name_of(cls: type) -> str:
    """Returns what a configuration calls an algorithm's class."""
    path = f"{cls.__module__}:{cls.__qualname__}"
    return next((name for name, known in ALGORITHMS.items() if known == path), path)
