"""`flashevolve run` and what it shares with `resume`."""

from pathlib import Path
from typing import Any

import click

from flashevolve.cli.overrides import OverridingCommand, collect, shortcuts
from flashevolve.errors import ConfigError


@click.command("run", cls=OverridingCommand)
@click.argument("config", metavar="CONFIG.toml", required=False)
@shortcuts()
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_obj
def command(
    dotted: list[tuple[str, str]], /, config: str | None, as_json: bool, **flags: Any
) -> int:
    """Start a run; in the directory of an existing one, continue it.

    Ctrl-C lets steps under way finish, a second one cancels them, a third one exits.
    """
    if config is None:
        raise ConfigError(
            "expected a configuration: flashevolve run CONFIG.toml. To write an example: "
            "flashevolve init prompt DIR"
        )
    from flashevolve.cli.console import configure_logging
    from flashevolve.cli.drive import drive
    from flashevolve.config import load, merge, resolve
    from flashevolve.prepare import prepare
    from flashevolve.run import Run

    configure_logging()  # before anything can warn
    overrides = collect(flags, dotted)
    path = Path(config)
    tree = merge(load(path), overrides)
    settings = resolve(tree, path.parent, source=config, overridden=[key for key, _ in overrides])
    return drive(Run(prepare(settings)), as_json=as_json)
