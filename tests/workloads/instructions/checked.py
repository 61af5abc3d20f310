"""Checked: one constraint on one answer, the way an example is scored."""

from typing import Any

from flashevolve.workloads.instructions.scoring import verdicts
from flashevolve.workloads.instructions.verdict import Verdict


def checked(name: str, answer: str, /, *, loose: bool = False, **values: Any) -> Verdict:
    example = {"key": 1, "prompt": "p", "instruction_id_list": [name], "kwargs": [values]}
    (verdict,) = verdicts(example, answer, loose=loose)
    return verdict


def passes(name: str, answer: str, /, **values: Any) -> bool:
    return checked(name, answer, **values).passed


def says(name: str, answer: str, /, **values: Any) -> str:
    """Returns the feedback of a failure."""
    verdict = checked(name, answer, **values)
    assert not verdict.passed
    return verdict.feedback
