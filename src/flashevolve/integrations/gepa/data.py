"""Data: gepa's training and validation instances under ids of ours.

An instance may be any Python object. It never enters a log: an example of ours holds its id and a
digest, and a `Table` leads from there to the loader. Ids differ between splits even where gepa's
are the same, so that no score of one can be taken for one of the other.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

from flashevolve.errors import DataError
from flashevolve.task import Example, Split


@dataclass(frozen=True)
class Table:
    """One split's instances."""

    split: Split
    loader: Any
    """gepa's `DataLoader`."""
    ids: Mapping[str, Any]
    """Our id -> gepa's, in the loader's order; fixed when the run begins."""
    ours: Mapping[Any, str] = field(init=False, repr=False)
    """gepa's id -> ours."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ours", {theirs: ours for ours, theirs in self.ids.items()})

    def fetch(self, ids: Sequence[str]) -> list[Any]:
        """Returns the instances of our `ids`, in their order."""
        found = list(self.loader.fetch([self.ids[i] for i in ids]))
        if len(found) != len(ids):
            raise DataError(
                f"{self.split}set: expected fetch to return {len(ids)} instances, found "
                f"{len(found)}. Mend the loader"
            )
        return found

    def examples(self) -> tuple[Example, ...]:
        """Returns an example for each instance: its id, and a digest by which a resume knows it."""
        return tuple(
            Example(id=ours, data={"digest": _digest(ours, instance)}, place=f"{self.split}set")
            for ours, instance in zip(self.ids, self.fetch(list(self.ids)), strict=True)
        )


def table(split: Split, given: Any) -> Table:
    """Returns the table of a sequence or `DataLoader`. Raises `DataError` if it is neither."""
    from gepa.core.data_loader import ensure_loader

    name = f"{split}set"
    try:
        loader = ensure_loader(given)
    except TypeError:
        raise DataError(
            f"{name}: expected a list, or a DataLoader with all_ids and fetch, found "
            f"{type(given).__name__}"
        ) from None
    ids: dict[str, Any] = {}
    for theirs in loader.all_ids():
        ours = f"{split}/{theirs}"
        if ours in ids:
            ours = f"{ours}#{len(ids)}"
        ids[ours] = theirs
    if not ids:
        raise DataError(f"{name}: expected at least one instance, found none")
    return Table(split, loader, ids)


def _digest(example_id: str, instance: Any) -> str:
    """Returns 16 hexadecimal digits over id and content, alike in every process."""
    text = json.dumps([example_id, _plain(instance, 0)], sort_keys=True)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


MAX_DEPTH = 8
"""Deeper parts of an instance count by their type: an object may refer to itself."""


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = type(value).__qualname__
    if depth >= MAX_DEPTH:
        return kind
    if isinstance(value, Mapping):
        return {str(k): _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, depth + 1) for v in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_plain(v, depth + 1), sort_keys=True) for v in value)
    if is_dataclass(value) and not isinstance(value, type):
        return [kind, _plain(asdict(value), depth + 1)]
    # What an object holds tells it apart; its repr may hold an address.
    return [kind, _plain(getattr(value, "__dict__", {}), depth + 1)]
