"""`flashevolve bench`: repeats a comparison, in the simulated world or on a real endpoint."""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from flashevolve.bench.cell import Job, Row
    from flashevolve.bench.execute import RealModel
    from flashevolve.bench.report import Report


@click.command("bench")
@click.argument("name", metavar="SUITE")
@click.option("--seeds", type=click.IntRange(1), metavar="N", help="Paired seeds, from 0.")
@click.option("--quick", is_flag=True, help="Tiny cells, in seconds: shows that it works.")
@click.option("--jobs", "n_jobs", type=click.IntRange(1), metavar="N", help="Processes at once.")
@click.option("--preset", metavar="NAME", help="Another simulated backend.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the report and all figures.",
)  # fmt: skip
@click.option(
    "--rows", "rows_dir", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Keep raw rows here; what is there, of the same sources, is not run again.",
)  # fmt: skip
@click.option(
    "--figures", "figures_dir", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Draw figures here, as svg and png.",
)  # fmt: skip
@click.option("--report-only", is_flag=True, help="Run nothing: report the rows that are there.")
@click.option("--model", metavar="NAME", help="A real model instead of the simulated one.")
@click.option("--base-url", metavar="URL", help="Where the real model is.")
@click.option(
    "--run-root", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    default=Path("runs/bench"), show_default=True, help="Where runs of a real model live.",
)  # fmt: skip
def command(
    name: str,
    seeds: int | None,
    quick: bool,
    n_jobs: int | None,
    preset: str | None,
    json_file: Path | None,
    rows_dir: Path | None,
    figures_dir: Path | None,
    report_only: bool,
    model: str | None,
    base_url: str | None,
    run_root: Path,
) -> None:
    """Run a suite of comparisons and print its tables.

    Suites: profile, throughput, evolution, staleness, workers, speculation,
    scaling, gepa. Without --model all runs are simulated, in virtual time, and
    all figures are predictions; but gepa runs real clients of several makers
    against a simulated endpoint, in real time.
    """
    from flashevolve.bench.execute import RealModel, check, run_jobs
    from flashevolve.bench.suite import Options, check_needs, suite
    from flashevolve.bench.trust import checked
    from flashevolve.errors import ConfigError

    if base_url and not model:
        raise ConfigError("--base-url: expected --model NAME beside it, found none. Add it")
    if report_only and rows_dir is None:
        raise ConfigError("--report-only: expected --rows DIR beside it, found none. Add it")
    chosen = suite(name)
    if model and not chosen.can_measure:
        raise ConfigError(
            f"--model: expected a suite that a real endpoint can answer, found {name}, whose runs "
            f"{'need a stated latency' if chosen.real_time else 'charge CPU to virtual time'}. "
            "Leave --model out"
        )
    _check_preset(preset)
    _check_places(None if report_only else rows_dir, figures_dir, json_file)
    n = seeds or (chosen.quick_seeds if quick else chosen.seeds)
    asked = Options(seeds=n, quick=quick, preset=preset)
    # Seed by seed, so that what is stopped early has whole pairs of every comparison.
    jobs = sorted(chosen.jobs(asked), key=lambda job: job.seed)
    real = RealModel(name=model, base_url=base_url, run_root=run_root) if model else None
    again = _command(name, seeds, quick, preset)
    kept = _kept(rows_dir, name, jobs, any_code=report_only)
    if report_only:
        rows = [kept[job.key] for job in jobs if job.key in kept]
        if not rows:
            raise ConfigError(f"--rows: expected rows of {name} in {rows_dir}, found none")
    else:
        check_needs(chosen, quick=quick)
        check(jobs, real)
        n_processes = n_jobs or chosen.at_once
        new = [job for job in jobs if job.key not in kept]
        progress = _Progress(new, rows_dir, name, real, n_processes or 1)
        rows = run_jobs(
            jobs, n_processes=n_processes, real=real, done=kept.values(), on_row=progress.add
        )
    report = checked(chosen.report(rows, again), rows, rows_dir)
    _tell(report, rows, json_file, figures_dir)


def _check_preset(preset: str | None) -> None:
    from flashevolve.errors import ConfigError
    from flashevolve.simulate.world import load_world

    if preset is not None:
        try:
            load_world().preset(preset)
        except ConfigError as error:
            raise ConfigError(f"--preset: {error}") from error


def _check_places(rows_dir: Path | None, figures_dir: Path | None, json_file: Path | None) -> None:
    """Makes sure of what the end needs, so that no hour of runs ends in an error."""
    from flashevolve.bench.stats import extra
    from flashevolve.errors import ConfigError

    extra("numpy")
    if figures_dir is not None:
        extra("matplotlib.pyplot")
    folders = {"--rows": rows_dir, "--figures": figures_dir, "--json": json_file}
    for option, path in folders.items():
        if path is None:
            continue
        folder = path.parent if path is json_file else path
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # A file in it shows what no flag tells: a full or read-only disk.
            with TemporaryFile(dir=folder):
                pass
            if path is json_file and path.exists():
                path.open("a", encoding="utf-8").close()
        except OSError as error:
            raise ConfigError(
                f"{option}: expected a place to write to, found {path}: {error.strerror}. "
                "Name another one"
            ) from error


def _command(name: str, seeds: int | None, quick: bool, preset: str | None) -> str:
    parts = [f"flashevolve bench {name}"]
    parts += [f"--seeds {seeds}"] if seeds else []
    parts += ["--quick"] if quick else []
    parts += [f"--preset {preset}"] if preset else []
    return " ".join(parts)


def _kept(
    rows_dir: Path | None, name: str, jobs: "Sequence[Job]", *, any_code: bool
) -> "dict[str, Row]":
    """Returns the rows of the folder that belong to these jobs, by key; the latest of each.

    Unless `any_code`, only those that were made with the sources as they are now.
    """
    from flashevolve.bench.cell import read_rows
    from flashevolve.bench.code import code_digest

    if rows_dir is None or not (rows_dir / f"{name}.jsonl").exists():
        return {}
    wanted = {job.key for job in jobs}
    found = [r for r in read_rows(rows_dir / f"{name}.jsonl") if r.key in wanted]
    return {r.key: r for r in found if any_code or r.code == code_digest()}


class _Progress:
    """Keeps each row as it comes, and says now and then how long the rest will take."""

    EVERY_S = 10.0

    def __init__(
        self,
        jobs: "Sequence[Job]",
        rows_dir: Path | None,
        name: str,
        real: "RealModel | None",
        n_processes: int,
    ) -> None:
        from flashevolve.bench.execute import estimate_s
        from flashevolve.cli.console import say

        self._say = say
        self._left = len(jobs)
        self._n = 0
        self._began_s = self._told_s = time.monotonic()
        self._path: Path | None = None
        if rows_dir is not None:
            rows_dir.mkdir(parents=True, exist_ok=True)
            self._path = rows_dir / f"{name}.jsonl"
        minutes = sum(map(estimate_s, jobs)) / 60
        about = f", about {minutes:.1f} core-minutes" if real is None else ""
        if any(job.real_s is not None for job in jobs):
            about = f", about {minutes / n_processes:.1f} minutes of real time"
        say(f"{self._left} runs to make{about}")

    def add(self, row: "Row") -> None:
        """Takes one new row."""
        from flashevolve.bench.cell import append_row

        if self._path is not None:
            append_row(self._path, row)
        self._n += 1
        now_s = time.monotonic()
        if now_s - self._told_s >= self.EVERY_S:
            self._told_s = now_s
            left_s = (now_s - self._began_s) / self._n * (self._left - self._n)
            self._say(f"{self._n} of {self._left} runs, about {left_s:.0f} s to go")


def _tell(
    report: "Report",
    rows: "Sequence[Row]",
    json_file: Path | None,
    figures_dir: Path | None,
) -> None:
    from rich.console import Console

    from flashevolve.bench.report import show, to_json

    console = Console()
    # Tables that are cut would be worse than lines that a terminal wraps.
    if not console.is_terminal:
        console.width = 200
    show(report, console)
    if json_file is not None:
        import json

        json_file.write_text(json.dumps(to_json(report, rows), indent=1) + "\n", encoding="utf-8")
    if figures_dir is not None:
        from flashevolve.bench.figures import draw_all

        draw_all(report, figures_dir)
