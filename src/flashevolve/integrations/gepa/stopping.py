"""Stopping: gepa's stop callbacks, asked after each step on the run's own loop.

They see the mirror's state, once for the seed and once for each step that ended, in the order in
which steps end. The first that says True stops the run as `Run.stop` does: what is under way
finishes, the result is returned, and the run can be resumed. One that raises stops it too, and the
caller of `optimize` gets its exception, as from gepa.
"""

from collections.abc import Sequence
from typing import Any

from flashevolve.errors import ConfigError


class Stoppers:
    """The stop callbacks of one run."""

    def __init__(self, given: Any) -> None:
        """`given`: one, several or None. Raises `ConfigError` for what cannot be called."""
        several = isinstance(given, Sequence) and not callable(given)
        found = list(given) if several else [given] if given is not None else []
        for stopper in found:
            if not callable(stopper):
                raise ConfigError(
                    f"stop_callbacks: expected functions of gepa's state, found {stopper!r:.60}"
                )
        self._stoppers = found
        self.error: Exception | None = None
        """What one of them raised."""

    def __bool__(self) -> bool:
        return bool(self._stoppers)

    def say_stop(self, state: Any) -> bool:
        """Asks them in their order, until one says so or raises."""
        try:
            return any(stopper(state) for stopper in self._stoppers)
        except Exception as error:  # the boundary to user code: raised again once the run is over
            self.error = error
            return True
