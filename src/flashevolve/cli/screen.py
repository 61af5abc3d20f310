"""Screens: where a run's progress is shown. A live one on a terminal, plain lines elsewhere.

Both write to stderr only: stdout belongs to the result.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from flashevolve.cli.console import one_line, say
from flashevolve.cli.progress import BudgetView, View
from flashevolve.cli.report import answerers, counts, duration, money, number, score
from flashevolve.engine.state import REAL

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PLAIN_EVERY_S = 10.0
"""Often enough to see that a run is alive, rarely enough for a log file."""


class Screen(Protocol):
    """Something that shows views."""

    def show(self, view: View) -> None:
        """Shows a view; called a few times a second."""
        ...

    def note(self, line: str) -> None:
        """Shows one line that stays."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def open_screen() -> Screen:
    """Returns the screen that fits where stderr goes."""
    return LiveScreen() if sys.stderr.isatty() else PlainScreen()


class PlainScreen:
    """A line whenever the best score changes, and every ten seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_s = clock()
        self._best: float | None = None

    def show(self, view: View) -> None:
        """Prints a line if there is news."""
        now_s = self._clock()
        if view.best_score == self._best and now_s - self._last_s < PLAIN_EVERY_S:
            return
        self._best, self._last_s = view.best_score, now_s
        say(status_line(view))

    def note(self, line: str) -> None:
        """Prints the line."""
        say(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Does nothing: every line is already out."""


class LiveScreen:
    """A block that is redrawn in place."""

    def __init__(self, console: "Console | None" = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(
            console=console or Console(stderr=True), auto_refresh=False, transient=True
        )

    def show(self, view: View) -> None:
        """Redraws."""
        self._live.update(render(view), refresh=True)

    def note(self, line: str) -> None:
        """Prints the line above the block."""
        from rich.text import Text

        self._live.console.print(Text(one_line(line)))

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Takes the block away, also when something went wrong."""
        self._live.stop()


def status_line(view: View) -> str:
    """Returns a view as one line."""
    parts = [
        f"[{_time(view)}] {view.phase}",
        f"best {score(view.best_score)} (seed {score(view.seed_score)})",
        *(_budget(budget) for budget in view.budgets),
        f"in flight: steps {view.in_flight}, requests {view.requests}",
        money(view.usd),
        _answers(view),
    ]
    return "  ".join(part for part in parts if part)


def render(view: View) -> "RenderableType":
    """Returns a view as a block for rich."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    stages = Table(box=None, pad_edge=False)
    for heading in ("stage", "queued", "running", "done", "mean"):
        stages.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage in view.stages:
        cells = (str(stage.queued), str(stage.running), str(stage.done), duration(stage.mean_s))
        stages.add_row(Text(one_line(stage.name)), *cells)
    lines = Text()
    for label, value in _facts(view):
        lines.append(f"{label:<9}", style="dim")
        lines.append(f"{one_line(value)}\n")
    return Group(stages, Text(), lines)


def _facts(view: View) -> list[tuple[str, str]]:
    best = f"{score(view.best_score)}, seed {score(view.seed_score)}"
    if view.best_id is not None:
        best += f" (candidate {view.best_id} of {view.n_candidates})"
    allowed = ", ".join(f"{n} on {name}" if name else str(n) for name, n in view.limits.items())
    facts = [
        ("state", f"{view.phase}, {_time(view)}"),
        ("best", best),
        ("steps", f"{view.in_flight} in flight, pool version {view.version}"),
        ("gap", " ".join(map(str, view.gaps)) or "not checked yet"),
        ("requests", f"{view.requests} in flight, at most {allowed or '?'}"),
        ("counts", counts(view.counters)),
        ("budget", ", ".join(_budget(budget) for budget in view.budgets)),
        ("cost", f"{money(view.usd)}, {number(view.n_calls)} calls"),
        ("answers", _answers(view)),
    ]
    return [(label, value) for label, value in facts if value]


def _time(view: View) -> str:
    return f"{duration(view.t_s)} simulated" if view.started.simulated else duration(view.t_s)


def _answers(view: View) -> str:
    """Returns what must be said of the answers; empty if no simulated world gave any."""
    if all(by == REAL for by in view.answered_by):
        return ""
    verdict = "mixed" if len(view.answered_by) > 1 else "predictions"
    return f"{verdict}: {answerers(view.answered_by)} answered"


def _budget(budget: BudgetView) -> str:
    name = budget.name.replace("_", " ")
    if budget.name == "usd":
        return f"{money(budget.spent)} of {money(budget.limit)}"
    spent = round(budget.spent) if budget.name == "seconds" else budget.spent
    held = f" (+{number(budget.reserved)} reserved)" if budget.reserved else ""
    return f"{number(spent)}{held} of {number(budget.limit)} {name}"
