"""Combee (Li 2026): many reflections at once, put together by a tree, in GEPA's pool."""

from flashevolve.algorithms.combee.config import Combee

__all__ = ["Combee"]
