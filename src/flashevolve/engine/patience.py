"""Patience: when what goes wrong in a stage stops the whole run.

One failed item or useless reply is data; a streak of them in one stage has a cause that going on
will not mend. Counted by stage: rollouts that succeed say nothing about a reflecting model that is
down.
"""

from collections.abc import Iterable
from typing import Any

from flashevolve.errors import RunStopped
from flashevolve.llm.errors import LLMError
from flashevolve.policies.stopping import USELESS_STREAK, FailureStreak

GO_ON = "Mend the cause, then resume the run"


class Patience:
    """Counts failures and useless replies by stage; returns what should stop the run, if any."""

    def __init__(self, stages: Iterable[str]) -> None:
        names = list(stages)
        self._failures = {name: FailureStreak() for name in names}
        self._useless = {name: FailureStreak(USELESS_STREAK) for name in names}

    def failed(self, stage: str, error: LLMError) -> RunStopped | None:
        """Notes that an item failed."""
        streak = self._failures[stage]
        # By kind alone: many endpoints put the request's id into their text.
        if not streak.failed(error.kind):
            return None
        alike = f"the last {streak.n} steps failed the same way, in stage {stage!r}"
        return RunStopped(f"{alike}: {error.kind}: {error}. {GO_ON}")

    def replied(self, stage: str, result: Any) -> RunStopped | None:
        """Notes what a stage returned, which may say that a model's reply was of no use."""
        self._failures[stage].succeeded()
        streak = self._useless[stage]
        if not getattr(result, "useless", False):
            streak.succeeded()
            return None
        if not streak.failed("useless"):
            return None
        if hint := getattr(result, "hint", ""):
            alike = f"the last {streak.n} steps came to nothing in stage {stage!r}"
            return RunStopped(f"{alike}: {result.reason}. {hint}, then resume the run")
        what = f"the last {streak.n} replies in stage {stage!r} were of no use: {result.reason}"
        hint = "Does the model follow its prompt? Is max_output_tokens large enough?"
        return RunStopped(f"{what}. {hint} {GO_ON}")
