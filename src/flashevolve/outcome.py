"""Outcome: what running an artifact on one example gave.

A failure is an outcome too: `error` says what happened, `feedback` says it in words that a
reflecting model can use, and `score` is the task's failure score.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What calls cost. Tokens are counted as the endpoint reports them."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            usd=self.usd + other.usd,
        )

    @property
    def tokens(self) -> int:
        """Input plus output tokens."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Output, score, feedback, trace, usage and error of one evaluation."""

    score: float
    output: Any = None
    """JSON-serialisable; anything else is kept as its `repr`."""
    feedback: str = ""
    """What was right or wrong, in words; the reflecting model reads it."""
    trace: Any = None
    """JSON-serialisable record of how the output came about; None = output only."""
    usage: Usage = field(default_factory=Usage)
    """What user code spent through a client of its own, charged when the outcome is recorded;
    metered calls are not repeated here."""
    error: str | None = None
    """None, or one line on what failed."""
    objectives: Mapping[str, float] = field(default_factory=dict)
    """Objective -> score, higher is better; what frontiers other than "instance" go by."""


class Scored(NamedTuple):
    """What is kept of an outcome that later evaluations share."""

    score: float
    objectives: Mapping[str, float] = MappingProxyType({})


def as_text(output: Any) -> str:
    """Returns an output as the text that metrics look at: JSON, unless it is a text already."""
    if output is None or isinstance(output, str):
        return output or ""
    try:
        return json.dumps(output, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(output)
