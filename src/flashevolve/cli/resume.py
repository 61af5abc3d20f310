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
    from flashevolve.cli.drive import drive
    from flashevolve.config import merge
    from flashevolve.config.resolve import PATHS
    from flashevolve.launch import resume

    changes = merge({}, collect(flags, dotted))
    if isinstance(data := changes.get("data"), dict):
        # What is typed here is meant from here, not from where the configuration was.
        paths = {name: str(Path(data[name]).absolute()) for name in PATHS["data"] if name in data}
        changes["data"] = data | paths
    return drive(resume(Path(run_dir), changes), as_json=as_json)
