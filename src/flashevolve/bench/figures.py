"""Figures: drawn from a report's data with matplotlib, the same bytes each time."""

from pathlib import Path
from typing import Any

from flashevolve.bench.report import Figure, Report
from flashevolve.bench.stats import extra

COLOURS = (
    "#57606a", "#2f6f9f", "#c2571a", "#2e7d4f", "#8250a0", "#b3862a", "#1f9aa8", "#b03a5b",
    "#6e7b2c", "#444c9e", "#9a9a9a", "#000000",
)  # fmt: skip
"""Grey first: the baseline is the first line."""
APART = 0.08
"""Between points of different lines at one place of a figure of points."""
SIZE_INCHES = (7.2, 3.6)


def draw_all(report: Report, folder: Path, endings: tuple[str, ...] = ("svg", "png")) -> list[Path]:
    """Writes every figure of a report into a folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [path for figure in report.figures for path in _written(figure, folder, endings)]


def _written(figure: Figure, folder: Path, endings: tuple[str, ...]) -> list[Path]:
    matplotlib = extra("matplotlib")
    matplotlib.use("Agg")
    pyplot = extra("matplotlib.pyplot")
    # Without a salt of its own, an SVG's ids differ from one process to the next.
    settings = {"svg.hashsalt": figure.name, "font.size": 9, "svg.fonttype": "none"}
    with matplotlib.rc_context(settings):
        canvas, axes = pyplot.subplots(figsize=SIZE_INCHES, layout="constrained")
        _draw(figure, axes)
        paths = [folder / f"{figure.name}.{ending}" for ending in endings]
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            canvas.savefig(path, metadata=metadata, dpi=150)
        pyplot.close(canvas)
    return paths


def _draw(figure: Figure, axes: Any) -> None:
    several = len(figure.lines) > 1
    for i, line in enumerate(figure.lines):
        colour = COLOURS[i % len(COLOURS)]
        if figure.kind == "point":
            below = [y - low for y, low in zip(line.y, line.low, strict=True)]
            above = [high - y for y, high in zip(line.y, line.high, strict=True)]
            # Side by side, since points of several lines at one place would hide each other.
            shift = (i - (len(figure.lines) - 1) / 2) * APART
            places = [x + shift for x in line.x]
            axes.errorbar(
                places, line.y, yerr=[below, above], fmt="o", capsize=3, label=line.label,
                color=colour if several else COLOURS[1],
            )  # fmt: skip
            continue
        where = {"drawstyle": "steps-post"} if figure.kind == "step" else {}
        axes.plot(line.x, line.y, label=line.label, color=colour, linewidth=1.5, **where)
        if line.low:
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.08, linewidth=0)
    if figure.kind == "point":
        axes.set_xticks(range(len(figure.ticks)), figure.ticks, rotation=20, ha="right")
        if not figure.log:
            axes.set_ylim(bottom=min(0, *axes.get_ylim()))
    if figure.log:
        axes.set_yscale("log")
    if figure.kind != "point" or several:
        axes.legend(fontsize=8, frameon=False)
    axes.set_title(figure.title, fontsize=10)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
