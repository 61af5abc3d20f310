"""Keeping: what an adapter that has a state of its own wants to find again after a resume.

gepa asks `get_adapter_state()` before it saves and calls `set_adapter_state(state)` when it goes
on. Here it is asked after each call, in the thread of that call, so that nobody else is inside
unless the adapter allows it; what it said last is written as JSON beside the run's store when a
step has ended, and handed back before the first call.
"""

import json
import os
from pathlib import Path
from typing import Any

from flashevolve.errors import TaskError

STATE_FILE = "adapter_state.json"


def restore(adapter: Any, directory: Path) -> Any:
    """Hands an adapter the state that was kept; returns it, None if there is none."""
    path, give = directory / STATE_FILE, getattr(adapter, "set_adapter_state", None)
    if not callable(give) or not path.exists():
        return None
    try:
        state = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise TaskError(
            f"{path}: expected the adapter's state as JSON, found {error}. Remove the file to go "
            "on without it"
        ) from None
    give(state)
    return state


def taken(adapter: Any) -> str | None:
    """Returns an adapter's state as JSON; None if it has none. Raises `TaskError`."""
    ask = getattr(adapter, "get_adapter_state", None)
    state = ask() if callable(ask) else None
    if state is None:
        return None
    try:
        return json.dumps(state, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TaskError(
            "get_adapter_state: expected what JSON can hold, so that a resume finds it, found "
            f"{type(state).__name__}: {error}. Mend the adapter"
        ) from None


def keep(text: str, directory: Path) -> None:
    """Writes an adapter's state, whole or not at all."""
    part = directory / f"{STATE_FILE}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(directory / STATE_FILE)
