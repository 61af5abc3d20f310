"""Scoring: all checkers on the revised answer, and what the draft had met.

An example with an instruction that has no checker is never scored: the ids that are not known are
told in one line, before anything is paid for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from flashevolve.errors import DataError
from flashevolve.workloads.ifbench import checkers
from flashevolve.workloads.ifbench.program import ANSWER, DRAFT
from flashevolve.workloads.instructions import registry
from flashevolve.workloads.instructions.layout import IDS
from flashevolve.workloads.instructions.scoring import Scoring as Checking
from flashevolve.workloads.instructions.scoring import verdicts
from flashevolve.workloads.instructions.verdict import Checker

CHECKERS: Mapping[str, Checker] = {**registry.CHECKERS, **checkers.CHECKERS}
"""Id of an instruction -> its checker: those of `instructions`, and IFBench's own."""
_Row = TypeVar("_Row", bound=Mapping[str, Any])


@dataclass(frozen=True)
class Scoring:
    """A way of scoring; called with an example and an output, it returns score and feedback."""

    checking: Checking
    """How an answer is scored."""

    def __call__(self, example: Mapping[str, Any], output: Any) -> tuple[float, str]:
        """Returns a score in [0, 1] and one sentence per constraint, and one about the draft.

        The output is that of `run`, or a text. Raises `DataError` for a wrong example.
        """
        given = output if isinstance(output, Mapping) else {ANSWER: output}
        score, feedback = self.checking(example, given.get(ANSWER))
        if DRAFT not in given:
            return score, feedback
        before, after = (
            [
                verdict.passed
                for verdict in verdicts(example, text, loose=self.checking.loose, checkers=CHECKERS)
            ]
            for text in (given[DRAFT], given.get(ANSWER))
        )
        return score, f"{feedback} {_compared(before, after)}"

    def check_examples(self, examples: Iterable[Mapping[str, Any]]) -> None:
        """Raises `DataError` for unknown instructions, all in one line, or for a wrong example."""
        examples = list(examples)
        unknown = sorted({name for example in examples for name in unknown_ids(example)})
        if unknown:
            n = sum(bool(unknown_ids(example)) for example in examples)
            raise DataError(
                f"expected instructions that a checker exists for, found {len(unknown)} others in "
                f"{n} of {len(examples)} examples: {', '.join(unknown)}. Leave these examples out "
                f"(usable in flashevolve.workloads.ifbench returns the others)"
            )
        self.checking.check_examples(examples)


score = Scoring(Checking(checkers=CHECKERS))
"""The share of constraints met."""
score_loose = Scoring(Checking(loose=True, checkers=CHECKERS))
"""The share of constraints met by some variant of the answer."""
score_whole = Scoring(Checking(whole=True, checkers=CHECKERS))
"""1 if all constraints are met."""
score_whole_loose = Scoring(Checking(loose=True, whole=True, checkers=CHECKERS))
"""1 if each constraint is met by some variant of the answer."""


def unknown_ids(example: Mapping[str, Any]) -> list[str]:
    """Returns the ids of an example that no checker exists for."""
    ids = example.get(IDS)
    return [str(i) for i in ids if i not in CHECKERS] if isinstance(ids, list | tuple) else []


def usable(examples: Iterable[_Row]) -> list[_Row]:
    """Returns the examples all of whose instructions have a checker."""
    return [example for example in examples if not unknown_ids(example)]


def _compared(before: list[bool], after: list[bool]) -> str:
    told = f"Before the revision {sum(before)} of {len(before)} instructions were met"
    lost = sum(b and not a for b, a in zip(before, after, strict=True))
    gained = sum(a and not b for b, a in zip(before, after, strict=True))
    return f"{told}; it mended {gained} and broke {lost}."
