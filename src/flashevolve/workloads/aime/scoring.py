"""Scoring: 1 for the right whole number, 0 otherwise, and the solution in the feedback.

An output is never an error: one without a number is wrong, and the feedback says so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flashevolve.outcome import as_text
from flashevolve.workloads.aime.layout import answer, problem, solution
from flashevolve.workloads.aime.reading import Found, read

SOLUTION_CHARS = 4000
"""Longest solution in feedback: some files hold several, one after the other."""


@dataclass(frozen=True)
class Scoring:
    """Called with an example and an output, it returns score and feedback."""

    def __call__(self, example: Mapping[str, Any], output: Any) -> tuple[float, str]:
        """Returns 1 or 0 and feedback. Raises `DataError` if the example is laid out wrongly."""
        wanted, found = answer(example), read(as_text(output))
        if found.value == wanted:
            return 1.0, f"Correct: the answer is {wanted}."
        feedback = f"Wrong: the right answer is {wanted}, {_given(found)}."
        worked = solution(example)
        if worked:
            cut = len(worked) > SOLUTION_CHARS
            shown = f"{worked[:SOLUTION_CHARS]} [cut]" if cut else worked
            feedback += f" A solution:\n{shown}"
        return 0.0, feedback

    def check_examples(self, examples: Iterable[Mapping[str, Any]]) -> None:
        """Raises `DataError` for the first example that could not be run or scored."""
        for example in examples:
            problem(example)
            answer(example)


score = Scoring()
"""1 for the right whole number."""


def _given(found: Found) -> str:
    if found.value is not None:
        return f"the number read from the output is {found.value}"
    if found.text:
        return f'the output gives "{found.text}", which is not a whole number'
    return 'the output gives no whole number; it should end with "Answer:" and the number'
