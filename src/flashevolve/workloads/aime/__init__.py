"""AIME: competition problems whose answer is a whole number from 0 to 999.

Examples have the layout of the public files, which are read unchanged. An artifact has one
component, `solve`.
"""

from flashevolve.workloads.aime.generator import generate, write
from flashevolve.workloads.aime.program import SEED, run
from flashevolve.workloads.aime.reading import read
from flashevolve.workloads.aime.scoring import score

__all__ = ["SEED", "generate", "read", "run", "score", "write"]
