"""Writes docs/world.md from world.toml, its comments and the code: `python docs/make_world.py`.

In that file, `#: unit | mechanism | source` stands above each key; other comments of a table become
its text. What the code fixes is printed with the docstring below each constant. Nothing of the page
is written by hand but the introductions.
"""

import ast
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from flashevolve.simulate.constants import world_modules
from flashevolve.simulate.world import WORLD_FILE, load_world

PAGE = Path(__file__).with_name("world.md")
COLUMNS = 3

INTRODUCTION = """\
# The world's parameters

Written by `docs/make_world.py`. The parameters of [the simulated world](simulation.md) stand in
`src/flashevolve/simulate/world.toml`; fixed weights and habits stand in the code beside it, and are
printed [below](#fixed-in-the-code). Hash `{hash}`, revision {revision}.

The hash is over all of them: the file's values, and every number, text, or table of these that is a
constant of the code that makes the world, the words that it knows and writes included. It stands in
the first event of every run, in its result, in `show` and in the tables of benchmarks. A run is not
resumed in a world of another hash, and reports of different hashes are not compared. The revision
is raised when other code (a rule of grammar, a pattern) changes what the same values mean, which
changes the hash too.

For a world of your own, copy the file, change it, and name it: `--simulation.world my-world.toml`,
or `world="my-world.toml"` in Python. Every key is required; unknown ones are refused, and so is
another revision than the package's own.
"""


@dataclass
class Table:
    """One table of the file."""

    name: str
    text: list[str] = field(default_factory=list)
    """Lines of its comments."""
    rows: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    """Key, value, unit, mechanism, source."""


def tables(text: str) -> list[Table]:
    """Returns the file's tables in order; the first one holds what stands in none."""
    found = [Table("")]
    about: str | None = None
    for line in text.splitlines():
        if line.startswith("#:"):
            about = line[2:].strip()
        elif line.startswith("#"):
            found[-1].text.append(line[1:].strip())
        elif line.startswith("["):
            found.append(Table(line.strip("[]")))
            found[-1].text = _leading(found[-2])
        elif "=" in line:
            found[-1].rows.append(_row(line, about))
            about = None
        elif found[-1].rows and not line.strip():
            # What stands between an empty line and the next table speaks of that one.
            found[-1].text.append("---")
    for table in found:
        table.text = [line for line in table.text if line != "---"]
    return found


def _leading(above: Table) -> list[str]:
    """Takes the comment out that stands right above a table's name."""
    if "---" not in above.text:
        return []
    at = above.text.index("---")
    taken = [line for line in above.text[at:] if line != "---"]
    del above.text[at:]
    return taken


def _row(line: str, about: str | None) -> tuple[str, str, str, str, str]:
    key, _, value = (part.strip() for part in line.partition("="))
    columns = [part.strip() for part in (about or "").split("|")]
    if len(columns) != COLUMNS or not all(columns):
        raise ValueError(
            f"{WORLD_FILE.name}: expected `#: unit | mechanism | source` above {key}, "
            f"found {about!r}"
        )
    unit, mechanism, source = columns
    return key, value, unit, mechanism, source


def page() -> str:
    """Returns the page as it should be."""
    world, text = load_world(), WORLD_FILE.read_text(encoding="utf-8")
    first, *others = tables(text)
    written = {(t.name, row[0]) for t in (first, *others) for row in t.rows}
    assert written == set(_keys(tomllib.loads(text), "")), "a key was read otherwise than by TOML"
    parts = [INTRODUCTION.format(hash=world.hash, revision=world.revision)]
    parts += [_section(table) for table in (*others, first) if table.rows]
    return "\n".join([*parts, fixed()])


FIXED = """\
## Fixed in the code

Weights and thresholds that no key of the file changes, by module of `flashevolve.simulate`.

| constant | value | meaning |
|---|---|---|
{numbers}

### Habits

What a reader does where neither the request nor its advice says, with the odds of each option
(`simulate/writing/habits.py`).

| habit | options and their weights |
|---|---|
{habits}
"""
HABITS = "writing.habits"


def fixed() -> str:
    """Returns the section on what the code fixes."""
    numbers: list[str] = []
    habits: list[str] = []
    for module in world_modules():
        name = module.__name__.removeprefix("flashevolve.simulate.")
        for constant, meaning in _told(Path(str(module.__file__))).items():
            value = getattr(module, constant)
            if name == HABITS:
                options = ", ".join(f"{_shown(option)} {weight:g}" for option, weight in value)
                habits.append(f"| {f'`{constant}` {meaning}'.strip()} | {options} |")
            elif _is_numeric(value):
                meaning = meaning or constant.lower().replace("_", " ")
                numbers.append(f"| `{name}.{constant}` | {_listed(value)} | {meaning} |")
    return FIXED.format(numbers="\n".join(numbers), habits="\n".join(habits))


def _told(path: Path) -> dict[str, str]:
    """Returns a module's own public constants, each with the docstring right below it, or none."""
    told: dict[str, str] = {}
    above: str | None = None
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if above and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told[above] = " ".join(str(node.value.value).split())
        above = _assigned(node)
        if above is not None:
            told[above] = ""
    return told


def _assigned(node: ast.stmt) -> str | None:
    """Returns the name of a public constant that a statement assigns."""
    if isinstance(node, ast.AnnAssign):
        target: ast.expr = node.target
    elif isinstance(node, ast.Assign):
        target = node.targets[0]
    else:
        return None
    name = target.id if isinstance(target, ast.Name) else ""
    return name if name.isupper() and len(name) > 1 and not name.startswith("_") else None


def _is_numeric(value: object) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_numeric, value))
    return isinstance(value, int | float)


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _shown(option: object) -> str:
    """Returns an option as code; a space is shown as one would type it."""
    if isinstance(option, tuple):
        return " … ".join(_shown(part) for part in option if part)
    # Within a table a bar would end the cell, and backticks need longer ones around them.
    text = str(option).replace("|", "\\|")
    fence = "```` " if text == "```" else "`"
    return f"{fence}{text}{fence[::-1]}" if text else "nothing"


def _keys(table: dict[str, object], above: str) -> list[tuple[str, str]]:
    keys: list[tuple[str, str]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            keys += _keys(value, f"{above}.{key}" if above else key)
        else:
            keys.append((above, key))
    return keys


def _section(table: Table) -> str:
    lines = [f"## [{table.name}]" if table.name else "## At the top", ""]
    if table.name and table.text:
        lines += [*_paragraphs(table.text), ""]
    lines += ["| key | value | unit | mechanism | source |", "|---|---|---|---|---|"]
    for key, *cells in table.rows:
        lines.append("| " + " | ".join((f"`{key}`", *cells)) + " |")
    return "\n".join([*lines, ""])


def _paragraphs(text: list[str]) -> list[str]:
    joined = "\n".join(text).strip("\n")
    # An asterisk in a formula is no emphasis.
    return joined.replace("*", "\\*").splitlines()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
