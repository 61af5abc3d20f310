"""Watch: what looks at a run while it goes: the mirror, gepa's stoppers, the file `gepa.stop`.

Everything here is called on the run's own loop, after an event is durable.
"""

from pathlib import Path

from flashevolve.events import ItemEnded, PoolChanged, Record
from flashevolve.integrations.gepa.arguments import Arguments
from flashevolve.integrations.gepa.mirror import Mirror
from flashevolve.integrations.gepa.stopping import Stoppers
from flashevolve.run import Run

STOP_FILE = "gepa.stop"


def watch(run: Run, mirror: Mirror, given: Arguments) -> Stoppers:
    """Adds the observers that the arguments ask for; returns the stop callbacks."""

    def follow(record: Record) -> None:
        if isinstance(record.event, ItemEnded | PoolChanged):
            mirror.sync()

    run.observe(follow)
    stoppers = Stoppers(given.stop_callbacks)
    if not stoppers and given.run_dir is None and given.max_reflection_cost is None:
        return stoppers
    stopped = False

    def look(record: Record) -> None:
        nonlocal stopped
        if stopped or not isinstance(record.event, ItemEnded):
            return
        state = mirror.sync()
        stopped = (
            _is_file(given)
            or _too_dear(run, given)
            or (state is not None and stoppers.say_stop(state))
        )
        if stopped:
            run.stop()

    run.observe(look)
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
