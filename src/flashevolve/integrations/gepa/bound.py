"""Bound: errors of code that works only in the thread which made it, or in the main thread.

gepa calls an adapter in the thread that called `optimize`; we call it in threads of our own, since
that one waits for the run. The few things that mind say so in words that name no way out.
"""

import sqlite3

WHY = "flashevolve calls your code in threads of its own, not in the one that called it"


def note_thread(error: BaseException) -> None:
    """Adds a note with the next step to an error that comes of the thread; to others none.

    It may be called more than once with one error.
    """
    step = _next_step(error)
    if step is None:
        return
    note = f"{WHY}. {step}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _next_step(error: BaseException) -> str | None:
    said = str(error)
    if isinstance(error, sqlite3.ProgrammingError) and "created in a thread" in said:
        return (
            "Open the connection inside the function that uses it, or with check_same_thread=False "
            "if only one thread at a time is in it"
        )
    if isinstance(error, ValueError) and "signal only works in main thread" in said:
        return (
            "Signals reach the main thread alone: for a time limit, give your client a timeout, or "
            "run the work in a subprocess with subprocess.run(..., timeout=...)"
        )
    if isinstance(error, RuntimeError) and "no current event loop in thread" in said:
        return "Start a loop inside the function that needs one: asyncio.run(...)"
    return None
