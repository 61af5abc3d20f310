"""Writes docs/gepa-arguments.md: `python docs/make_gepa_arguments.py`."""

import inspect
from pathlib import Path

from flashevolve.integrations.gepa import optimize
from flashevolve.integrations.gepa.arguments import TREATMENT

PAGE = Path(__file__).with_name("gepa-arguments.md")
HEAD = """# gepa's arguments, one by one

What `flashevolve.integrations.gepa.optimize` does with each argument of `gepa.optimize` 0.1.4.
"As gepa" = it means what it means there; "ours" = it works, and differs by what the last column
says; "no effect" = accepted, and told in one line when it is set. What cannot be honoured is
refused before anything is called. Written by `docs/make_gepa_arguments.py`.
[The guide](coming-from.md)

| argument | here | what differs |
|---|---|---|
"""
TAIL = """
Ours alone, by name only:

| argument | default |
|---|---|
"""


def page() -> str:
    """Returns the page as it should be."""
    rows = "".join(f"| `{name}` | {kind} | {why} |\n" for name, (kind, why) in TREATMENT.items())
    own = (
        parameter
        for parameter in inspect.signature(optimize).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    )
    return HEAD + rows + TAIL + "".join(f"| `{p.name}` | `{p.default!r}` |\n" for p in own)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
