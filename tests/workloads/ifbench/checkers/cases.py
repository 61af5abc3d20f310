"""Cases: for each of IFBench's instructions answers that meet it and answers that do not."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from flashevolve.workloads.ifbench.checkers import CHECKERS
from flashevolve.workloads.instructions.layout import constraints
from flashevolve.workloads.instructions.scoring import check


class Case(NamedTuple):
    id: str
    values: Mapping[str, Any]
    met: tuple[str, ...]
    missed: Mapping[str, str]
    """Answer -> the end of its feedback, without the full stop."""


def assert_right(case: Case) -> None:
    """Asserts that each answer is checked as the case says, through an example's layout."""
    example = {"prompt": "p", "instruction_id_list": [case.id], "kwargs": [dict(case.values)]}
    (constraint,) = constraints(example, CHECKERS)
    for answer in case.met:
        verdict = check(answer, constraint)
        assert verdict.passed, (answer, verdict.feedback)
        assert "must" not in verdict.feedback
    for answer, found in case.missed.items():
        verdict = check(answer, constraint)
        assert not verdict.passed, answer
        assert "; " in verdict.feedback
        assert verdict.feedback.endswith(f"{found}."), verdict.feedback
