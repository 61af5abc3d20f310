"""Fronts: for each example, the candidates at the highest score that was seen on it.

Invariants: a front is ascending by id and never empty; examples are ascending; both follow from the
candidates alone, whatever the order in which they joined.
"""

from collections.abc import Iterable

from flashevolve.candidate import Candidate


class FrontIndex:
    """Fronts and top scores, kept up as candidates join. Nobody leaves."""

    def __init__(self) -> None:
        self.fronts: dict[str, tuple[int, ...]] = {}
        self.tops: dict[str, float] = {}

    def join(self, candidate: Candidate) -> None:
        """Enters a candidate with all its scores."""
        met_before = len(self.fronts)
        for example, score in candidate.scores.items():
            top = self.tops.get(example)
            if top is None or score > top:
                self.tops[example] = score
                self.fronts[example] = (candidate.id,)
            elif score == top:
                front = self.fronts[example]
                late = candidate.id < front[-1]
                joined = (*front, candidate.id)
                self.fronts[example] = tuple(sorted(joined)) if late else joined
        if len(self.fronts) > met_before:
            self.fronts = dict(sorted(self.fronts.items()))
            self.tops = dict(sorted(self.tops.items()))

    def copy(self) -> "FrontIndex":
        """Returns an index in the same state, which changes apart from this one."""
        twin = FrontIndex()
        twin.fronts, twin.tops = dict(self.fronts), dict(self.tops)
        return twin

    def with_guests(self, guests: Iterable[Candidate]) -> dict[str, tuple[int, ...]]:
        """Returns the fronts as they would be with some more candidates, who do not join."""
        preview = self.copy()
        for guest in guests:
            preview.join(guest)
        return preview.fronts
