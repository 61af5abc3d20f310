"""Compare: what a resumed run may not change.

Budget, limits, places, endpoints, prices and the longest answer may change; everything else
decides what the run does and may not. Contents of data files are compared by their own
fingerprint, so that a moved file is no difference.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

FREE_TABLES = ("budget", "limits", "run", "simulation")
"""Of the simulated world, the path: its content is compared by its own hash."""
FREE_MODEL_KEYS = (
    "base_url",
    "key_env",
    "price",
    "extra_headers",
    "timeout_s",
    "max_output_tokens",
)
FREE_DATA_KEYS = ("train", "val", "test", "path")

_ABSENT = object()


def compare(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Returns the keys that differ between two `dump`s and that a resume may not change."""
    before, after = dict(_fixed(recorded)), dict(_fixed(now))
    keys = {**before, **after}
    return [k for k in keys if before.get(k, _ABSENT) != after.get(k, _ABSENT)]


def _fixed(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for path, value in _leaves(tree):
        if not _free(path):
            yield ".".join(path), json.dumps(value, sort_keys=True)


def _free(path: tuple[str, ...]) -> bool:
    if path[0] in ("model", "models"):
        return any(part in FREE_MODEL_KEYS for part in path[1:])
    return path[0] in FREE_TABLES or (path[0] == "data" and path[1] in FREE_DATA_KEYS)


def _leaves(node: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    below: Any = None
    if isinstance(node, Mapping) and node:
        below = node.items()
    elif isinstance(node, list) and any(isinstance(item, Mapping) for item in node):
        below = enumerate(node)
    if below is None:
        yield above, node
        return
    for part, child in below:
        yield from _leaves(child, (*above, str(part)))
