"""Staffing: what the fold knows of workers. A part of `RunState`, changed by events alone.

`written` counts what each stage passed on or committed; `workers` holds the numbers that control
decided on, and forgets them when a process begins with other limits or another control, since what
was found under the old settings need not be within the bounds of the new ones.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from flashevolve import events as ev

TABLES = ("limits", "control")


@dataclass
class Staffing:
    """Workers by stage, where they are not as the settings have them."""

    workers: dict[str, int] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    """Items that each stage has passed on or committed."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The tables that decide on workers, as the last process to begin had them."""

    def begin(self, changes: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """A process begins with the run's configuration, but for `changes`."""
        settings = {table: changes.get(table, config.get(table)) for table in TABLES}
        if settings != self.settings:
            self.workers = {}
        self.settings = settings

    def ended(self, event: ev.ItemEnded) -> None:
        """An item ended; one that was committed is what its last stage wrote."""
        if event.outcome == "committed" and event.stage is not None:
            self.written[event.stage] += 1

    def dump(self) -> dict[str, Any]:
        """Returns it as JSON-serialisable data."""
        return {
            "workers": dict(self.workers),
            "written": dict(self.written),
            "settings": dict(self.settings),
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Self:
        """Returns what `dump` described; from an older snapshot, which has none, nothing."""
        return cls(
            dict(data.get("workers", {})),
            Counter(data.get("written", {})),
            dict(data.get("settings", {})),
        )
