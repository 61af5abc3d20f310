"""GEPA (Agrawal 2025): reflective prompt evolution with a per-example Pareto pool."""

from flashevolve.algorithms.gepa.config import GEPA

__all__ = ["GEPA"]
