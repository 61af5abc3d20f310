"""`flashevolve resume`: continues a run from its directory alone."""

from pathlib import Path
from typing import Any

import click

from flashevolve.cli.overrides import OverridingCommand, collect, shortcuts


@click.command("resume", cls=OverridingCommand)
@click.argument("run_dir", metavar="DIR")
@shortcuts(without="run-dir")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_obj
def command(dotted: list[tuple[str, str]], /, run_dir: str, as_json: bool, **flags: Any) -> int:
    """Continue a run that was interrupted, or with more budget.

    Budget, concurrency, endpoint and key may change; what decides the outcome may not.
    """
    from flashevolve.cli.console import configure_logging
    from flashevolve.cli.drive import drive
    from flashevolve.config import merge
    from flashevolve.config.resolve import PATHS
    from flashevolve.launch import resume

    configure_logging()  # before anything can warn
    changes = merge({}, collect(flags, dotted))
    for table in ("data", "task"):
        if isinstance(given := changes.get(table), dict):
            # What is typed here is meant from here, not from where the configuration was.
            typed = [name for name in PATHS[table] if name in given]
            changes[table] = given | {name: str(Path(given[name]).absolute()) for name in typed}
    return drive(resume(Path(run_dir), changes), as_json=as_json)
