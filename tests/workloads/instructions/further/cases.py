"""What all further checkers must do: pass what is right, explain the rest, praise blandly."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from flashevolve.workloads.instructions.further import CHECKERS


class Case(NamedTuple):
    """A kind with parameters, answers that meet it, others that don't, and what feedback says."""

    kind: str
    kwargs: dict[str, Any]
    good: Sequence[str]
    bad: Sequence[str]
    rule: str
    """Pattern that the feedback on each bad answer must hold."""


def holds(case: Case) -> None:
    """Asserts all that a case says, and what holds for every checker."""
    checker = CHECKERS[case.kind]
    for answer in case.good:
        verdict = checker(answer, **case.kwargs)
        assert verdict.passed, (answer, verdict.feedback)
        assert not re.search(r'must|should|"|\d', verdict.feedback), "praise gives the rule away"
    for answer in [*case.bad, "", " \n "]:
        verdict = checker(answer, **case.kwargs)
        assert not verdict.passed, answer
        assert re.search(case.rule, verdict.feedback), verdict.feedback
        rule, found = verdict.feedback.rsplit("; ", 1)
        assert rule[0].isupper()
        assert found.endswith(".")
        for value in case.kwargs.values():
            assert str(value) in rule or not str(value).isalnum()
