"""HotpotQA: questions whose answer takes two pages, the second of which the first one names.

Examples have the layout of the public files, which are read unchanged. An artifact's components
are the steps of the program: query, second query, summarize, answer.
"""

from flashevolve.workloads.hotpotqa.generator import generate, write
from flashevolve.workloads.hotpotqa.program import SEED, program
from flashevolve.workloads.hotpotqa.scoring import score, score_f1

__all__ = ["SEED", "generate", "program", "score", "score_f1", "write"]
