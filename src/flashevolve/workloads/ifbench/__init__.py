"""IFBench's program of two stages: an answer, and its revision to what the request asks for.

Examples have the layout of IFEval and IFBench, and are scored by the checkers of `instructions`. An
artifact's components are the two stages: respond, revise.
"""

from flashevolve.workloads.ifbench.generator import KINDS, generate, write
from flashevolve.workloads.ifbench.program import SEED, run
from flashevolve.workloads.ifbench.scoring import (
    score,
    score_loose,
    score_whole,
    score_whole_loose,
    unknown_ids,
    usable,
)

__all__ = [
    "KINDS",
    "SEED",
    "generate",
    "run",
    "score",
    "score_loose",
    "score_whole",
    "score_whole_loose",
    "unknown_ids",
    "usable",
    "write",
]
