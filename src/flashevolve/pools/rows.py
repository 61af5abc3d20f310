"""Score rows: one candidate's scores in eight bytes each, as a mapping.

A pool that never evicts keeps the scores of every candidate, nearly all of them on the same
examples; dictionaries of their own would be most of a long run's memory. Rows share the ids.
"""

from array import array
from collections.abc import Iterator, KeysView, Mapping


class ScoreRow(Mapping[str, float]):
    """Example id -> score, in ascending order of ids; immutable, equal to any equal mapping."""

    __slots__ = ("_index", "_values")

    def __init__(self, scores: Mapping[str, float], like: "ScoreRow | None" = None) -> None:
        """`like`: a row whose ids are shared if they are the same."""
        ids = sorted(scores)
        shared = like is not None and ids == list(like)
        self._index: dict[str, int] = like._index if like and shared else _places(ids)
        self._values = array("d", (float(scores[i]) for i in ids))

    def __getitem__(self, example: str) -> float:
        return self._values[self._index[example]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"ScoreRow({dict(self)})"

    def keys(self) -> KeysView[str]:
        """Returns the ids, as a set with the speed of a dictionary's."""
        return self._index.keys()


def _places(ids: list[str]) -> dict[str, int]:
    return {example: place for place, example in enumerate(ids)}
