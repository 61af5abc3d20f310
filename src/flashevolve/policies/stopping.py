"""Stopping: when the same failure again and again means that going on is pointless.

Pure. One failure is data; five alike with nothing in between are a cause.
"""

from dataclasses import dataclass

STREAK = 5
"""Failures alike, one after the other, that stop a run."""
USELESS_STREAK = 10
"""Replies of no use, one after the other, that stop a run. Twice the other: a weak model may well
fail every fifth time, and then ten in a row come once in ten million."""


@dataclass
class FailureStreak:
    """Counts failures with the same message that follow each other without a success."""

    limit: int = STREAK
    message: str = ""
    n: int = 0

    def failed(self, message: str) -> bool:
        """Notes a failure; True when it is the last straw."""
        self.n = self.n + 1 if message == self.message else 1
        self.message = message
        return self.n >= self.limit

    def succeeded(self) -> None:
        """Notes a success, which ends the streak."""
        self.n = 0
        self.message = ""
