"""Run directories: what is in one, how one is named, opened for reading, and listed.

A run directory holds `run.sqlite` (the run), `lock.sqlite` (who writes it) and, once a process has
finished with it, `result.json` (what `flashevolve run --json` printed).
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from flashevolve.engine.state import Codec, RunState
from flashevolve.errors import StoreError
from flashevolve.events import Record, RunStarted
from flashevolve.policies.budget import Resource
from flashevolve.store.queries import Queries
from flashevolve.store.reader import StoreReader
from flashevolve.store.schema import boundary

RUN_FILE = "run.sqlite"
RESULT_FILE = "result.json"


def load_class(path: str) -> Any:
    """Returns the object at an import path `module:name`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def new_run_dir(root: Path, now: datetime) -> Path:
    """Makes and returns a directory whose name sorts by time, with a number if that is taken.

    Making it is the claim: runs that begin in the same second each get their own. Raises
    `StoreError` if it cannot be made.
    """
    name = now.strftime("%Y%m%d-%H%M%S")
    for candidate in chain([name], (f"{name}-{n}" for n in count(2))):
        with boundary(root, "make a run directory in"), suppress(FileExistsError):
            (root / candidate).mkdir(parents=True)
            return root / candidate
    raise AssertionError("count never ends")


def holds_run(run_dir: Path) -> bool:
    """Says whether a directory holds a run; one killed before its tables were made does not."""
    file = run_dir / RUN_FILE
    with boundary(run_dir, "look for a run in"):
        return file.is_file() and file.stat().st_size > 0


def first_event(store: Queries, run_dir: Path) -> RunStarted:
    """Returns the event that says what the run is. Raises `StoreError` if it was never written."""
    record = next(store.records(), None)
    if record is None or not isinstance(record.event, RunStarted):
        raise StoreError(
            f"{run_dir}: the run was killed before its first event was stored; remove the "
            "directory and start again"
        )
    return record.event


def raw(payload: Any) -> Any:
    """The codec of readers that don't know the workflow: payloads stay plain data."""
    return payload


def fold(
    store: Queries,
    started: RunStarted,
    limits: dict[Resource, float] | None = None,
    decode: Codec = raw,
) -> RunState:
    """Returns the state of a run as its log tells it.

    The latest snapshot saves replaying what came before it; one that this version cannot read, as
    another version wrote it, costs time and nothing else.
    """
    limits = {} if limits is None else limits
    pool_class = load_class(started.pool)
    state, after = RunState(pool_class.load(started.pool_state), limits, decode), 0
    if (snapshot := store.latest_snapshot()) is not None:
        with suppress(KeyError, TypeError, ValueError):
            seq, data = snapshot
            state = RunState.load(data, pool_class.load(data["pool"]), limits, decode)
            after = seq
    for record in store.records(after):
        state.apply(record)
    return state


@dataclass(frozen=True)
class OpenRun:
    """A run as its log tells it, read-only."""

    dir: Path
    started: RunStarted
    state: RunState


def open_run(run_dir: Path | str) -> OpenRun:
    """Reads a run; it may be running, crashed, or in a read-only place. Raises `StoreError`."""
    run_dir = Path(run_dir)
    with StoreReader(run_dir) as reader:
        started = first_event(reader, run_dir)
        return OpenRun(run_dir, started, fold(reader, started))


def read_records(run_dir: Path | str, after: int = 0) -> Iterator[Record]:
    """Yields the run's events so far."""
    with StoreReader(Path(run_dir)) as reader:
        yield from reader.records(after)


def runs_below(root: Path) -> list[Path]:
    """Returns the run directories in `root`, itself included, sorted by name."""
    if holds_run(root):
        return [root]
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if path.is_dir() and holds_run(path))


def latest_run(root: Path) -> Path:
    """Returns the run in `root` that was written last. Raises `StoreError` if there is none."""
    found = runs_below(root)
    if not found:
        raise StoreError(
            f"{root}: expected a run, found none. Name its directory, or start one: "
            "flashevolve run CONFIG.toml"
        )
    return max(found, key=lambda path: (path / RUN_FILE).stat().st_mtime_ns)


def write_result(run_dir: Path, result: dict[str, Any]) -> None:
    """Writes the result whole or not at all."""
    target = run_dir / RESULT_FILE
    part = target.with_suffix(".part")
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    with boundary(target, "write"):
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(target)


def read_result(run_dir: Path) -> dict[str, Any] | None:
    """Returns what the last process to finish with the run wrote; None if none did."""
    path = run_dir / RESULT_FILE
    if not path.exists():
        return None
    with boundary(path, "read"):
        text = path.read_text(encoding="utf-8")
    return TypeAdapter(dict[str, Any]).validate_json(text)
