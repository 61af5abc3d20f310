"""Merging: one text out of several.

The statements of all texts compete for the reader's attention. Two that say the same join, and what
is said more often is likelier to be noticed. What comes through is written down with the omissions
and misreadings of any rewriting; omissions grow with all that was read, so that merging many texts
at once loses what merging few keeps.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

from flashevolve.simulate.attention import ReaderParameters
from flashevolve.simulate.lessons import SAME
from flashevolve.simulate.reflecting import rewrite
from flashevolve.simulate.statements import relatedness, split, statement

COMPARING = 2
"""Texts side by side get this multiple of the capacity: they are gone through line by line."""


@dataclass(frozen=True)
class Point:
    """Something that one or more of the texts say."""

    wordings: list[str]
    """One per mention."""

    @property
    def said(self) -> str:
        """Its most frequent wording, the first of several."""
        return max(self.wordings, key=self.wordings.count)


def merge(texts: Iterable[str], rng: random.Random, parameters: ReaderParameters) -> str:
    """Returns one text that holds what was noticed of all."""
    points = join(said for text in texts for said in split(text))
    room = COMPARING * parameters.capacity_statements
    arrivals = sorted(
        (-math.log(1.0 - rng.random()) / len(point.wordings), place)
        for place, point in enumerate(points)
    )
    noticed = sorted(place for _, place in arrivals[:room])
    kept = rewrite([points[place].said for place in noticed], rng, parameters, len(points))
    return "\n".join(dict.fromkeys(kept)) or "\n".join(points[p].said for p in noticed[:1])


def join(statements: Iterable[str]) -> list[Point]:
    """Returns the distinct points in the order of their first mention."""
    points: list[Point] = []
    for said in statements:
        one = statement(said)
        for point in points:
            first = point.wordings[0]
            if said == first or relatedness(one, statement(first)) >= SAME:
                point.wordings.append(said)
                break
        else:
            points.append(Point([said]))
    return points
