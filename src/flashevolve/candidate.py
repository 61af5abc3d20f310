"""Candidate: an artifact in the pool.

Candidates are never edited: a pool replaces one by a changed copy. `scores` is keyed by example id,
never by position, so nothing depends on the order in which examples were evaluated. A speculative
candidate has only some of its scores; `best` and results know confirmed ones alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from flashevolve.artifact import Artifact

Status = Literal["speculative", "confirmed", "retracted", "evicted"]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An artifact that was admitted to the pool."""

    id: int
    """Order of admission; the seed is 0. Never reused."""
    artifact: Artifact
    parents: tuple[int, ...] = ()
    """Ids of the candidates it was made from; empty only for the seed."""
    scores: Mapping[str, float]
    """Validation example id -> score."""
    objectives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Validation example id -> objective -> score; examples without objectives are left out."""
    ticket: int = 0
    """The item whose commit admitted it."""
    status: Status = "confirmed"
    """Speculative = its sweep goes on; retracted = it keeps its id and has no standing."""
    reference: int | None = None
    """The best confirmed candidate when this one was inserted as speculative, which it has to
    beat; None = there was none, since it never was speculative or is the first, put in unscored."""

    @property
    def mean(self) -> float:
        """Mean validation score over the evaluated examples; -inf if there is none."""
        return fmean(self.scores.values()) if self.scores else float("-inf")
