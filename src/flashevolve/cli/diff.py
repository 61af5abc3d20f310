"""`flashevolve diff`: what changed from one artifact to another, within a run or between two."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from flashevolve import rundir
from flashevolve.artifact import Artifact
from flashevolve.cli.console import one_line, print_json, safe
from flashevolve.cli.report import gain_lines, score, simulated_lines, table
from flashevolve.cli.sides import (
    Side,
    best_side,
    refuse_two_worlds,
    scored_alike,
    seed_side,
    sides,
    worlds_are_unknown,
)
from flashevolve.cli.texts import Change, changes, coloured
from flashevolve.config.compare import differences
from flashevolve.errors import ConfigError, nearest
from flashevolve.result import Result, result_of
from flashevolve.rundir import OpenRun
from flashevolve.task import SPLITS

MAX_DIGITS = 18
"""Of a candidate's number; Python itself refuses to read thousands of them."""

VALUE_CHARS = 40
"""Of a configured value; a longer one is a text, which is no use in a table."""


@click.command("diff")
@click.argument("targets", metavar="[DIR [A [B]] | DIR DIR]", nargs=-1)
@click.option("--component", metavar="NAME", help="Only this component.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(targets: tuple[str, ...], component: str | None, as_json: bool) -> None:
    """Show what changed from the seed of a run to its best.

    Without DIR, in the run below ./runs that was written last. With one number: from that
    candidate's parent to it. With two: from one candidate to the other. With two directories:
    between the bests of two runs, with what differs in their configurations.
    """
    dirs, ids = parse(targets)
    for directory in dirs:
        refuse_many(directory)
    runs = [rundir.open_run(d) for d in dirs or [rundir.latest_run(Path("runs"))]]
    if len(runs) == 2:
        refuse_two_worlds(*runs)
        old, new = (best_side(run) for run in runs)
    else:
        old, new = sides(runs[0], ids)
    found = changes(Artifact(old.artifact), Artifact(new.artifact), *_labels(old, new))
    found = only(found, component)
    if as_json:
        print_json(to_json(runs, old, new, found))
        return
    for line in heading(runs, old, new):
        click.echo(safe(line))
    print_changes(found)


def parse(targets: Sequence[str]) -> tuple[list[Path], list[int]]:
    """Returns the runs and the candidates that were named; a number is a candidate."""
    numbers = [
        t
        for t in targets
        if t.isdecimal() and (len(t) > MAX_DIGITS or not rundir.holds_run(Path(t)))
    ]
    for number in numbers:
        if len(number) > MAX_DIGITS:
            raise ConfigError(
                f"diff: expected the number of a candidate, found one of {len(number)} digits. "
                "To list candidates: flashevolve show DIR"
            )
    ids = [int(number) for number in numbers]
    dirs = [Path(t) for t in targets if t not in numbers]
    if len(dirs) > 2 or len(ids) > 2 or (len(dirs) == 2 and ids):
        raise ConfigError(
            f"diff: expected DIR, DIR A, DIR A B or DIR DIR, found {' '.join(targets)}. Name one "
            "run with at most two candidates, or two runs"
        )
    return dirs, ids


def refuse_many(directory: Path) -> None:
    """Refuses a folder of runs in place of one of them."""
    if not rundir.holds_run(directory) and (runs := rundir.runs_below(directory)):
        raise ConfigError(
            f"{directory}: expected a run, found a folder with {len(runs)} of them. Name one; to "
            f"list them: flashevolve ls {directory}"
        )


def only(found: list[Change], component: str | None) -> list[Change]:
    """Returns the changes of one component, or all."""
    names = [change.component for change in found]
    if component is not None and component not in names:
        hint = nearest(component, names) or f" Expected one of {', '.join(names)}."
        raise ConfigError(f"--component: neither artifact has a component {component!r}.{hint}")
    return [change for change in found if component in (None, change.component)]


# -- telling -----------------------------------------------------------------------------------


def _labels(old: Side, new: Side) -> tuple[str, str]:
    if old.run_dir == new.run_dir:
        return old.name, new.name
    return f"{old.run_dir}: {old.name}", f"{new.run_dir}: {new.name}"


def _result(run: OpenRun) -> Result:
    return result_of(run.state, run.dir, "", None)


def to_json(runs: Sequence[OpenRun], old: Side, new: Side, found: list[Change]) -> dict[str, Any]:
    """Returns everything that is said, as JSON-serialisable data."""
    first = _result(runs[0])
    data: dict[str, Any] = {
        "simulated": first.simulated,
        "world": first.world,
        "answered_by": first.answered_by,
        "from": asdict(old),
        "to": asdict(new),
        "same": all(not change.lines for change in found),
        "components": [{**asdict(c), "lines": None, "diff": "\n".join(c.lines)} for c in found],
    }
    for component in data["components"]:
        del component["lines"]
    if len(runs) == 2:
        keys = settings_that_differ(*runs)
        data["config"] = [{"key": k, "from": a, "to": b} for k, (a, b) in keys.items()]
        data["scored_alike"] = scored_alike(*runs)
        data["worlds_known"] = not worlds_are_unknown(*runs)
        data["results"] = [_result(run).to_json() for run in runs]
    elif _is_tested(runs[0], old, new):
        data["test_gain"] = _gain(runs[0])
    return data


def settings_that_differ(first: OpenRun, second: OpenRun) -> dict[str, tuple[Any, Any]]:
    """Returns what of two configurations differs, contents of the data included.

    The file that a simulated world was read from says nothing; its hash is told elsewhere.
    """
    found = differences(first.started.config, second.started.config)
    found.pop("simulation.world", None)
    for split in SPLITS:
        a, b = (run.started.data.get(split, {}) for run in (first, second))
        if a != b:
            found[f"contents of data.{split}"] = (_contents(a, b), _contents(b, a))
    return found


def _contents(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Returns the size of a split; with a part of its fingerprint if the other is as large."""
    n = one.get("n", 0)
    told = f" ({one.get('hash', '?')[:8]})" if n == other.get("n", 0) else ""
    return f"{n} examples{told}"


def heading(runs: Sequence[OpenRun], old: Side, new: Side) -> list[str]:
    """Returns what is said above the texts."""
    lines = _two_runs(*runs) if len(runs) == 2 else _one_run(runs[0], old, new)
    # Two runs of one world may differ in what their seconds are.
    notes = [line for run in runs for line in simulated_lines(_result(run).to_json())]
    return [*lines, *dict.fromkeys(notes), ""]


def _one_run(run: OpenRun, old: Side, new: Side) -> list[str]:
    lines = [f"run {run.started.run_id} in {run.dir}: from {old.name} to {new.name}"]
    rows = [("", old.name, new.name)]
    rows += [("val", score(old.val), score(new.val)), ("test", score(old.test), score(new.test))]
    rows += [("lineage", _chain(old), _chain(new))]
    lines += table(rows)
    if _is_tested(run, old, new):
        result = _result(run)
        lines += gain_lines(_gain(run))
        if new.test is None and result.test_reason:
            lines.append(f"test: {result.test_reason}")
    if best_side(run).role == "seed":
        lines.append("nothing better than the seed has been admitted")
    return lines


def _is_tested(run: OpenRun, old: Side, new: Side) -> bool:
    """Says whether the sides are those that are scored on test: the seed and the best."""
    return old == seed_side(run) and new == best_side(run)


def _gain(run: OpenRun) -> dict[str, Any] | None:
    gain = _result(run).test_gain
    return asdict(gain) if gain else None


def _chain(side: Side) -> str:
    """Returns a lineage such as `0 > 3 > 7 (merged with 5)`."""
    merged = " and ".join(str(parent) for parent in side.parents[1:])
    return " > ".join(map(str, side.lineage)) + (f" (merged with {merged})" if merged else "")


def _two_runs(first: OpenRun, second: OpenRun) -> list[str]:
    results = [_result(run) for run in (first, second)]
    rows = [("", str(first.dir), str(second.dir))]
    for name, key in (
        ("val, seed", "seed_score"),
        ("val, best", "best_score"),
        ("test, seed", "seed_test_score"),
        ("test, best", "test_score"),
    ):
        rows.append((name, *(score(getattr(result, key)) for result in results)))  # type: ignore[arg-type]
    rows.append(("gain on test", *(_short_gain(result) for result in results)))  # type: ignore[arg-type]
    lines = [*table(rows), ""]
    if worlds_are_unknown(first, second):
        lines.append(
            "a simulated world was not recorded: whether it was the same, and their scores "
            "compare, is unknown"
        )
    if not scored_alike(first, second):
        lines.append("they are scored differently: their scores do not compare")
    differing = settings_that_differ(first, second)
    if not differing:
        return [*lines, "the configurations are the same"]
    shown = [(f"  {k}", _value(a), _value(b)) for k, (a, b) in differing.items()]
    lines += ["what differs in the configurations", *table(shown)]
    for split in ("val", "test"):
        if f"contents of data.{split}" in differing:
            lines.append(f"their {split} examples differ: scores on them do not compare")
    return lines


def _short_gain(result: Result) -> str:
    gain = result.test_gain
    if gain is None:
        return "-"
    if gain.low is None or gain.high is None:
        return f"{gain.mean:+.4f} (no interval)"
    return f"{gain.mean:+.4f} (95 %: {gain.low:+.4f} to {gain.high:+.4f})"


def _value(value: Any) -> str:
    return "-" if value is None else one_line(str(value), VALUE_CHARS)


def print_changes(found: Sequence[Change]) -> None:
    """Prints the changes; in colours on a terminal, as they are elsewhere."""
    changed = [change for change in found if change.lines]
    if not changed:
        click.echo("the texts are the same")
        return
    # A pipe gets the texts as they are; only a terminal could be misled by them.
    to_terminal = sys.stdout.isatty()
    for line in _summary(found):
        click.echo(line)
    for change in changed:
        if to_terminal:
            print_coloured(change)
        else:
            click.echo("\n".join(change.lines))


def print_coloured(change: Change) -> None:
    """Prints a change in colours, unless the environment asks for none."""
    from rich.console import Console

    console = Console(highlight=False)
    for line in coloured([safe(line) for line in change.lines]):
        console.print(line, soft_wrap=True)


def _summary(found: Sequence[Change]) -> Iterator[str]:
    for change in found:
        what = f"+{change.added} -{change.removed} lines" if change.lines else "unchanged"
        yield f"{one_line(change.component)}: {what}"
    yield ""
