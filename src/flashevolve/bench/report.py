"""Report: tables and figures of a suite, told on a terminal, in Markdown or as JSON.

Pure data first: a suite turns rows into a `Report`, and the same report is printed and written to
the documents. A report names its world, its seeds and the command that repeats it, and says of
figures from the simulation that they are predictions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from flashevolve.bench.cell import Row, one_world

if TYPE_CHECKING:
    from rich.console import Console

PREDICTIONS = (
    "PREDICTIONS of the simulation: time, tokens and use are a model's; scores show what the "
    "mechanisms do in this stated world, and stand beside no published score."
)
COVERAGE = (
    "with few seeds they cover less (means 92 % and ratios 85 % at n = 5, 93 and 92 % at n = 12, "
    "for normal values)"
)
MEASURED = "Measured on a real endpoint, in real time."


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose cells are ready to print."""

    title: str
    columns: tuple[str, ...]
    """The first names the row."""
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Line:
    """One curve, or one row of points."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    """Lower ends of intervals; empty = none."""
    high: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture, before it is drawn."""

    name: str
    """Of its file, without ending."""
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    kind: str = "line"
    """`line`, `step`, or `point` with x as places of `ticks`."""
    ticks: tuple[str, ...] = ()
    log: bool = False
    """Whether y is drawn by its logarithm."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One target beside what was found."""

    what: str
    floor: str
    """What is asked for at least, or at most."""
    aim: str
    found: str
    ceiling: str = "-"
    """The most that the row's baseline leaves to any schedule."""
    n: int | None = None
    """Seeds; None = no figure."""
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a suite says of its rows."""

    suite: str
    about: str
    """One sentence: what was compared."""
    head: tuple[str, ...]
    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...] = ()
    """Speed's targets, as far as the suite has any."""
    findings: tuple[str, ...] = ()
    """Sentences with sign, size and interval."""
    figures: tuple[Figure, ...] = field(default=())
    warnings: tuple[str, ...] = ()
    real_time: bool = False
    """Whether its times are of real clients, and no prediction."""


def head_of(rows: Sequence[Row], command: str, *, can_measure: bool = True) -> tuple[str, ...]:
    """Returns the lines that open every report; the suite says if it has a real counterpart.

    Raises `ConfigError` for rows of two worlds.
    """
    world = one_world(rows)
    seeds = sorted({row.seed for row in rows})
    cells = sorted({row.cell for row in rows})
    packages = ", ".join(sorted({row.package for row in rows}))
    cpu_s = sum(row.cpu_s for row in rows)
    models = ", ".join(sorted({row.model for row in rows}))
    measure = (f"On a real endpoint: `{command} --model NAME --base-url URL`.",)
    return (
        f"{PREDICTIONS} World {world}." if world else f"{MEASURED} Model {models}.",
        f"{len(rows)} runs on {len(seeds)} paired seeds ({seeds[0]} to {seeds[-1]}), "
        f"flashevolve {packages}, {cpu_s:.0f} s of processor time.",
        f"Cells: {'; '.join(cells)}.",
        f"Again: `{command}`.",
        *(measure if can_measure else ()),
        "A request cut off in flight counts as the mean tokens of those served, in all arms.",
        "Values are interquartile means over seeds, with 95 % bootstrap intervals [low, high]; "
        f"{COVERAGE}.",
    )


def targets_table(verdicts: Iterable[Verdict], title: str = "Targets") -> Table:
    """Returns the table of targets."""
    lines = [
        (v.what, v.floor, v.aim, v.found, v.ceiling, "-" if v.n is None else f"{v.n}", v.verdict)
        for v in verdicts
    ]
    columns = ("what", "asked for", "aim", "reached", "ceiling", "seeds", "verdict")
    return Table(title=title, columns=columns, rows=tuple(lines))


def to_json(report: Report, rows: Iterable[Row]) -> dict[str, Any]:
    """Returns the report and the figures of its rows; curves are in the raw rows."""
    kept = [{k: v for k, v in asdict(row).items() if k != "curves"} for row in rows]
    return {**asdict(report), "rows": kept}


def markdown(report: Report, *, images: str | None = None, told: bool = False) -> str:
    """Returns the report as a section; `images` = the folder of its pictures, None = without.

    `told`: verdicts and findings stand elsewhere on the page.
    """
    parts = [f"## {report.suite}", report.about]
    parts += [f"**{warning}**" for warning in report.warnings]
    parts.append("\n".join(f"- {line}" for line in report.head))
    if report.verdicts and not told:
        parts.append(section(targets_table(report.verdicts)))
    if report.findings and not told:
        parts += ["### Findings", "\n".join(f"- {line}" for line in report.findings)]
    parts += [section(table) for table in report.tables]
    if images is not None:
        parts += [f"![{f.title}]({images}/{f.name}.svg)" for f in report.figures]
    return "\n\n".join(parts) + "\n"


def section(table: Table, level: int = 3) -> str:
    """Returns a table in Markdown, below its title."""
    lines = [_md(table.columns), _md("---" for _ in table.columns)]
    lines += [_md(row) for row in table.rows]
    return "\n\n".join([f"{'#' * level} {table.title}", "\n".join(lines), *table.notes])


def _md(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def show(report: Report, console: "Console") -> None:
    """Prints the report."""
    from rich.markup import escape
    from rich.table import Table as Rich

    console.print(f"[bold]bench {report.suite}[/]: {escape(report.about)}")
    for line in (*report.warnings, *report.head):
        console.print(escape(line), highlight=False)
    asked = (targets_table(report.verdicts),) if report.verdicts else ()
    for table in (*asked, *report.tables):
        shown = Rich(title=escape(table.title), title_justify="left", title_style="bold")
        for i, column in enumerate(table.columns):
            shown.add_column(escape(column), justify="left" if i == 0 else "right")
        for row in table.rows:
            shown.add_row(*(escape(cell) for cell in row))
        console.print()
        console.print(shown)
        for note in table.notes:
            console.print(escape(note), highlight=False)
    if report.findings:
        console.print()
    for line in report.findings:
        console.print(f"- {escape(line)}", highlight=False)
