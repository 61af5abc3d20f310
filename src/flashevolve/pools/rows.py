"""Score rows: one candidate's scores in a byte or eight each, as a mapping.

A pool that never evicts keeps the scores of every candidate, nearly all of them on the same
examples; dictionaries of their own would be most of a long run's memory. Rows share the ids, and
the values too as long as these are few, as with most metrics.
"""

from array import array
from collections.abc import Iterable, Iterator, KeysView, Mapping

N_VALUES = 256
"""Distinct scores that are numbered: one byte tells which."""


class Palette:
    """Distinct scores in the order in which they were met, the first `N_VALUES` of them."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._places: dict[float, int] = {}

    def place(self, score: float) -> int | None:
        """Returns the score's place in `values`, which gets it if need be; None = it is full."""
        place = self._places.get(score)
        if place is None and len(self.values) < N_VALUES:
            place = self._places[score] = len(self.values)
            self.values.append(score)
        return place

    def places(self, scores: Iterable[float]) -> bytes | None:
        """Returns a place for each score; None if one of them has none."""
        found = bytearray()
        for score in scores:
            if (place := self.place(score)) is None:
                return None
            found.append(place)
        return bytes(found)


class ScoreRow(Mapping[str, float]):
    """Example id -> score, in ascending order of ids; immutable, equal to any equal mapping."""

    __slots__ = ("_index", "_palette", "_places", "_values")

    def __init__(self, scores: Mapping[str, float], like: "ScoreRow | None" = None) -> None:
        """`like`: a row whose values are shared, and its ids if they are the same."""
        ids = sorted(scores)
        shared = like is not None and ids == list(like)
        self._index: dict[str, int] = like._index if like and shared else _places(ids)
        self._palette: Palette = Palette() if like is None else like._palette
        values = [float(scores[i]) for i in ids]
        self._places = self._palette.places(values)
        """None = the values stand for themselves."""
        self._values = array("d", values) if self._places is None else None

    def __getitem__(self, example: str) -> float:
        place = self._index[example]
        if self._places is not None:
            return self._palette.values[self._places[place]]
        assert self._values is not None
        return self._values[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"ScoreRow({dict(self)})"

    def keys(self) -> KeysView[str]:
        """Returns the ids, as a set with the speed of a dictionary's."""
        return self._index.keys()


def _places(ids: list[str]) -> dict[str, int]:
    return {example: place for place, example in enumerate(ids)}
