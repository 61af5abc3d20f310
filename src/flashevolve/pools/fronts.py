"""Fronts: for each of some keys, the candidates at the highest score that was seen on it.

What the keys are is the frontier's: validation examples ("instance"), objectives, with a
candidate's mean on each ("objective"), both side by side ("hybrid"), or every objective on every
example ("cartesian"). They are gepa's four.

Invariants: a front is ascending by id and never empty; keys are ascending; both follow from the
candidates alone, whatever the order in which they joined.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from flashevolve.candidate import Candidate
from flashevolve.objectives import mean_objectives

Frontier = Literal["instance", "objective", "hybrid", "cartesian"]
FrontKey = str | tuple[str, str]
"""An example's id under "instance", an objective under "objective", ("example", id) or
("objective", name) under "hybrid", (example id, objective) under "cartesian"."""

Objectives = Mapping[str, Mapping[str, float]]
"""Example id -> objective -> score."""


def keyed(
    frontier: Frontier,
    scores: Mapping[str, float],
    objectives: Objectives,
    *,
    whole: bool = True,
) -> Mapping[FrontKey, float]:
    """Returns what a candidate has on each key of the frontier.

    If it is not `whole`, since some of its scores are still to come, its means are left out: the
    first examples may be easier than the rest.
    """
    match frontier:
        case "instance":
            return scores  # type: ignore[return-value]  # a mapping's keys are invariant
        case "objective":
            return _means(objectives) if whole else {}  # type: ignore[return-value]
        case "hybrid":
            found: dict[FrontKey, float] = {("example", e): s for e, s in scores.items()}
            means = _means(objectives) if whole else {}
            return found | {("objective", name): mean for name, mean in means.items()}
        case "cartesian":
            return {(e, name): s for e, named in objectives.items() for name, s in named.items()}


def _means(objectives: Objectives) -> dict[str, float]:
    return mean_objectives(objectives.values())


class FrontIndex:
    """Fronts and top scores, kept up as candidates join. Nobody leaves."""

    def __init__(self, frontier: Frontier = "instance") -> None:
        self.frontier = frontier
        self.fronts: dict[FrontKey, tuple[int, ...]] = {}
        self.tops: dict[FrontKey, float] = {}

    def join(self, candidate: Candidate, *, whole: bool = True) -> None:
        """Enters a candidate with all its scores; those of one that is not `whole` are some."""
        met_before = len(self.fronts)
        scores = keyed(self.frontier, candidate.scores, candidate.objectives, whole=whole)
        for key, score in scores.items():
            top = self.tops.get(key)
            if top is None or score > top:
                self.tops[key] = score
                self.fronts[key] = (candidate.id,)
            elif score == top:
                front = self.fronts[key]
                late = candidate.id < front[-1]
                joined = (*front, candidate.id)
                self.fronts[key] = tuple(sorted(joined)) if late else joined
        if len(self.fronts) > met_before:
            self.fronts = dict(sorted(self.fronts.items()))
            self.tops = dict(sorted(self.tops.items()))

    def copy(self) -> "FrontIndex":
        """Returns an index in the same state, which changes apart from this one."""
        twin = FrontIndex(self.frontier)
        twin.fronts, twin.tops = dict(self.fronts), dict(self.tops)
        return twin

    def with_guests(self, guests: Iterable[Candidate]) -> dict[FrontKey, tuple[int, ...]]:
        """Returns the fronts as they would be with some more candidates, who do not join."""
        preview = self.copy()
        for guest in guests:
            preview.join(guest, whole=False)
        return preview.fronts
