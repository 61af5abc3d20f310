"""The 25 instructions of IFEval (Zhou 2023, https://arxiv.org/abs/2311.07911), by their public ids.

Ids, names of values and what counts as met are those of the benchmark, so that scores can be
compared with published ones. Where we depart from its reference code, the checker says so in its
docstring and `docs/instructions.md` lists it.
"""

from collections.abc import Mapping

from flashevolve.workloads.instructions.ifeval import edges, formats, lengths, wording
from flashevolve.workloads.instructions.verdict import Checker

CHECKERS: Mapping[str, Checker] = {
    **wording.CHECKERS,
    **lengths.CHECKERS,
    **formats.CHECKERS,
    **edges.CHECKERS,
}
"""Id of an instruction -> its checker."""

__all__ = ["CHECKERS"]
