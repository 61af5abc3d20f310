"""Makes docs/benchmarks.md from the rows in benchmarks/rows: `python docs/make_benchmarks.py`.

No figure is typed. Speed's targets of all suites come first, in one table, then all findings, then
a section and pictures of each suite. Only rows of a suite's own jobs are told; new ones come from
`flashevolve bench SUITE --rows benchmarks/rows`.
"""

import io
import json
import runpy
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from flashevolve.bench.cell import Row, one_world, read_rows
from flashevolve.bench.current import current, seeds_of
from flashevolve.bench.figures import draw_all
from flashevolve.bench.report import Report, markdown, section, targets_table
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
mechanisms do in that stated world. They stand beside no published score. The one exception is
`gepa`: its times, CPU and memory are measured, of real clients over real HTTP, against an endpoint
whose answers and latencies are simulated.

Every section names its command. With `--quick` it ends in seconds and shows only that it works:
`flashevolve bench staleness --quick --rows rows --figures figures --json report.json`. Rows that
`--rows` holds already are not run again. The same command with `--model NAME --base-url URL`
repeats each row on a real endpoint, in real time, as an ordinary run with a directory of its own;
such rows are never put into one table with simulated ones (not so `scaling` and `gepa`).

How to read them: arms are paired by seed (the same examples, the same seed of everything drawn).
Values are interquartile means over seeds, with 95 % bootstrap intervals over seeds in brackets;
with few seeds these cover less than 95 % (of normal values, means 92 % and ratios 85 % at 5 seeds;
93 and 92 % at 12), and with fewer than 5 there is none. Ratios are of means over paired seeds; one
by fewer than 10 events (fronts, sweeps, proposals) is not told. *Area* is the mean of the anytime
test curve (the score on test of whatever was the best confirmed artifact at that moment) up to what
the thriftiest arm of that seed had spent. *Target* is the test score that sync had at its end;
where a run ends before it gets there, its time counts as the whole run, so that the time is a lower
bound, which meets no target. Seeds on which sync ended no better than it began have no target. *Its
fronts*: as many admissions that improved a per-example best as sync had at its end; that count
saturates, so that front per hour falls the longer and the faster a run is, and the time to a given
count does not. Test examples are scored after the run, outside of its time, by the same reader.
"""


MANY_SEEDS = 100
"""What findings are asked for."""
TARGETS = """\
## Targets of speed, of one default configuration

All suites' targets, beside what the default configuration (arm `default`, and all of `scaling`)
reached; in `gepa`, what the arm `flashevolve, drop-in` did. *Ceiling*: how much faster the calls of
the baseline, or for a share the arm's own, could have been served without any dependency, at the
same C; for replicas, where one process is full. A verdict is about the value; its interval stands
beside it."""
FINDINGS = """\
## Findings

Sign, size and 95 % interval over n paired seeds; losses too. None of them has a target."""


WHO = """\
## who goes first

Which request is sent first when all slots are taken. The load is set by the steps in flight, with
fixed control; under the default (adaptive) control next to nothing waits, so that the order hardly
matters. A rule would be shipped if its gain's interval lay above 5 % where slots are scarce (at all
loads but the lightest). Again: `python benchmarks/who_goes_first.py --seeds 9 --minutes 12 --val 50
--concurrency 32 --steps 4 12 32`."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A suite's report, and the rows that it is of."""

    report: Report
    rows: Sequence[Row]


def reports(folder: Path = ROWS) -> list[Told]:
    """Returns the reports of all suites that have rows of their own jobs."""
    found = []
    for name in SUITES:
        path = folder / f"{name}.jsonl"
        chosen = suite(name)
        rows = current(read_rows(path), chosen) if path.exists() else []
        if rows:
            n_seeds = 1 + max(row.seed for row in rows)
            seeds = "" if n_seeds == chosen.seeds else f" --seeds {n_seeds}"
            report = chosen.report(rows, f"flashevolve bench {name}{seeds}")
            found.append(Told(report=checked(report, rows, folder), rows=rows))
    return found


def targets(made: Sequence[Told]) -> str:
    """Returns one table of the targets of all suites."""
    lines = [verdict for one in made for verdict in one.report.verdicts]
    table = section(targets_table(lines)).partition("\n\n")[2]  # without a title of its own
    return f"{TARGETS}\n\n{table}\n"


def findings(made: Sequence[Told]) -> str:
    """Returns the findings of all suites; where seeds were fewer than asked for, it says so."""
    parts = [FINDINGS]
    for one in made:
        if one.report.findings:
            parts.append(f"### In {one.report.suite}")
            few = {group: n for group, n in seeds_of(one.rows).items() if n < MANY_SEEDS}
            if few:
                told = ", ".join(f"{group or 'all arms'} {n}" for group, n in few.items())
                parts.append(f"Fewer than {MANY_SEEDS} seeds because of cost: {told}.")
            parts.append("\n".join(f"- {line}" for line in one.report.findings))
    return "\n\n".join(parts) + "\n"


def who_goes_first(file: Path = ROWS / "who_goes_first.json") -> str:
    """Returns what `benchmarks/who_goes_first.py` reports of the rows that were kept of it."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "who_goes_first.py"))
    rows = [script["Row"](**row) for row in json.loads(file.read_text(encoding="utf-8"))]
    with redirect_stdout(io.StringIO()) as said:
        script["report"](rows)
    worthy = ", ".join(script["worthy"](rows)) or "none"
    text = "\n".join(line.rstrip() for line in said.getvalue().splitlines())
    return f"{WHO}\n\n```\n{text}\n```\n\nBy these rows: {worthy}.\n"


def page(made: Sequence[Told] | None = None) -> str:
    """Returns the text of docs/benchmarks.md."""
    made = reports() if made is None else made
    if not made:
        return INTRODUCTION
    sections = [markdown(one.report, images="images", told=True) for one in made]
    return "\n".join([INTRODUCTION, targets(made), findings(made), *sections, who_goes_first()])


def main() -> None:
    """Writes the page and its pictures."""
    made = reports()
    one_world([row for one in made for row in one.rows], "benchmarks/rows")
    for one in made:
        draw_all(one.report, IMAGES, ("svg",))
    PAGE.write_text(page(made), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
