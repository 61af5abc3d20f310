"""Signals: the first asks a run to drain, the second cancels it, the third ends the process.

The handler only counts and passes the wish on; what it means is told by whoever owns the screen.
At the third the store is as safe as after a kill: committed events stay, the run can be resumed.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

WHAT_HAPPENS = {
    1: "stopping: steps under way finish, nothing new starts; Ctrl-C again cancels them",
    2: "cancelling: cleaning up; Ctrl-C again exits at once",
}
EXIT_CODE = 130
LAST_WORDS = b"\nexiting at once; what was recorded is safe and the run can be resumed\n"
SHOW_CURSOR = b"\x1b[?25h"
"""A live screen hides it, and has no time to bring it back."""


class Interrupts:
    """How often the user asked to stop."""

    def __init__(self, stop: Callable[[], None], leave: Callable[[int], None] = os._exit) -> None:
        self.count = 0
        self._stop = stop
        self._leave = leave
        self._told = 0

    def __call__(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Takes one signal."""
        self.count += 1
        if self.count in WHAT_HAPPENS:
            self._stop()
            return
        # Not through Python's own streams: the signal may have come in the middle of a write.
        os.write(2, SHOW_CURSOR + LAST_WORDS if os.isatty(2) else LAST_WORDS)
        self._leave(EXIT_CODE)

    def news(self) -> list[str]:
        """Returns a line for each signal since the last call."""
        lines = [WHAT_HAPPENS[n] for n in range(self._told + 1, self.count + 1)]
        self._told = self.count
        return lines


@contextmanager
def interrupts(stop: Callable[[], None]) -> Iterator[Interrupts]:
    """Counts SIGINT and SIGTERM while the block runs; `stop` is called at the first and second."""
    counter = Interrupts(stop)
    before = {number: signal.signal(number, counter) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield counter
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
