"""`flashevolve config`: every key of the configuration with type, default and help."""

import shutil
import textwrap

import click

from flashevolve.errors import ConfigError, nearest


@click.command("config")
@click.argument("prefix", metavar="[KEY]", default="")
@click.option("--algorithm", default="gepa", metavar="NAME", help="Whose own keys to list.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(prefix: str, algorithm: str, as_json: bool) -> None:
    """List all keys, or those that begin with KEY, such as budget or model.price.

    The same keys stand in a file (a.b is b in table [a]) and on the command line (--a.b VALUE).
    """
    from flashevolve.cli.console import print_json
    from flashevolve.config import describe

    wanted = prefix.lstrip("-").replace("-", "_")
    keys = describe(algorithm)
    found = [k for k in keys if k.key.startswith(wanted)]
    if not found:
        hint = nearest(wanted, [k.key for k in keys])
        raise ConfigError(f"no key begins with {wanted!r}.{hint} All keys: flashevolve config")
    if as_json:
        print_json({"keys": [k._asdict() for k in found]})
        return
    width = min(100, shutil.get_terminal_size().columns)
    for key in found:
        default = "" if not key.default else f" = {key.default}"
        click.echo(f"{key.key}{default}  ({key.type})")
        for line in textwrap.wrap(key.help, width - 4):
            click.echo(f"    {line}")
