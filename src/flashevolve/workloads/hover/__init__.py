"""HoVer: claims that take two, three or four pages to verify, each named by the one before.

Examples have the layout of the public files, which are read unchanged; what is searched is a corpus
file. An artifact's components are the steps of the program: queries, summarize, label.
"""

from flashevolve.workloads.hover.generator import generate, write
from flashevolve.workloads.hover.program import SEED, SEED_LABEL, program
from flashevolve.workloads.hover.scoring import score, score_label, score_recall

__all__ = [
    "SEED",
    "SEED_LABEL",
    "generate",
    "program",
    "score",
    "score_label",
    "score_recall",
    "write",
]
