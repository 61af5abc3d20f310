"""Makes the pictures of the README from real output: `python docs/make_images.py`.

It runs examples/instructions twice on the simulated model (asynchronous with the reflective policy,
and one step at a time) with the same seed and budget, and draws what the event logs say. Nothing is
drawn by hand but the frame.
"""

import io
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from flashevolve import rundir
from flashevolve.cli.main import invoke
from flashevolve.cli.show import in_words, tell
from flashevolve.events import CallReserved, CallSettled

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CONFIG = ROOT / "examples" / "instructions" / "run.toml"

WIDTH, PANEL, GAP, LEFT, TOP = 860, 110, 46, 54, 40
"""Pixels. One panel for each schedule, above each other on one time axis."""
PLOT = WIDTH - LEFT - 24
N_BINS = 400
"""Two pixels each: a line that is thinner than that cannot be seen."""
INK, MUTED, AREA, GRID = "#1f2328", "#57606a", "#2f6f9f", "#d0d7de"


def in_flight(run_dir: Path) -> Iterator[tuple[float, int]]:
    """Yields (time in seconds, requests in flight from then on)."""
    n = 0
    for record in rundir.read_records(run_dir):
        step = {CallReserved: 1, CallSettled: -1}.get(type(record.event), 0)
        if step:
            n += step
            yield record.t_s, n


def binned(changes: list[tuple[float, int]], end_s: float) -> list[float]:
    """Returns the mean number in flight in each of `N_BINS` equal parts of [0, end_s]."""
    sums, width_s = [0.0] * N_BINS, end_s / N_BINS
    for (start_s, n), (stop_s, _) in pairwise(changes):
        at_s = start_s
        while at_s < stop_s:
            place = min(N_BINS - 1, int(at_s / width_s))
            until_s = stop_s if place == N_BINS - 1 else min(stop_s, (place + 1) * width_s)
            until_s = max(until_s, at_s + width_s * 1e-9)
            sums[place] += n * (until_s - at_s)
            at_s = until_s
    return [total / width_s for total in sums]


def panel(title: str, changes: list[tuple[float, int]], end_s: float, top: int, most: int) -> str:
    """Returns one panel: a filled curve of requests in flight, with its title."""
    values = binned(changes, end_s)
    points = [
        f"{LEFT + PLOT * i / N_BINS:.1f},{top + PANEL * (1 - v / most):.1f}"
        for i, v in enumerate(values)
    ]
    last = max(i for i, v in enumerate(values) if v > 0) + 1
    area = " ".join(points[:last])
    end_x = LEFT + PLOT * last / N_BINS
    base = top + PANEL
    lines = [text(LEFT, top - 10, title, INK, 14)]
    for level in (0, most // 2, most):
        y = top + PANEL * (1 - level / most)
        lines.append(
            f'<line x1="{LEFT}" x2="{LEFT + PLOT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>'
        )
        lines.append(text(LEFT - 8, int(y) + 4, str(level), MUTED, 11, "end"))
    lines.append(f'<polygon points="{LEFT},{base} {area} {end_x:.1f},{base}" fill="{AREA}"/>')
    return "\n".join(lines)


def text(x: float, y: float, words: str, colour: str, size: int, anchor: str = "start") -> str:
    """Returns a line of text."""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" font-size="{size}" '
        f'text-anchor="{anchor}">{words}</text>'
    )


def timeline(rows: list[tuple[str, list[tuple[float, int]]]], note: str) -> str:
    """Returns an SVG with one panel a row, on a common time axis."""
    end_s = max(changes[-1][0] for _, changes in rows)
    most = max(n for _, changes in rows for _, n in changes)
    height = TOP + len(rows) * (PANEL + GAP) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" role="img" aria-label="{note}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for i, (title, changes) in enumerate(rows):
        parts.append(panel(title, changes, end_s, TOP + i * (PANEL + GAP), most))
    base = TOP + len(rows) * (PANEL + GAP) - GAP
    for minute in range(0, int(end_s / 60) + 1, 10):
        x = LEFT + PLOT * minute * 60 / end_s
        parts.append(text(x, base + 18, f"{minute} min", MUTED, 11, "middle"))
    parts.append(text(LEFT, base + 44, note, MUTED, 12))
    return "\n".join([*parts, "</svg>", ""])


def run(run_dir: Path, *flags: str) -> None:
    """Runs the example into `run_dir`; raises `SystemExit` if it fails."""
    if code := invoke(["run", str(CONFIG), "--run-dir", str(run_dir), *flags]):
        raise SystemExit(code)


def main() -> None:
    """Writes docs/images/show.svg and docs/images/in-flight.svg."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        demo, sync = Path(folder, "runs", "demo"), Path(folder, "runs", "sync")
        run(demo)
        run(sync, "--schedule", "sync")
        console = Console(record=True, width=110, file=io.StringIO())
        for line in in_words(tell(demo)):
            console.print(line.replace(f"{folder}/", ""), markup=False, highlight=False)
        console.save_svg(str(IMAGES / "show.svg"), title="flashevolve show runs/demo")
        results = {d: rundir.read_result(d) or {} for d in (demo, sync)}
        rows = [
            (
                f"{name}: {results[d]['virtual_s'] / 60:.1f} min simulated, test score "
                f"{results[d]['seed_test_score']:.2f} to {results[d]['test_score']:.2f}",
                list(in_flight(d)),
            )
            for name, d in (("--schedule sync", sync), ("--policy reflective", demo))
        ]
        note = (
            "Requests in flight, simulated (a prediction): examples/instructions, seed 0, "
            "3,000 metric calls, at most 64 requests at once."
        )
        (IMAGES / "in-flight.svg").write_text(timeline(rows, note), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
