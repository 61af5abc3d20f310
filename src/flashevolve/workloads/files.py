"""Files: how made examples are written, one file a split. The same rows give the same bytes."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashevolve.errors import DataError


def check_sizes(sizes: Mapping[str, int], most: int) -> None:
    """Raises `DataError` for a split's size that is out of range."""
    if min(sizes.values()) < 0 or max(sizes.values()) > most:
        raise DataError(f"expected split sizes from 0 to {most}, found {dict(sizes)}")


def write_rows(
    directory: str | Path,
    made: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    lists: Collection[str] = (),
) -> dict[str, Path]:
    """Writes `<name>.jsonl` for each name, and returns the paths by name.

    Those in `lists` become `<name>.json`, one JSON list with a row a line.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    for name, rows in made.items():
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        if name in lists:
            text = "[\n{}\n]\n".format(",\n".join(lines))
        else:
            text = "".join(f"{line}\n" for line in lines)
        paths[name] = folder / f"{name}.{'json' if name in lists else 'jsonl'}"
        paths[name].write_text(text, encoding="utf-8", newline="\n")
    return paths
