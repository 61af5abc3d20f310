"""Shapes: the load that a published workload puts on a backend, without its content.

`run` makes an example's calls one after the other; `score` is a coin, thrown by a hash of the
answer. What a run of a shape says about time is a prediction; about quality it says nothing.
"""

from flashevolve.workloads.shapes.shape import SEED, generate, model_name, run, score, write

__all__ = ["SEED", "generate", "model_name", "run", "score", "write"]
