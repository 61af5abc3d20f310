"""`flashevolve events`: the log of a run as JSON lines, for other programs."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flashevolve.errors import ConfigError, nearest

if TYPE_CHECKING:
    from flashevolve.events import Record

FOLLOW_EVERY_S = 0.5
"""Each look copies the database: twice a second is soon enough for whoever watches."""


@click.command("events")
@click.argument("run_dir", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; repeatable.")
@click.option("--ticket", type=int, metavar="N", help="Only events of this item.")
@click.option("--after", type=int, default=0, metavar="SEQ", help="Only events after this one.")
@click.option("--follow", is_flag=True, help="Go on until the run's process has ended.")
def command(
    run_dir: Path, kinds: tuple[str, ...], ticket: int | None, after: int, follow: bool
) -> None:
    """Print a run's events, one JSON object a line, in order."""
    from flashevolve import rundir
    from flashevolve.store.lock import is_locked

    _check_kinds(kinds)
    while True:
        # Looked at before the log is read, so that nothing written in between is missed.
        running = follow and is_locked(run_dir)
        for record in rundir.read_records(run_dir, after):
            after = record.seq
            if (not kinds or record.event.kind in kinds) and ticket in (None, _ticket(record)):
                click.echo(json.dumps(to_json(record)))
        if not running:
            return
        time.sleep(FOLLOW_EVERY_S)


def to_json(record: "Record") -> dict[str, Any]:
    """Returns a record as one flat object: seq, t_s, kind, then the event's own fields."""
    event = asdict(record.event)
    return {"seq": record.seq, "t_s": record.t_s, "kind": event.pop("kind"), **event}


def _ticket(record: "Record") -> int | None:
    return getattr(record.event, "ticket", None)


def _check_kinds(kinds: tuple[str, ...]) -> None:
    from typing import get_args

    from flashevolve.events import Event

    known = [kind.__dataclass_fields__["kind"].default for kind in get_args(Event)]
    for kind in kinds:
        if kind not in known:
            hint = nearest(kind, known) or f" Expected one of {', '.join(known)}."
            raise ConfigError(f"--kind: there are no events {kind!r}.{hint}")
