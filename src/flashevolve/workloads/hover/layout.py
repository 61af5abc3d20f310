"""Layout: the columns of an example, which are those of the public HoVer files.

    {"uid": "...", "claim": "...", "supporting_facts": [["Title", 0], ...], "label": "SUPPORTED",
     "num_hops": 3, "hpqa_id": "..."}

Labels that were exported as numbers are read as well: 0 is NOT_SUPPORTED, 1 is SUPPORTED.
"""

from collections.abc import Mapping
from typing import Any

from flashevolve.errors import DataError, nearest
from flashevolve.task import place_of
from flashevolve.workloads.hotpotqa.layout import supporting as supporting_pages

ID, CLAIM, LABEL = "uid", "claim", "label"
LABELS = ("NOT_SUPPORTED", "SUPPORTED")


def claim(example: Mapping[str, Any]) -> str:
    """Returns the claim. Raises `DataError`, as the others do."""
    value = _column(example, CLAIM)
    if not isinstance(value, str) or not value.strip():
        where = place_of(example, ID)
        raise DataError(f"{where}: expected {CLAIM} to be a text, found {value!r:.80}")
    return value


def supporting(example: Mapping[str, Any]) -> list[str]:
    """Returns the titles of the pages that the claim takes, each once."""
    return supporting_pages(example, ID)


def label(example: Mapping[str, Any]) -> str:
    """Returns the expected label, one of `LABELS`."""
    value = _column(example, LABEL)
    if type(value) is int and value in (0, 1):
        return LABELS[value]
    if value not in LABELS:
        raise DataError(
            f"{place_of(example, ID)}: expected {LABEL} to be {' or '.join(LABELS)}, "
            f"found {value!r:.80}"
        )
    return str(value)


def _column(example: Mapping[str, Any], name: str) -> Any:
    if name not in example:
        raise DataError(
            f"{place_of(example, ID)}: expected a column {name}, found "
            f"{', '.join(map(str, example)) or 'none'}.{nearest(name, map(str, example))}"
        )
    return example[name]
