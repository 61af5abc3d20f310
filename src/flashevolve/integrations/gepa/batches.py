"""Batches: what an adapter returned, checked before anything is made of it.

Results are matched to what was asked by position within one call, as gepa's adapters are written;
hence a wrong number of them is an error, in one line that names the method.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flashevolve.errors import TaskError

Texts = dict[str, str]
"""A candidate, as gepa's users know it."""


def checked(batch: Any, n: int, method: str, *, traces: bool) -> Any:
    """Returns an `EvaluationBatch` of `n` examples. Raises `TaskError` if it is none."""
    for name in ("outputs", "scores"):
        if not hasattr(batch, name):
            raise TaskError(
                f"{method}: expected an EvaluationBatch with outputs and scores, found "
                f"{type(batch).__name__}. Mend the adapter"
            )
        found = _listed(batch, name)
        if not isinstance(found, Sequence) or len(found) != n:
            size = len(found) if isinstance(found, Sequence) else type(found).__name__
            raise TaskError(
                f"{method}: expected {n} {name}, one for each example, found {size}. "
                "Mend the adapter"
            )
    for place, score in enumerate(batch.scores):
        if not _is_finite(score):
            raise TaskError(
                f"{method}: expected finite numbers as scores, found {score!r:.40} at position "
                f"{place}. Return 0.0 for an example that failed"
            )
    objectives = getattr(batch, "objective_scores", None)
    if objectives is not None and len(objectives) != n:
        raise TaskError(
            f"{method}: expected {n} objective_scores, one for each example, found "
            f"{len(objectives)}. Mend the adapter"
        )
    trajectories = getattr(batch, "trajectories", None)
    if traces and trajectories is not None and not hasattr(trajectories, "__len__"):
        raise TaskError(
            f"{method}: expected a list of trajectories, found {type(trajectories).__name__}. "
            "Mend the adapter"
        )
    return batch


def checked_all(batches: Any, sizes: Sequence[int], *, traces: bool) -> list[Any]:
    """Returns what `batch_evaluate` returned for items of these sizes."""
    method = "batch_evaluate"
    if not isinstance(batches, Sequence) or len(batches) != len(sizes):
        found = len(batches) if isinstance(batches, Sequence) else type(batches).__name__
        raise TaskError(
            f"{method}: expected {len(sizes)} EvaluationBatches, one for each item, found {found}. "
            "Mend the adapter"
        )
    return [
        checked(b, n, f"{method}, item {i}", traces=traces)
        for i, (b, n) in enumerate(zip(batches, sizes, strict=True))
    ]


def joined(batches: Sequence[Any]) -> Any:
    """Returns several batches, each of some examples, as one."""
    from gepa.core.adapter import EvaluationBatch

    if len(batches) == 1:
        return batches[0]
    parts = [getattr(b, "objective_scores", None) for b in batches]
    traced = [b.trajectories for b in batches]
    return EvaluationBatch(
        outputs=[o for b in batches for o in b.outputs],
        scores=[s for b in batches for s in b.scores],
        trajectories=None if None in traced else [t for part in traced for t in part],
        objective_scores=None if None in parts else [o for part in parts for o in part or ()],
    )


def checked_dataset(found: Any) -> dict[str, list[Any]]:
    """Returns a reflective dataset as plain lists. Raises `TaskError` if it is none."""
    if not isinstance(found, Mapping):
        raise TaskError(
            "make_reflective_dataset: expected a mapping of component name to records, found "
            f"{type(found).__name__}. Mend the adapter"
        )
    return {str(name): list(records) for name, records in found.items()}


def checked_texts(found: Any, candidate: Mapping[str, str], method: str) -> Texts:
    """Returns new texts by component. Raises `TaskError` if they are none."""
    if not isinstance(found, Mapping):
        raise TaskError(
            f"{method}: expected a mapping of component name to text, found "
            f"{type(found).__name__}. Mend it"
        )
    for name, text in found.items():
        if name not in candidate:
            raise TaskError(
                f"{method}: expected components of the candidate, {', '.join(candidate)}, found "
                f"{name!r}. Mend it"
            )
        if not isinstance(text, str):
            raise TaskError(
                f"{method}: expected the text of component {name!r}, found {type(text).__name__}. "
                "Mend it"
            )
    return dict(found)


def _listed(batch: Any, name: str) -> Any:
    """Returns a field, after making a list of an array, where the batch lets itself be changed."""
    found = getattr(batch, name)
    if isinstance(found, Sequence) or not hasattr(found, "tolist"):
        return found
    plain = found.tolist()
    if isinstance(plain, list):
        try:
            setattr(batch, name, plain)
        except AttributeError:
            return found
    return plain


def _is_finite(score: Any) -> bool:
    try:
        return math.isfinite(float(score))
    except (TypeError, ValueError, OverflowError):
        return False
