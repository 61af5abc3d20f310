"""Brief and findings: what a process that runs one client is told, and what it tells.

Flat JSON both ways, since the process runs other people's code, which prints what it likes.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MODEL = "reader"
"""What clients call the endpoint's model."""


@dataclass(frozen=True, kw_only=True)
class Brief:
    """What one client is to do."""

    client: str
    """A name of `clients.CLIENTS`."""
    parents: int
    """P of a step of P x N proposals; clients that take no steps leave both aside."""
    proposals: int
    seed: int
    n_train: int
    n_val: int
    n_test: int
    metric_calls: int
    slots: int
    urls: Mapping[str, str]
    """Role -> base URL."""
    folder: str
    """Where the client may keep what it likes."""

    @property
    def path(self) -> Path:
        """`folder`, as a path."""
        return Path(self.folder)

    def to_json(self) -> str:
        """Returns it as the process takes it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Brief":
        """Returns what `to_json` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a client came to."""

    began_s: float
    """When it was called; seconds of the machine's monotonic clock."""
    ended_s: float
    cpu_s: float
    """Of the process and its children, between the two."""
    peak_mb: float | None
    """Largest resident memory of the process, imports included; None where it cannot be told."""
    loaded_mb: float | None = None
    """Resident memory just before the client was called: what imports and examples take."""
    client_peak_mb: float | None = None
    """Largest resident memory from then on, until the client was done."""
    candidates: tuple[tuple[int, float], ...]
    """(metric calls made when it had its scores, mean on validation), in order of discovery."""
    best: Mapping[str, str]
    test: float
    """Mean of the best one on test."""
    seed_test: float

    def to_json(self) -> str:
        """Returns it as the process writes it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Found":
        """Returns what `to_json` wrote."""
        data: dict[str, Any] = json.loads(text)
        found = tuple((int(n), float(mean)) for n, mean in data.pop("candidates"))
        return cls(candidates=found, **data)
