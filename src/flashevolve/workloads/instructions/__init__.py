"""Following instructions that a program can verify, with house rules to be learnt from feedback."""

from flashevolve.workloads.instructions.checkers import CHECKERS, check
from flashevolve.workloads.instructions.generator import generate, write
from flashevolve.workloads.instructions.scoring import score

__all__ = ["CHECKERS", "check", "generate", "score", "write"]
