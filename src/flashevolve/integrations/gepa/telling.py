"""Telling: callbacks and trackers of gepa's kind, set up for a run as its arguments say."""

import os
from typing import TYPE_CHECKING

from flashevolve.errors import ConfigError
from flashevolve.integrations.gepa.arguments import Arguments
from flashevolve.integrations.gepa.callbacks import Callbacks
from flashevolve.integrations.gepa.mirror import Mirror
from flashevolve.integrations.gepa.tracking import Tracking, tracker_of
from flashevolve.run import Run

if TYPE_CHECKING:
    from flashevolve.integrations.gepa.workflow import Objects


class Telling:
    """What is told of one run, and its end."""

    def __init__(self, run: Run, mirror: Mirror, objects: "Objects", given: Arguments) -> None:
        """Adds the observers that the arguments ask for; before the run starts."""
        tracker = tracker_of(given)
        self._tracking = None if tracker is None else Tracking(tracker, mirror, given)
        callbacks = _callbacks(given)
        if self._tracking is not None:
            callbacks.append(self._tracking)
        self._told: Callbacks | None = None
        if not callbacks:
            return
        self._told = Callbacks(
            callbacks,
            mirror,
            objects,
            lambda: run.state,
            config={
                "perfect_score": given.perfect_score,
                "seed": given.seed,
                "track_best_outputs": given.track_best_outputs,
            },
            max_metric_calls=given.full_budget().metric_calls,
            run_dir=None if given.run_dir is None else os.fspath(given.run_dir),
            will_continue=not given.raise_on_exception,
        )
        run.observe(self._told.observe)

    def close(self, error: BaseException | None = None) -> None:
        """Tells what the events did not, after the run."""
        if self._told is not None:
            self._told.close(error)
        if self._tracking is not None:
            self._tracking.close()


def _callbacks(given: Arguments) -> list[object]:
    found = given.callbacks
    if found is None:
        return []
    if not isinstance(found, list | tuple):
        raise ConfigError(
            f"callbacks: expected a list of objects with on_* methods, found "
            f"{type(found).__name__}. Put it into a list"
        )
    return list(found)
