"""What an optimizer says that it found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Evolved:
    """The outcome of one call of an optimizer."""

    candidates: tuple[tuple[int, float], ...]
    """(metric calls made when it had its scores, mean on validation), in order of discovery."""
    best: Mapping[str, str]
    program: Any = field(default=None, compare=False)
    """The program that was made, where the client makes one."""
