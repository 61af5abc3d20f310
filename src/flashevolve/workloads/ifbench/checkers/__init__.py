"""IFBench's own instructions (Pyatkin 2025, https://arxiv.org/abs/2507.02833), by their public ids.

Ids, names of values and what counts as met are those of the benchmark's published code, oddities
included, so that scores can be compared with published ones. Where we depart from it, the checker
says so in its docstring and `docs/ifbench.md` lists it.
"""

from collections.abc import Mapping

from flashevolve.workloads.ifbench.checkers import counts, formats, requests, sequences, words
from flashevolve.workloads.instructions.verdict import Checker

CHECKERS: Mapping[str, Checker] = {
    **counts.CHECKERS,
    **words.CHECKERS,
    **sequences.CHECKERS,
    **formats.CHECKERS,
    **requests.CHECKERS,
}
"""Id of an instruction -> its checker."""

__all__ = ["CHECKERS"]
