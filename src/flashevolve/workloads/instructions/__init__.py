"""Following instructions that a program can verify: the 25 of IFEval and further kinds.

Examples have the layout of the public IFEval file. What exactly a checker accepts need not stand in
the request: it is to be learnt from feedback.
"""

from flashevolve.workloads.instructions.generator import generate, write
from flashevolve.workloads.instructions.kinds import ALL_KINDS, DEFAULT_KINDS, UNSEEN
from flashevolve.workloads.instructions.registry import CHECKERS
from flashevolve.workloads.instructions.scoring import (
    score,
    score_loose,
    score_whole,
    score_whole_loose,
)

__all__ = [
    "ALL_KINDS",
    "CHECKERS",
    "DEFAULT_KINDS",
    "UNSEEN",
    "generate",
    "score",
    "score_loose",
    "score_whole",
    "score_whole_loose",
    "write",
]
