"""Overrides: settings on the command line. Dotted keys pass through, ten shortcuts name the rest.

Everything becomes a (key, TOML literal) pair for `flashevolve.config.merge`, so that the file and
the command line are checked by the same code.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from flashevolve.algorithms.registry import ALGORITHMS
from flashevolve.errors import ConfigError

F = TypeVar("F", bound=Callable[..., Any])
Override = tuple[str, str]


class Shortcut(NamedTuple):
    """A flag that stands for a key."""

    flag: str
    key: str
    metavar: str
    help: str
    text: bool = True
    """Whether the value is text as it stands, rather than a TOML literal."""


SHORTCUTS = (
    Shortcut(
        "algorithm",
        "algorithm",
        "NAME",
        f"What evolves it: {', '.join(ALGORITHMS)}, or module:Class.",
    ),
    Shortcut(
        "policy",
        "policy",
        "NAME",
        "For stale steps: reflective, guarded, full, or the control regenerate.",
    ),
    Shortcut("schedule", "schedule", "NAME", "async, or sync for one step at a time."),
    Shortcut("model", "model.name", "NAME", "Such as openai/gpt-4o-mini or sim/h100-qwen3-8b."),
    Shortcut("budget", "budget.metric_calls", "N", "Evaluations of one example, at most.", False),
    Shortcut("usd", "budget.usd", "X", "Dollars, at most.", False),
    Shortcut("concurrency", "limits.concurrency", "N", "Requests in flight, at most.", False),
    Shortcut("seed", "seed", "N", "Seed of everything that is drawn at random.", False),
    Shortcut("run-dir", "run.dir", "DIR", "Where the run lives. Default: a new one in runs/."),
)
"""With --json, the ten flags that matter."""


class OverridingCommand(click.Command):
    """A command that also takes `--a.b.c VALUE` and `--a.b.c=VALUE`, anywhere."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Takes the dotted keys out before click sees the rest."""
        rest, ctx.obj = split(args)
        return super().parse_args(ctx, rest)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Says how to set any other key."""
        with formatter.section("Any other key"):
            formatter.write_text(
                "--budget.tokens 1000000, --model.base-url http://127.0.0.1:8000/v1, "
                "--gepa.minibatch=5, --artifact.system 'Answer.': keys of the file, values as in "
                "TOML. All keys: flashevolve config"
            )


def split(arguments: Sequence[str]) -> tuple[list[str], list[Override]]:
    """Returns the arguments that hold no dotted key, and the dotted keys with their values.

    Raises `ConfigError` for a dotted key without a value.
    """
    rest: list[str] = []
    overrides: list[Override] = []
    given = iter(arguments)
    for argument in given:
        if argument == "--":
            rest += ["--", *given]
            break
        key, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or "." not in key:
            rest.append(argument)
            continue
        if not equals:
            value = next(given, "--")
            if value.startswith("--"):
                raise ConfigError(f"--{key}: expected a value, found none. Write --{key}=VALUE")
        overrides.append((key, value))
    return rest, overrides


def shortcuts(*, without: str = "") -> Callable[[F], F]:
    """Gives a command the flags that stand for keys, but for one."""

    def decorate(function: F) -> F:
        for short in reversed(SHORTCUTS):
            if short.flag != without:
                option = click.option(
                    f"--{short.flag}", _name(short), metavar=short.metavar, help=short.help
                )
                function = option(function)
        return function

    return decorate


def collect(flags: Mapping[str, str | None], dotted: Sequence[Override]) -> list[Override]:
    """Returns all overrides: those of the flags first, so that a dotted key wins."""
    overrides: list[Override] = []
    for short in SHORTCUTS:
        value = flags.get(_name(short))
        if value is not None:
            overrides.append((short.key, _quoted(value) if short.text else value))
    return [*overrides, *dotted]


def _quoted(text: str) -> str:
    """Returns text as a TOML string, so that `--run-dir 2026` stays text.

    A JSON string is one, but for the surrogate pairs of ASCII output and for DEL.
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _name(short: Shortcut) -> str:
    return short.flag.replace("-", "_")
