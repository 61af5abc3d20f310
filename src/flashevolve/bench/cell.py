"""Cell, arm, job and row: what is run once, and what it gave.

A cell is what all arms have in common (task, backend, request limit, budget); an arm is the
settings that differ. One cell, one arm and one seed make a job, and a job makes one row. Rows are
flat JSON, name the world and the package that made them, and hold everything that a report reads,
so that a report is a function of its rows alone. Arms of one seed share their examples.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashevolve.errors import ConfigError, DataError

if TYPE_CHECKING:
    from flashevolve.bench.trace import Trace

Measure = Callable[["Trace"], Mapping[str, Any]]
"""Names and values of figures: numbers, None, or lists of numbers. A function of a module's top
level, so that a worker process can find it."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way of running a cell."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """A tree as a configuration file holds it; it wins over the cell's."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What all arms of a comparison have in common."""

    task: str = "instructions"
    """A name of `flashevolve.bench.tasks`."""
    preset: str = "h100-qwen3-8b"
    concurrency: int = 64
    """C: requests in flight, at most."""
    n_train: int = 60
    n_val: int = 60
    n_test: int = 200
    """Examples on which each best artifact is scored after the run; 0 = none."""
    minutes: float | None = None
    metric_calls: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """A tree as a configuration file holds it."""

    @property
    def name(self) -> str:
        """A few words that tell this cell from the others of a suite."""
        budget = f"{self.minutes:g} min" if self.minutes else f"{self.metric_calls} metric calls"
        return f"{self.task}, {self.preset}, C={self.concurrency}, N_val={self.n_val}, {budget}"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run to be made."""

    suite: str
    arm: Arm
    cell: Cell
    seed: int
    measures: tuple[Measure, ...]
    group: str = ""
    """Which of a suite's comparisons it belongs to, if there are several."""
    execute: "Callable[[Job], Row] | None" = None
    """Makes the row of a simulated run instead of `bench.execute`; of a module's top level, too."""
    real_s: float | None = None
    """Roughly the seconds of real time that it takes, if `execute` runs in real time; its settings
    are then no configuration's, but `execute`'s own."""

    @property
    def key(self) -> str:
        """The same for the same settings; a row that has it need not be made again."""
        parts = [self.suite, self.group, asdict(self.arm), asdict(self.cell), self.seed]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one run gave."""

    suite: str
    group: str
    arm: str
    cell: str
    """The cell's name."""
    seed: int
    key: str
    """The job's key: a hash of all its settings."""
    simulated: bool
    """True if a simulated world answered: a prediction. False: measured on a real endpoint."""
    world: str
    """The simulated world's hash; empty for a real endpoint."""
    model: str
    package: str
    cpu_s: float
    """Processor time of the run, all told."""
    figures: Mapping[str, float | None]
    curves: Mapping[str, list[Any]] = field(default_factory=dict)
    code: str = ""
    """A digest of the package's sources; empty in rows that are older than it."""

    def to_json(self) -> str:
        """Returns the row as one line."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))


def read_rows(path: Path) -> list[Row]:
    """Returns the rows of a file of JSON lines. Raises `DataError` for a line that holds none."""
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(f"{path}: expected a file of rows: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        try:
            rows.append(Row(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise DataError(
                f"{path}, line {number}: expected a row that `flashevolve bench` wrote: {error}. "
                "Remove the line, and it is run again"
            ) from error
    return rows


def rounded(value: Any) -> Any:
    """Returns numbers with six significant digits, in lists too: all that a report can use."""
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def append_row(path: Path, row: Row) -> None:
    """Adds one row to a file, whole."""
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(row.to_json() + "\n")


def one_world(rows: Iterable[Row], what: str = "rows") -> str:
    """Returns who answered all rows: a world's hash, or empty for real endpoints.

    Raises `ConfigError` if they differ: predictions of two worlds, or a prediction and a
    measurement, never stand in one table.
    """
    found = sorted({row.world if row.simulated else "" for row in rows})
    if len(found) > 1:
        told = ", ".join(f"world {world}" if world else "a real endpoint" for world in found)
        raise ConfigError(
            f"{what}: expected rows of one simulated world, or all of real endpoints, found {told}."
            " Keep them in different folders (--rows)"
        )
    return found[0] if found else ""
