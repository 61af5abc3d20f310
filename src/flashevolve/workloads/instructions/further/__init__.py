"""Further kinds of constraints beside IFEval's, half of them kept for test data."""

from collections.abc import Mapping

from flashevolve.workloads.instructions.further import layout, letters, signs, words
from flashevolve.workloads.instructions.verdict import Checker

CHECKERS: Mapping[str, Checker] = {
    **words.CHECKERS,
    **signs.CHECKERS,
    **layout.CHECKERS,
    **letters.CHECKERS,
}
"""Id -> checker."""

__all__ = ["CHECKERS"]
