"""Errors, by whose they are.

A *user's mistake* is a `FlashEvolveError`: the CLI prints its one line and exits with 2. Whatever a
candidate or a metric does wrong is data (`Outcome.error`), never raised past the evaluation that
met it. Anything else that is raised is our bug, and travels as a traceback.

Messages say what was expected, what was found, where, and what to do next, on one line.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class FlashEvolveError(Exception):
    """A mistake or a condition that the user can mend; its text is one complete line."""


class ConfigError(FlashEvolveError):
    """A configuration that cannot run."""


class DataError(FlashEvolveError):
    """A data file or sequence that cannot be used; names file and line, or the index."""


class StoreError(FlashEvolveError):
    """A run directory that cannot be opened, written or resumed."""


class TaskError(FlashEvolveError):
    """User code (agent or metric) that fails in a way no further call can mend."""


class RunStopped(FlashEvolveError):
    """The run had to stop early: a fatal endpoint, the same failure again and again."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns ` Did you mean 'x'?` for the closest of `known`, or an empty string."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
