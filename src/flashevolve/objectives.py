"""Objectives: several scores of one outcome by name, as a metric gives them and as they are kept.

Pure. Objectives are independent of the score, which alone decides what passes a gate and which
candidate is best; they say where candidates are worth keeping. An outcome may lack any of them, as
a failed one lacks all; a mean is over those that have it.
"""

import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

MAX_MAGNITUDE = 1e300
"""Of a score: sums of more extreme ones overflow."""


def mean_objectives(given: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Returns each objective's mean, in ascending order of names.

    It does not depend on the order in which they are given.
    """
    found: dict[str, list[float]] = {}
    for objectives in given:
        for name, score in objectives.items():
            found.setdefault(name, []).append(score)
    return {name: fmean(found[name]) for name in sorted(found)}


def plain_objectives(given: Any) -> dict[str, float]:
    """Returns what a metric gave as names and finite numbers.

    Raises `TypeError` for anything but a mapping by name, `ValueError` for a number that is not
    finite or beyond `MAX_MAGNITUDE`.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise TypeError(f"expected Outcome.objectives to map names to numbers, got {given!r:.80}")
    found = {str(name): float(score) for name, score in given.items()}
    for name, score in found.items():
        if not math.isfinite(score):
            raise ValueError(f"objective {name!r} is {score}; expected a finite number")
        if abs(score) > MAX_MAGNITUDE:
            raise ValueError(
                f"objective {name!r} is {score}; expected at most {MAX_MAGNITUDE:g} in magnitude"
            )
    return found
