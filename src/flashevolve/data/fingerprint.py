"""Fingerprint: what a resume must find unchanged about the data, in a few digits.

It covers ids and contents in order, and nothing else: a file may move or be reformatted.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flashevolve.task import Example


def content_id(data: Mapping[str, Any]) -> str:
    """Returns 16 hexadecimal digits over a row of JSON values; `TypeError` if it holds others."""
    return _digest(json.dumps(data, sort_keys=True))


def fingerprint(examples: Iterable[Example]) -> dict[str, Any]:
    """Returns `n` and `hash` of a split, as `run_started` records them."""
    # Values that are not JSON count by their type: their repr may hold a memory address.
    texts = [
        json.dumps([e.id, dict(e.data)], sort_keys=True, default=lambda v: type(v).__qualname__)
        for e in examples
    ]
    return {"n": len(texts), "hash": _digest("\n".join(texts))}


def file_fingerprint(path: Path) -> dict[str, Any]:
    """Returns the `hash` of a file's bytes, which may be too many to be held at once."""
    with path.open("rb") as file:
        return {"hash": hashlib.file_digest(file, "sha256").hexdigest()[:16]}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
