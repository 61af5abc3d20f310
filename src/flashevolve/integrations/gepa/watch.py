"""Watch: what looks at a run while it goes: the mirror, gepa's stoppers, the file `gepa.stop`.

Everything here is called on the run's own loop, after an event is durable.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flashevolve.errors import ConfigError
from flashevolve.events import ItemEnded, PoolChanged, Record
from flashevolve.integrations.gepa.arguments import Arguments
from flashevolve.integrations.gepa.mirror import Mirror
from flashevolve.run import Run

STOP_FILE = "gepa.stop"


def watch(run: Run, mirror: Mirror, given: Arguments) -> None:
    """Adds the observers that the arguments ask for."""

    def follow(record: Record) -> None:
        if isinstance(record.event, ItemEnded | PoolChanged):
            mirror.sync()

    run.observe(follow)
    stoppers = _stoppers(given)
    if not stoppers and given.run_dir is None and given.max_reflection_cost is None:
        return
    stopped = False

    def look(record: Record) -> None:
        nonlocal stopped
        if stopped or not isinstance(record.event, ItemEnded):
            return
        state = mirror.sync()
        stopped = (
            _is_file(given)
            or _too_dear(run, given)
            or (state is not None and any(stopper(state) for stopper in stoppers))
        )
        if stopped:
            run.stop()

    run.observe(look)


def _stoppers(given: Arguments) -> list[Any]:
    found = given.stop_callbacks
    stoppers = list(found) if isinstance(found, Sequence) else [found] if found is not None else []
    for stopper in stoppers:
        if not callable(stopper):
            raise ConfigError(
                f"stop_callbacks: expected functions of gepa's state, found {stopper!r:.60}"
            )
    return stoppers


def _is_file(given: Arguments) -> bool:
    return given.run_dir is not None and (Path(given.run_dir) / STOP_FILE).exists()


def _too_dear(run: Run, given: Arguments) -> bool:
    limit, state = given.max_reflection_cost, run.state
    if limit is None or state is None:
        return False
    usage = state.usage_by_role.get("reflect")
    own = getattr(given.reflection_lm, "total_cost", None)
    spent = own if isinstance(own, int | float) else usage.usd if usage else 0.0
    return float(spent) >= limit
