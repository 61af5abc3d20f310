"""Makes docs/benchmarks.md from the rows in benchmarks/rows: `python docs/make_benchmarks.py`.

No figure is typed. Each suite's rows become its section and its pictures; new rows come from
`flashevolve bench SUITE --rows benchmarks/rows`.
"""

from pathlib import Path

from flashevolve.bench.cell import one_world, read_rows
from flashevolve.bench.figures import draw_all
from flashevolve.bench.report import Report, markdown
from flashevolve.bench.suite import SUITES, suite
from flashevolve.bench.trust import checked

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
ROWS = ROOT / "benchmarks" / "rows"

INTRODUCTION = """\
# Benchmarks

Made from the raw rows in [benchmarks/rows](../benchmarks/rows) by `python docs/make_benchmarks.py`;
nothing here is typed. All figures are PREDICTIONS of the simulation, never measurements: times and
tokens are those of a modelled backend ([Simulation](simulation.md)), and scores say what the
mechanisms do in that stated world. They stand beside no published score.

Every section names its command. With `--quick` it ends in seconds and shows only that it works:
`flashevolve bench staleness --quick --rows rows --figures figures --json report.json`. Rows that
`--rows` holds already are not run again. The same command with `--model NAME --base-url URL`
repeats each row on a real endpoint, in real time, as an ordinary run with a directory of its own;
such rows are never put into one table with simulated ones.

How to read them: arms are paired by seed (the same examples, the same seed of everything drawn).
Values are interquartile means over seeds, with 95 % bootstrap intervals over seeds in brackets;
ratios are of means over paired seeds. *Area* is the mean of the anytime test curve (the score on
test of whatever was the best confirmed artifact at that moment) up to what the thriftiest arm of
that seed had spent. *Target* is the test score that sync had at its end; where a run ends before it
gets there, its time counts as the whole run, so that the time is a lower bound. *Its fronts*: as
many admissions that improved a per-example best as sync had at its end; that count saturates, so
that front per hour falls the longer and the faster a run is, and the time to a given count does
not. Test examples are scored after the run, outside of its time, by the same reader.
"""


def reports() -> list[Report]:
    """Returns the reports of all suites that have rows."""
    found = []
    for name in SUITES:
        path = ROWS / f"{name}.jsonl"
        if path.exists():
            rows, chosen = read_rows(path), suite(name)
            n_seeds = 1 + max(row.seed for row in rows)
            seeds = "" if n_seeds == chosen.seeds else f" --seeds {n_seeds}"
            report = chosen.report(rows, f"flashevolve bench {name}{seeds}")
            found.append(checked(report, rows, ROWS))
    return found


def page(made: list[Report] | None = None) -> str:
    """Returns the text of docs/benchmarks.md."""
    sections = [markdown(r, images="images") for r in (reports() if made is None else made)]
    return "\n".join([INTRODUCTION, *sections])


def main() -> None:
    """Writes the page and its pictures."""
    rows = [row for path in sorted(ROWS.glob("*.jsonl")) for row in read_rows(path)]
    one_world(rows, "benchmarks/rows")
    made = reports()
    for report in made:
        draw_all(report, IMAGES, ("svg",))
    PAGE.write_text(page(made), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
