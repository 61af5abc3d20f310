import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from flashevolve.cli.progress import BudgetView, Progress, StageView, View
from flashevolve.cli.screen import LiveScreen, PlainScreen, open_screen, render, status_line
from flashevolve.rundir import read_records

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def view(finished: Path) -> View:
    progress = Progress(limits={"metric_calls": 120}, max_requests=4)
    for record in list(read_records(finished))[:-20]:
        progress.apply(record)
    shown = progress.view()
    assert shown is not None
    return shown


def drawn(view: View, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(render(view))
    return out.getvalue()


def test_the_block_shows_stages_gap_best_budget_and_cost(view: View) -> None:
    block = drawn(view)
    for part in ("queued", "rollout", "evaluate", "best", "gap", "of 120 metric calls", "$0.00"):
        assert part in block
    assert f"{view.best_score:.4f}" in block
    assert "simulated" in block


def test_the_block_is_safe_and_one_line_a_row_whatever_a_name_holds(view: View) -> None:
    name = "a\x1b[2Jb\n[bold]c"
    stage = StageView(name=name, queued=1, running=2, done=3, busy_s=6.0, waited_s=0.0)
    block = drawn(replace(view, stages=(stage,), phase=name))
    assert "\x1b" not in block
    assert "a\\x1b[2Jb [bold]c" in block


def test_a_money_budget_is_shown_in_dollars(view: View) -> None:
    budget = BudgetView(name="usd", spent=0.0012, reserved=0.1, limit=5)
    assert "$0.0012 of $5.00" in drawn(replace(view, budgets=(budget,)))


def test_plain_lines_come_with_a_better_score_and_every_ten_seconds(
    view: View, capsys: Capture
) -> None:
    now_s = 0.0
    screen = PlainScreen(clock=lambda: now_s)
    shown = []
    for now_s, best in ((0.0, 0.5), (1.0, 0.5), (2.0, 0.7), (11.9, 0.7), (12.0, 0.7)):  # noqa: B007
        screen.show(replace(view, best_score=best))
        shown.append(len(capsys.readouterr().err.splitlines()))
    assert shown == [1, 0, 1, 0, 1]


def test_a_plain_line_says_when_time_is_simulated(view: View) -> None:
    assert status_line(view).startswith("[")
    assert "simulated]" in status_line(view)
    real = replace(view, started=replace(view.started, simulated=False), answered_by=("real",))
    assert "simulated" not in status_line(real)
    assert "simulated" not in drawn(real)


@pytest.mark.parametrize(
    ("answered_by", "said"),
    [
        (("0123456789ab",), "predictions: simulated world 0123456789ab answered"),
        (("0123456789ab", "real"), "mixed: simulated world 0123456789ab and real models answered"),
    ],
)
def test_answers_of_a_simulated_endpoint_are_told_beside_real_time(
    view: View, answered_by: tuple[str, ...], said: str
) -> None:
    started = replace(view.started, simulated=False)
    served = replace(view, started=started, answered_by=answered_by)
    assert "simulated]" not in status_line(served)
    assert status_line(served).endswith(said)
    assert said in drawn(served)


def test_without_a_terminal_the_screen_is_plain(capsys: Capture) -> None:
    with open_screen() as screen:
        assert isinstance(screen, PlainScreen)
        screen.note("hello \x1b[31m")
    assert capsys.readouterr() == ("", "hello \\x1b[31m\n")


def test_the_live_screen_takes_its_block_away_and_keeps_notes(view: View) -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, height=40, force_terminal=True, color_system=None)
    with LiveScreen(console) as screen:
        screen.show(view)
        screen.note("new run \x1b[2J in runs/x")
    text = out.getvalue()
    assert "new run \\x1b[2J in runs/x" in text
    assert "rollout" in text
    assert text.endswith("\x1b[2K")  # the last thing it does is to erase its last line
