"""Tree: a configuration as nested tables, before it is checked. Files in, overrides merged.

Overrides are what a file could say: a dotted key and a TOML literal. They go into the same tree, so
that the same code checks both.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flashevolve.config.explain import dotted
from flashevolve.errors import ConfigError, nearest

Tree = dict[str, Any]

FREE_FORM = ("artifact", "extra_body", "extra_headers")
"""Tables whose keys are the user's or the endpoint's: their spelling is kept."""

_POINTED = re.compile(r"[+-]?([0-9]+\.|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""Numbers that people write and TOML does not have: .5 and 5."""


def load(path: str | Path) -> Tree:
    """Reads a TOML file. Raises `ConfigError` with file and line if it cannot be read."""
    path = Path(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        others = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise ConfigError(
            f"{path}: expected a TOML file, found none.{nearest(path.name, others)}"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: expected a TOML file, found {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8 text, byte {error.start} is not") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: expected TOML, found: {error}") from None


def merge(tree: Mapping[str, Any], overrides: Sequence[tuple[str, str]]) -> Tree:
    """Returns a copy of `tree` with overrides set, later ones winning.

    An override is a dotted key and a TOML literal, which replaces what the key held; a literal that
    is not TOML is text. In keys, dashes are underscores, except below free-form tables and in the
    names of roles. Raises `ConfigError` for a key that is none, or that runs through a value.
    """
    merged: Tree = dict(tree)
    for key, text in overrides:
        path = key_path(key)
        _set(merged, path, _literal(text))
    return merged


def key_path(key: str) -> tuple[str, ...]:
    """Returns the parts of a dotted key as written after `--`; parts may be quoted as in TOML."""
    problem = ConfigError(
        f"--{key.splitlines()[0] if key else ''}: expected a dotted key such as --budget.usd 5"
    )
    try:
        node = tomllib.loads(f"{key} = 0") if "\n" not in key else {}
    except tomllib.TOMLDecodeError:
        raise problem from None
    parts: list[str] = []
    while isinstance(node, dict):
        if len(node) != 1:
            raise problem
        ((part, node),) = node.items()
        parts.append(_spelled(part, parts))
    if node != 0 or "=" in key:
        raise problem
    return tuple(parts)


def _spelled(part: str, above: Sequence[str]) -> str:
    own = any(table in FREE_FORM for table in above) or list(above) == ["models"]
    return part if own else part.replace("-", "_")


def _literal(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return float(text) if _POINTED.fullmatch(text) else text
    # More than one key: the text held a line break and went on as TOML. It is text.
    return parsed["value"] if len(parsed) == 1 else text


def _set(tree: Tree, path: tuple[str, ...], value: Any) -> None:
    node = tree
    for depth, part in enumerate(path[:-1], start=1):
        below = node.get(part, {})
        if isinstance(below, str) and _names_model(path[:depth]):
            below = {"name": below}
        if not isinstance(below, Mapping):
            what = "a list" if isinstance(below, list) else "a single value"
            raise ConfigError(
                f"--{'.'.join(path)}: expected {dotted(path[:depth])} to be a table, found "
                f"{what}. Set it as a whole: --{'.'.join(path[:depth])} VALUE"
            )
        # Copied on the way down: the caller's tree stays as it was.
        node[part] = dict(below)
        node = node[part]
    node[path[-1]] = value


def _names_model(path: tuple[str, ...]) -> bool:
    """Whether a key holds a model, for which a plain name may stand."""
    return path == ("model",) or (len(path) == 2 and path[0] == "models")
