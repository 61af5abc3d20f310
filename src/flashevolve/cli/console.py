"""What reaches the terminal. Results go to stdout, everything else to stderr.

Texts that a model or a data file wrote may hold control sequences: whatever goes to a terminal
passes `safe`.
"""

import json
import logging
import re
import sys
import warnings
from typing import Any

import click

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and line feed, marks that reorder text, and lone surrogates."""


def safe(text: str) -> str:
    r"""Returns a text with control characters spelled out, such as `\x1b`."""
    return _CONTROL.sub(_spelled, text)


def one_line(text: str, width: int | None = None) -> str:
    """Returns a text on one line, safe to print, cut to `width` characters."""
    line = " ".join(safe(text).split())
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def say(line: str = "") -> None:
    """Tells the user something that is not the result."""
    click.echo(safe(line), err=True)


def complain(message: str) -> None:
    """Prints one line that says what is wrong."""
    click.echo(f"error: {one_line(message)}", err=True)


def print_json(data: Any, *, indent: int | None = 2) -> None:
    """Prints one JSON object, in ASCII, which every terminal and every reader survives."""
    click.echo(json.dumps(data, indent=indent))


def configure_logging() -> None:
    """Sends warnings, ours and those of libraries, to stderr, one line each."""
    logging.basicConfig(level=logging.WARNING, handlers=[_Lines()])
    if not sys.warnoptions:
        warnings.showwarning = _show_warning


class _Lines(logging.Handler):
    """Looks stderr up at each line, since a live screen stands in for it meanwhile."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.levelname.lower()}: {one_line(record.getMessage())}")
        if record.exc_info:
            say(logging.Formatter().formatException(record.exc_info))


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {one_line(str(message))}")
