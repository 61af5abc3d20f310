"""Writes docs/configuration.md from the settings' own help: `python docs/make_configuration.py`."""

from itertools import groupby
from pathlib import Path

from flashevolve.cli.overrides import SHORTCUTS
from flashevolve.config.describe import Key, describe

PAGE = Path(__file__).with_name("configuration.md")

INTRODUCTION = """\
# Configuration

Written by `docs/make_configuration.py` from the program's own help; `flashevolve config` prints the
same, `flashevolve config budget` a part of it.

A run is configured by one TOML file. `a.b` below is key `b` in table `[a]`. Every key can also be
given on the command line, as `--a.b VALUE` or `--a.b=VALUE`, with the value written as in TOML
(text may go without quotes); the command line wins. Unknown keys are refused. Relative paths start
at the file's own directory; on the command line, at the working directory.

A component of the artifact is a text, or `{ file = "prompt.md" }`. A role's model is a table, a
name, or a list of tables. From Python, `optimize` takes the same settings as arguments, see
[python.md](python.md).

Shortcuts on the command line: {shortcuts}.

What a resumed run may change: `budget`, `limits`, `control`, `run`, `gateway`, the paths in `data`
and `simulation` (their contents must be the same), and of a model `base_url`, `key_env`, `price`,
`extra_headers`, `timeout_s` and `max_output_tokens`.
Anything else is refused, with the keys that differ.
"""


def page() -> str:
    """Returns the page as it should be."""
    shortcuts = ", ".join(f"`--{s.flag}` = `{s.key}`" for s in SHORTCUTS)
    parts = [INTRODUCTION.replace("{shortcuts}", shortcuts)]
    # The few keys that stand in no table come first, as they must in a TOML file.
    keys = sorted(describe(), key=lambda key: "." in key.key)
    for name, group in groupby(keys, key=lambda key: _group(key.key)):
        rows = [_row(key) for key in group]
        parts.append("\n".join([f"## {name}\n", *HEADER, *rows, ""]))
    return "\n".join(parts)


HEADER = ("| key | type | default | meaning |", "|---|---|---|---|")


def _group(key: str) -> str:
    table = key.split(".")[0].removesuffix(".<role>")
    return f"[{table}]" if "." in key else "At the top"


def _row(key: Key) -> str:
    default = f"`{key.default}`" if key.default else ""
    cells = (f"`{key.key}`", key.type, default, key.help)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
