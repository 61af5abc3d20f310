"""The simulated world's parameters, read from `world.toml`, and their hash.

Nothing else in the package holds a number of the world. Unknown and missing keys are refused.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from flashevolve.errors import ConfigError, nearest
from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.batching import ServingSettings
from flashevolve.simulate.lengths import LengthSettings

S = TypeVar("S")

WORLD_FILE = Path(__file__).with_name("world.toml")


@dataclass(frozen=True, kw_only=True)
class World:
    """All parameters of the simulation."""

    serving: Mapping[str, ServingSettings]
    """Serving presets by name."""
    lengths: LengthSettings
    reader: ReaderParameters
    hash: str
    """12 hexadecimal digits over the content; comments and order do not count."""

    def preset(self, name: str) -> ServingSettings:
        """Returns a serving preset; raises `ConfigError` for an unknown name."""
        if name not in self.serving:
            raise ConfigError(
                f"expected a simulated model among {', '.join(sorted(self.serving))}, "
                f"found {name!r}.{nearest(name, self.serving)}"
            )
        return self.serving[name]


@cache
def load_world(path: Path = WORLD_FILE) -> World:
    """Returns the world that a file describes; raises `ConfigError` if it does not."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: expected a readable TOML file: {error}") from error
    _refuse_unknown(f"{path}", table, ("serving", "lengths", "reader"))
    serving = _table(path, "serving", table)
    return World(
        serving={
            name: _read(path, f"serving.{name}", ServingSettings, _table(path, name, serving))
            for name in serving
        },
        lengths=_read(path, "lengths", LengthSettings, _table(path, "lengths", table)),
        reader=_read(path, "reader", ReaderParameters, _table(path, "reader", table)),
        hash=_hash(table),
    )


def _hash(table: Mapping[str, Any]) -> str:
    blob = json.dumps(table, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(blob.encode()).hexdigest()[:12]


def _table(path: Path, name: str, parent: Mapping[str, Any]) -> Mapping[str, Any]:
    found = parent.get(name)
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: expected a table [{name}], found {found!r}; add it")
    return found


def _read(path: Path, where: str, kind: type[S], table: Mapping[str, Any]) -> S:
    types = {field.name: field.type for field in fields(kind)}  # type: ignore[arg-type]
    _refuse_unknown(f"{path} [{where}]", table, types)
    if missing := sorted(types.keys() - table.keys()):
        raise ConfigError(
            f"{path} [{where}]: expected a value for {missing[0]}, found none; add it"
        )
    for name, value in table.items():
        wanted = int if types[name] is int else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted):
            label = "an integer" if types[name] is int else "a number"
            raise ConfigError(f"{path} [{where}]: expected {label} for {name}, found {value!r}")
    try:
        return kind(**table)
    except ValueError as error:
        raise ConfigError(f"{path} [{where}]: {error}") from error


def _refuse_unknown(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    for name in table:
        if name not in known:
            raise ConfigError(
                f"{where}: expected one of {', '.join(sorted(known))}, "
                f"found {name!r}.{nearest(name, known)}"
            )
