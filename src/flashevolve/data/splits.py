"""Splits: one set of examples becomes three, disjoint, by a seed of its own.

The same rows, shares and seed give the same split, whatever the run's seed. Each split keeps the
order of the file.
"""

from collections.abc import Sequence
from random import Random

from flashevolve.config.settings import DataSettings
from flashevolve.data.loaders import Row, Splits, examples, load_splits, rows
from flashevolve.errors import ConfigError, DataError
from flashevolve.task import SPLITS


def load_data(settings: DataSettings) -> Splits:
    """Loads what `[data]` names. Raises `ConfigError` if it names too little or too much."""
    files = [name for name in SPLITS if getattr(settings, name) is not None]
    if settings.path is not None:
        if files:
            raise ConfigError(
                f"data: expected either path or train, val and test, found path and "
                f"{', '.join(files)}. Remove one"
            )
        found = rows(settings.path)
        return split(found, settings.split, settings.split_seed, id_field=settings.id)
    if settings.train is None or settings.val is None:
        raise ConfigError(
            f"data: expected train and val, or path, found {', '.join(files) or 'none'}. For "
            f"example --data.train train.jsonl --data.val val.jsonl, or --data.path all.csv"
        )
    return load_splits(settings.train, settings.val, settings.test, id_field=settings.id)


def split(
    found: Sequence[Row], shares: Sequence[float], seed: int, *, id_field: str = "id"
) -> Splits:
    """Splits rows into train, val and test by `shares`, which may sum to anything above 0.

    Only the test share may be 0. Raises `DataError` if a split would be empty.
    """
    sizes = _sizes(len(found), shares)
    for name, share, size in zip(SPLITS, shares, sizes, strict=True):
        if size == 0 and (share > 0 or name != "test"):
            raise DataError(
                f"data.split: {len(found)} examples by shares {list(shares)} leave {name} without "
                f"any. Expected a larger share, or more data"
            )
    made = examples(found, id_field=id_field)
    order = list(range(len(made)))
    Random(f"split/{seed}").shuffle(order)
    parts, start = [], 0
    for size in sizes:
        parts.append(tuple(made[i] for i in sorted(order[start : start + size])))
        start += size
    train, val, test = parts
    return Splits(train=train, val=val, test=test, note=f"split with split_seed {seed}")


def _sizes(n: int, shares: Sequence[float]) -> list[int]:
    """Rounds by largest remainder, so that the sizes sum to `n`."""
    total = sum(shares)
    if total <= 0:
        raise DataError(f"data.split: expected shares above 0, found {list(shares)}")
    exact = [n * share / total for share in shares]
    sizes = [int(size) for size in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda i: (sizes[i] - exact[i], i))
    for i in by_remainder[: n - sum(sizes)]:
        sizes[i] += 1
    return sizes
