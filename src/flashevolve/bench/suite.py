"""Suite: a named set of jobs, and what it says of their rows.

A suite is two pure functions: options to jobs, rows to a report. Adding one takes a module in
`bench/suites/` with a `SUITE`, and a line in `SUITES`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec

from flashevolve.bench.cell import Job, Row
from flashevolve.bench.report import Report
from flashevolve.errors import ConfigError, nearest

SUITES = {
    "throughput": "flashevolve.bench.suites.throughput",
    "profile": "flashevolve.bench.suites.profile",
    "evolution": "flashevolve.bench.suites.evolution",
    "staleness": "flashevolve.bench.suites.staleness",
    "speculation": "flashevolve.bench.suites.speculation",
    "workers": "flashevolve.bench.suites.workers",
    "scaling": "flashevolve.bench.suites.scaling",
    "gepa": "flashevolve.bench.suites.gepa",
}
"""Name -> module that holds its `SUITE`."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line asks of a suite."""

    seeds: int
    quick: bool = False
    """Seconds instead of minutes: tiny cells, that show nothing but that it works."""
    preset: str | None = None
    """Another backend than the suite's own."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A comparison that can be repeated by one command."""

    name: str
    about: str
    """One sentence: what is compared."""
    seeds: int
    """How many by default."""
    jobs: Callable[[Options], list[Job]]
    report: Callable[[Sequence[Row], str], Report]
    """(rows, the command that made them) -> the report."""
    quick_seeds: int = 1
    can_measure: bool = True
    """Whether its jobs can also be run on a real endpoint."""
    real_time: bool = False
    """Whether its times are measured, of real clients."""
    at_once: int | None = None
    """Jobs at a time, unless the command line says; None = one for each processor."""
    needs: Mapping[str, str] = field(default_factory=dict)
    """Package that its jobs import -> extra that installs it."""
    quick_needs: Mapping[str, str] | None = None
    """The same of its quick jobs; None = all of `needs`."""


def suite(name: str) -> Suite:
    """Returns a suite. Raises `ConfigError` for an unknown one."""
    if name not in SUITES:
        raise ConfigError(
            f"bench: expected one of {', '.join(SUITES)}, found {name!r}.{nearest(name, SUITES)}"
        )
    found = import_module(SUITES[name]).SUITE
    assert isinstance(found, Suite)
    return found


def check_needs(chosen: Suite, *, quick: bool = False) -> None:
    """Raises `ConfigError` if a package is missing that the suite's jobs import."""
    less = chosen.quick_needs if quick else None
    for package, name in (chosen.needs if less is None else less).items():
        if find_spec(package) is None:
            raise ConfigError(
                f"bench {chosen.name}: expected the package {package}, found none. "
                f"In the clone: pip install '.[{name}]'"
            )
