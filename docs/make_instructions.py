"""Writes the table of docs/instructions.md: `python docs/make_instructions.py`."""

import inspect
from pathlib import Path

from flashevolve.workloads.instructions.layout import parameters
from flashevolve.workloads.instructions.registry import CHECKERS

PAGE = Path(__file__).with_name("instructions.md")
START, END = "<!-- written by docs/make_instructions.py -->\n", "<!-- end -->\n"
HEADER = ("| id | values | met if |", "|---|---|---|")


def page() -> str:
    """Returns the page as it should be."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    return f"{before}{START}{table()}{END}{rest.partition(END)[2]}"


def table() -> str:
    """Returns one row for each instruction."""
    return "\n".join(["", *HEADER, *map(_row, sorted(CHECKERS)), "", ""])


def _row(name: str) -> str:
    checker = CHECKERS[name]
    values = ", ".join(f"`{value}`" for value in parameters(checker))
    # The first paragraph of a docstring is the rule; what follows is for whoever reads the code.
    rule = " ".join((inspect.getdoc(checker) or "").partition("\n\n")[0].split())
    cells = (f"`{name}`", values, rule)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
