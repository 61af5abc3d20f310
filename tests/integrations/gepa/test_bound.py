"""Errors that come of the thread, as Python words them today."""

import asyncio
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from flashevolve.integrations.gepa.bound import WHY, note_thread


def raised_in_a_thread(function: Callable[[], Any]) -> BaseException:
    """Returns what `function` raises there."""
    caught: list[BaseException] = []

    def work() -> None:
        try:
            function()
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    (error,) = caught
    return error


def notes_of(error: BaseException) -> list[str]:
    for _ in range(2):  # The second adds nothing.
        note_thread(error)
    return getattr(error, "__notes__", [])


def test_a_connection_of_another_thread_is_told_where_to_open_it() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        error = raised_in_a_thread(lambda: connection.execute("select 1"))
    (note,) = notes_of(error)
    assert note.startswith(f"{WHY}. Open the connection inside")


@pytest.mark.parametrize(
    ("function", "step"),
    [
        (lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), "give your client a timeout"),
        (asyncio.get_event_loop, "asyncio.run"),
    ],
    ids=["signal", "loop"],
)
def test_what_needs_the_main_thread_is_told_what_to_use(
    function: Callable[[], Any], step: str
) -> None:
    (note,) = notes_of(raised_in_a_thread(function))
    assert note.startswith(WHY)
    assert step in note


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no such signal"),
        sqlite3.ProgrammingError("Cannot operate on a closed database."),
        RuntimeError("signal only works in main thread"),
    ],
)
def test_other_errors_stay_as_they_are(error: Exception) -> None:
    assert notes_of(error) == []
