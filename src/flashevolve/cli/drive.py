"""Drive: runs a `Run` in the foreground, with a screen, signals and one result at the end.

The run has a thread and a loop of its own; its events come over a queue, and the main thread folds
and shows them. So a slow terminal never holds the run up.
"""

import sys
from queue import Empty, SimpleQueue

import click

from flashevolve import rundir
from flashevolve.cli.console import configure_logging, print_json, safe, say
from flashevolve.cli.main import INTERRUPTED
from flashevolve.cli.progress import Progress
from flashevolve.cli.report import result_lines
from flashevolve.cli.screen import Screen, open_screen
from flashevolve.cli.signals import Interrupts, interrupts
from flashevolve.errors import RunStopped
from flashevolve.events import Record, RunResumed, RunStarted
from flashevolve.prepare import Prepared, models_in_words
from flashevolve.result import Result
from flashevolve.run import Run
from flashevolve.task import SPLITS

TICK_S = 0.25
"""Four frames a second are smooth enough for numbers."""


def drive(run: Run, *, as_json: bool) -> int:
    """Runs to the end and prints the result; returns the exit code."""
    configure_logging()
    progress = _progress(run)
    incoming: SimpleQueue[Record] = SimpleQueue()
    run.observe(incoming.put)
    with interrupts(run.stop) as asked, open_screen() as screen:
        run.start()
        while not run.wait(TICK_S):
            _show(screen, run, progress, incoming, asked)
        _show(screen, run, progress, incoming, asked)
    result = _result(run)
    sizes: dict[str, int] = {split: len(run.prepared.splits[split]) for split in SPLITS}
    _print(result, sizes, as_json=as_json)
    if asked.count and result.resumable:
        say(f"interrupted; continue with: flashevolve resume {run.dir}")
        return INTERRUPTED
    return 0


def _result(run: Run) -> Result:
    try:
        return run.result()
    except RunStopped as error:
        # The engine says "..., then resume the run" and does not know by which command.
        said = str(error).rstrip(".").removesuffix(", then resume the run")
        then = ". Then" if said == str(error).rstrip(".") else ", then"
        raise RunStopped(f"{said}{then}: flashevolve resume {run.dir}") from error


def _progress(run: Run) -> Progress:
    """Returns a fold of what the run's directory already holds."""
    settings = run.prepared.settings
    progress = Progress(
        limits=run.prepared.limits,
        deadline_s=settings.budget.seconds,
        max_requests=settings.limits.concurrency,
    )
    # Before the run opens its store: a process that writes a run must not read it otherwise.
    if rundir.holds_run(run.dir):
        for record in rundir.read_records(run.dir):
            progress.apply(record)
    return progress


def _show(
    screen: Screen,
    run: Run,
    progress: Progress,
    incoming: SimpleQueue[Record],
    asked: Interrupts,
) -> None:
    while True:
        try:
            record = incoming.get_nowait()
        except Empty:
            break
        progress.apply(record)
        if isinstance(record.event, RunStarted | RunResumed):
            for line in heading(run, resumed=isinstance(record.event, RunResumed)):
                screen.note(line)
    for line in asked.news():
        screen.note(line)
    view = progress.view()
    if view is not None and not run.done:
        screen.show(view)


def heading(run: Run, *, resumed: bool) -> list[str]:
    """Returns what is said once a run is under way: where it lives and what it is made of."""
    prepared = run.prepared
    settings = prepared.settings
    how = "resuming the run" if resumed else "new run"
    return [
        f"{how} in {run.dir}",
        f"{settings.algorithm}, policy {settings.policy}, schedule {settings.schedule}, "
        f"model {models_in_words(settings)}, seed {settings.seed}",
        f"data: {data_in_words(prepared)}",
    ]


def data_in_words(prepared: Prepared) -> str:
    """Returns the sizes of the splits, and how they came about."""
    splits = prepared.splits
    sizes = ", ".join(f"{len(splits[split])} {split}" for split in SPLITS)
    return f"{sizes} ({splits.note})" if splits.note else sizes


def _print(result: Result, sizes: dict[str, int], *, as_json: bool) -> None:
    data = result.to_json()
    if as_json:
        print_json(data)
    else:
        for line in result_lines(data, sizes):
            click.echo(safe(line))
        click.echo(f"the best artifact: flashevolve best {result.run_dir}")
    sys.stdout.flush()
