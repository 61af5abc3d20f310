"""The command `flashevolve`: its subcommands, and what its exit codes mean.

A subcommand's module is imported when it is run, so that `--help` costs nothing. A user's mistake
is one line on stderr; only our own bugs show a traceback.
"""

import gc
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import click

from flashevolve._version import __version__
from flashevolve.cli.console import complain
from flashevolve.errors import FlashEvolveError, RunStopped, nearest

MISTAKE, STOPPED, INTERRUPTED = 2, 3, 130

COMMANDS = {
    "init": ("init", "Write an example that runs at once, to be made your own."),
    "run": ("run", "Start a run; in the directory of an existing one, continue it."),
    "resume": ("resume", "Continue a run that was interrupted, or with more budget."),
    "ls": ("ls", "List runs."),
    "show": ("show", "Say what happened in a run."),
    "best": ("best", "Print the best artifact of a run."),
    "diff": ("diff", "Show what changed from the seed to the best, or between two runs."),
    "events": ("events", "Print a run's events, one JSON object a line."),
    "config": ("config_cmd", "List the keys of the configuration."),
    "bench": ("bench", "Repeat a comparison: simulated, or on a real endpoint."),
    "sim": ("sim", "Serve the simulated model over HTTP, for clients of any kind."),
    "doctor": ("doctor", "Check this machine and, given a configuration, its endpoints."),
}
"""Name -> module in `flashevolve.cli` and one line of help, in reading order."""


class ReaderGoneError(Exception):
    """Whoever read our output has gone; click would end the process with a BrokenPipeError's 1."""


@contextmanager
def _reader_may_go() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGoneError from error


class LazyGroup(click.Group):
    """A group that imports a subcommand's module only to run it."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Reads the arguments; `--help` is printed here."""
        with _reader_may_go():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the subcommand."""
        with _reader_may_go():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names in reading order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports and returns a subcommand."""
        if cmd_name not in COMMANDS:
            hint = nearest(cmd_name, COMMANDS) or f" Expected one of {', '.join(COMMANDS)}."
            raise click.UsageError(f"no command {cmd_name!r}.{hint}")
        command = import_module(f"flashevolve.cli.{COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


EPILOG = """\b
Start here:
  flashevolve init prompt my-prompt
  flashevolve run my-prompt/run.toml

\b
Exit codes: 0 done; 2 a mistake in what was asked, told in one line; 3 the run
stopped early, told in one line; 130 interrupted, can be resumed; 1 a bug."""


@click.group(cls=LazyGroup, epilog=EPILOG)
@click.version_option(__version__, prog_name="flashevolve")
def cli() -> None:
    """Evolve prompts, playbooks, harnesses and programs with LLMs."""


def invoke(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code; a bug's exception travels on."""
    try:
        code = cli.main(list(arguments), prog_name="flashevolve", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.format_message(), err=True)
        return MISTAKE
    except click.ClickException as error:
        complain(error.format_message())
        return MISTAKE
    except RunStopped as error:
        complain(str(error))
        return STOPPED
    except FlashEvolveError as error:
        complain(str(error))
        return MISTAKE
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED


FULL_COLLECTIONS_EVERY = 100
"""Garbage collections of all objects come ten times as seldom as by default: a run with thousands
of requests in flight has hundreds of thousands of living objects and makes next to no cycles, and
looking through them was a fifth of its CPU time. Only here, where the process is ours."""


def main() -> NoReturn:
    """Runs the command line and ends the process."""
    gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTIONS_EVERY)
    for stream in (sys.stdout, sys.stderr):
        # A text that the terminal's encoding lacks must not end a run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = invoke(sys.argv[1:])
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGoneError):
        # Whoever read our output has gone, as in `flashevolve events D | head`; a flush at exit
        # would complain once more.
        sys.stdout = None
        code = 0
    sys.exit(code)
