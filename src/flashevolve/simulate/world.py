"""The simulated world's parameters, read from `world.toml`, and the world's hash.

Parameters stand in that file; fixed weights and habits stand in code; the hash is over all of them.
Unknown and missing keys are refused. What two different worlds gave is never put side by side:
`check_same_world` refuses it.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from flashevolve.errors import ConfigError, nearest
from flashevolve.simulate.attention import MOST_STRENGTH, ReaderParameters
from flashevolve.simulate.batching import ServingSettings
from flashevolve.simulate.constants import constants
from flashevolve.simulate.hosted import HostedSettings
from flashevolve.simulate.latency import LatencySettings
from flashevolve.simulate.lengths import LengthSettings
from flashevolve.simulate.replicated import ReplicatedSettings
from flashevolve.simulate.serving import Preset
from flashevolve.simulate.shapes import ShapeSettings

S = TypeVar("S")

WORLD_FILE = Path(__file__).with_name("world.toml")
"""The world that comes with the package."""

TABLES = ("serving", "hosted", "lengths", "latency", "shapes", "reader")
STRENGTH = "strength"
"""A key of each preset's table beside what it serves with: how good a reader answers."""
MOST_REPLICAS = 1024
"""Far above what one process keeps busy."""
MOST = 1e12
"""No number of a world is larger; sums and products of such numbers stay finite."""


@dataclass(frozen=True, kw_only=True)
class World:
    """All parameters of the simulation."""

    revision: int
    """Raised whenever the same parameters begin to mean something else, because code changed."""
    presets: Mapping[str, Preset]
    """By name: accelerators from `[serving]`, accounts at a hosted API from `[hosted]`."""
    strengths: Mapping[str, float]
    """By preset: how good its reader is; 1 = as `[reader]` says."""
    lengths: LengthSettings
    latency: Mapping[str, LatencySettings]
    """By workload: what an evaluation takes besides its model."""
    shapes: Mapping[str, ShapeSettings]
    """By name: what a published workload asks of its backend."""
    reader: ReaderParameters
    hash: str
    """12 hexadecimal digits over the values, and over what the code fixes (`constants`). Comments,
    order and the form of a number do not count."""
    file: Path

    def preset(self, name: str) -> Preset:
        """Returns a preset; `NAME*8` is eight replicas of an accelerator behind one address.

        Raises `ConfigError` for an unknown name, or replicas that cannot be.
        """
        base, n_replicas = _replicas_of(name)
        if base not in self.presets:
            raise ConfigError(
                f"expected a simulated model among {', '.join(sorted(self.presets))}, "
                f"found {name!r}.{nearest(base, self.presets)}"
            )
        preset = self.presets[base]
        if n_replicas == 1:
            return preset
        if not isinstance(preset, ServingSettings):
            raise ConfigError(
                f"expected replicas of an accelerator, found {name!r}: {base} is an account at a "
                "hosted API, whose limits more machines don't raise; leave out the replicas"
            )
        return ReplicatedSettings(each=preset, n_replicas=n_replicas)

    def shape(self, name: str) -> ShapeSettings:
        """Returns a shape; raises `ConfigError` for an unknown name."""
        if name not in self.shapes:
            raise ConfigError(
                f"expected a shape among {', '.join(self.shapes) or 'none'}, "
                f"found {name!r}.{nearest(name, self.shapes)}"
            )
        return self.shapes[name]

    def reader_of(self, preset: str) -> ReaderParameters:
        """Returns the reader's parameters at the strength of a preset."""
        return self.reader.at_strength(self.strengths[_replicas_of(preset)[0]])

    def latency_s(self, workload: str, example_id: str, replica: int) -> float:
        """Returns the seconds of one evaluation; 0 for a workload that the world does not know."""
        settings = self.latency.get(workload)
        return 0.0 if settings is None else settings.draw_s(example_id, replica)


def _replicas_of(name: str) -> tuple[str, int]:
    """Returns a preset's name without its replicas, and their number."""
    base, star, count = name.partition("*")
    if not star:
        return name, 1
    if not count.isascii() or not count.isdigit() or not 1 <= int(count[:9]) <= MOST_REPLICAS:
        raise ConfigError(
            f"expected a simulated model and a number of replicas from 1 to {MOST_REPLICAS}, such "
            f"as {base}*8, found {name!r}"
        )
    return base, int(count)


def load_world(path: Path | None = None) -> World:
    """Returns the world that a file describes, None = the package's own.

    Raises `ConfigError` if it describes none.
    """
    path = path or WORLD_FILE
    try:
        return _world(path, path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: expected a readable TOML file: {error}") from error


@cache
def _world(path: Path, text: str) -> World:
    table = tomllib.loads(text)
    _refuse_unknown(f"{path}", table, ("revision", *TABLES))
    presets, strengths = _presets(path, table)
    revision = _revision(path, table)
    lengths = _read(path, "lengths", LengthSettings, _table(path, "lengths", table))
    latency = dict(_read_each(path, "latency", LatencySettings, table))
    shapes = dict(_read_each(path, "shapes", ShapeSettings, table))
    reader = _read(path, "reader", ReaderParameters, _table(path, "reader", table))
    parsed = {
        "revision": revision,
        "presets": {name: asdict(preset) for name, preset in presets.items()},
        "strengths": strengths,
        "lengths": asdict(lengths),
        "latency": {name: asdict(settings) for name, settings in latency.items()},
        "shapes": {name: asdict(settings) for name, settings in shapes.items()},
        "reader": asdict(reader),
        "constants": constants(),
    }
    return World(
        revision=revision,
        presets=presets,
        strengths=strengths,
        lengths=lengths,
        latency=latency,
        shapes=shapes,
        reader=reader,
        hash=hash_of(parsed),
        file=path,
    )


def check_same_world(what: str, recorded: str | None, world: World) -> None:
    """Refuses to continue in `world`, or to report beside it, what another world gave.

    `what` names the run or the report; `recorded` None or "" = it did not say. Raises
    `ConfigError`.
    """
    if recorded and recorded != world.hash:
        raise ConfigError(
            f"{what}: expected the simulated world {recorded} that it was made in, found "
            f"{world.hash} in {world.file}. Results of different worlds are not compared: restore "
            "that file, or start anew"
        )


def hash_of(parsed: Mapping[str, Any]) -> str:
    """Returns 12 hexadecimal digits over values as JSON has them; their order does not count."""
    blob = json.dumps(parsed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(blob.encode()).hexdigest()[:12]


def _revision(path: Path, table: Mapping[str, Any]) -> int:
    """Returns the revision; another one's parameters would not mean what they meant."""
    revision = table.get("revision")
    if path != WORLD_FILE:
        own = load_world().revision
        if type(revision) is not int or revision != own:
            raise ConfigError(
                f"{path}: expected revision = {own}, which this version of flashevolve simulates, "
                f"found {revision!r}; compare the file with {WORLD_FILE}, then set it"
            )
        return revision
    assert type(revision) is int, "the package's own world has a revision"
    return revision


def _presets(path: Path, table: Mapping[str, Any]) -> tuple[dict[str, Preset], dict[str, float]]:
    presets: dict[str, Preset] = {}
    strengths: dict[str, float] = {}
    kinds: dict[str, type[Preset]] = {"serving": ServingSettings, "hosted": HostedSettings}
    for group, kind in kinds.items():
        tables = _table(path, group, table)
        for name in tables:
            where = f"{group}.{name}"
            if name in presets:
                raise ConfigError(
                    f"{path} [{where}]: expected a name of its own, found {name!r} in [serving] "
                    "too; rename one"
                )
            own = dict(_table(path, name, tables))
            strengths[name] = _strength(path, where, own)
            presets[name] = _read(path, where, kind, own)
    if not presets:
        raise ConfigError(
            f"{path}: expected at least one preset, a table [serving.NAME] or [hosted.NAME], "
            "found none; add one"
        )
    return presets, strengths


def _strength(path: Path, where: str, own: dict[str, Any]) -> float:
    """Takes the strength out of a preset's table."""
    strength = own.pop(STRENGTH, None)
    least, most = 1 / MOST_STRENGTH, MOST_STRENGTH
    if not _is_number(strength) or not least <= strength <= most:
        raise ConfigError(
            f"{path} [{where}]: expected strength, a number from {least:g} to {most:g} "
            f"(1 = as [reader] says), found {_shown(strength)}"
        )
    return float(strength)


def _table(path: Path, name: str, parent: Mapping[str, Any]) -> Mapping[str, Any]:
    found = parent.get(name)
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: expected a table [{name}], found {found!r}; add it")
    return found


def _read_each(
    path: Path, group: str, kind: type[S], table: Mapping[str, Any]
) -> Iterable[tuple[str, S]]:
    tables = _table(path, group, table)
    for name in tables:
        yield name, _read(path, f"{group}.{name}", kind, _table(path, name, tables))


def _read(path: Path, where: str, kind: type[S], table: Mapping[str, Any]) -> S:
    types = {field.name: field.type for field in fields(kind)}  # type: ignore[arg-type]
    _refuse_unknown(f"{path} [{where}]", table, types)
    if missing := sorted(types.keys() - table.keys()):
        raise ConfigError(
            f"{path} [{where}]: expected a value for {missing[0]}, found none; add it"
        )
    for name, value in table.items():
        if not _is_number(value) or (types[name] is int and type(value) is not int):
            label = "an integer" if types[name] is int else "a number"
            most = f" of at most {MOST:g}" if _is_too_large(value) else ""
            raise ConfigError(
                f"{path} [{where}]: expected {label}{most} for {name}, found {_shown(value)}"
            )
    try:
        return kind(**{name: types[name](value) for name, value in table.items()})  # type: ignore[operator]
    except ValueError as error:
        raise ConfigError(f"{path} [{where}]: {error}") from error


def _is_number(value: Any) -> TypeGuard[float]:
    """Says whether a value is a number that is not out of bounds; TOML has nan and inf as well."""
    return type(value) in (int, float) and -MOST <= value <= MOST


def _is_too_large(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) > MOST


def _shown(value: Any) -> str:
    return f"{value!r:.80}"


def _refuse_unknown(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    for name in table:
        if name not in known:
            raise ConfigError(
                f"{where}: expected one of {', '.join(sorted(known))}, "
                f"found {name!r}.{nearest(name, known)}"
            )
