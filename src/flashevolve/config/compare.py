"""Compare: what a resumed run may not change.

Budget, limits, places, endpoints, prices and the longest answer may change; everything else
decides what the run does and may not. Contents of data files are compared by their own
fingerprint, so that a moved file is no difference.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

FREE_TABLES = ("budget", "limits", "control", "run", "simulation", "gateway")
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

ADDED_LATER: Mapping[tuple[str, ...], Any] = {
    ("task", "replicas"): 1,
    ("task", "corpus"): None,
    ("staleness", "repair_batch"): 1,
    ("staleness", "history"): "full",
    ("staleness", "when"): "stale",
    ("control", "mode"): "fixed",
    ("control", "window_s"): 60.0,
    ("control", "tick_s"): 15.0,
    ("control", "k_min"): 1,
    ("control", "k_max"): None,
    ("control", "workers"): {},
    ("speculation", "rollout"): 1.0,
    ("speculation", "evaluate"): 1.0,
    ("speculation", "confirm"): "demote",
    ("speculation", "reorder"): "discriminative",
    ("speculation", "window"): 3,
    ("gateway", "port"): 0,
    ("gepa", "parents"): 1,
    ("gepa", "proposals"): 1,
    ("gepa", "top_k"): 5,
    ("gepa", "frontier"): "instance",
    ("combee", "top_k"): 5,
    ("combee", "frontier"): "instance",
}
"""Keys that a run of an older version did not record, each with the value that it had."""


def compare(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Returns the keys that differ between two `dump`s and that a resume may not change."""
    return [key for key, path, _, _ in _differing(recorded, now) if not _free(path)]


def changed_tables(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the top-level tables of `now` that differ from what was recorded, but for `run`."""
    changed = {path[0] for _, path, _, _ in _differing(recorded, now)}
    return {key: value for key, value in now.items() if key in changed and key != "run"}


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Returns the keys that differ between two `dump`s, with both values; None = absent.

    Where the runs and the data files are is left out.
    """
    found = _differing(first, second)
    return {
        key: (old, new)
        for key, path, old, new in found
        if path[0] != "run" and not _is_data_file(path)
    }


def _differing(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, ...], Any, Any]]:
    """Yields (dotted key, its path, value in `first`, value in `second`) where these differ."""
    before, after = _by_path(first), _by_path(second)
    for path in {**before, **after}:
        old, new = before.get(path), after.get(path)
        if json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
            yield ".".join(path), path, old, new


def _by_path(tree: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Returns the leaves by path, also those that an older version did not record."""
    return {**ADDED_LATER, **dict(_leaves(tree))}


def _free(path: tuple[str, ...]) -> bool:
    if path[0] in ("model", "models"):
        return any(part in FREE_MODEL_KEYS for part in path[1:])
    return path[0] in FREE_TABLES or _is_data_file(path)


def _is_data_file(path: tuple[str, ...]) -> bool:
    return path == ("task", "corpus") or (path[0] == "data" and path[1] in FREE_DATA_KEYS)


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
