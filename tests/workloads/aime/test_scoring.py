import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.aime import score
from flashevolve.workloads.aime.scoring import SOLUTION_CHARS

EXAMPLE = {"id": 1, "problem": "P", "solution": "Add 1 and 41.", "answer": "042"}


def test_the_right_number_scores_one_however_it_is_written() -> None:
    assert score(EXAMPLE, "Answer: 42") == (1.0, "Correct: the answer is 42.")
    assert score(EXAMPLE, r"So \boxed{042}.")[0] == 1.0


def test_a_wrong_number_is_told_with_the_right_one_and_the_solution() -> None:
    assert score(EXAMPLE, "Answer: 41") == (
        0.0,
        "Wrong: the right answer is 42, the number read from the output is 41. A solution:\n"
        "Add 1 and 41.",
    )


def test_an_output_without_a_number_is_told_how_to_end() -> None:
    scored, feedback = score({"problem": "P", "answer": 42}, None)
    assert scored == 0.0
    assert feedback.endswith(
        'the output gives no whole number; it should end with "Answer:" and the number.'
    )
    assert (
        'the output gives "1/2", which is not a whole number' in score(EXAMPLE, r"\boxed{1/2}")[1]
    )


def test_a_long_solution_is_cut_visibly() -> None:
    _, feedback = score({**EXAMPLE, "solution": "x" * (SOLUTION_CHARS + 1)}, "1")
    assert feedback.endswith("x [cut]")


def test_examples_are_checked_before_anything_is_paid_for() -> None:
    score.check_examples([EXAMPLE])
    with pytest.raises(DataError, match="expected a column answer"):
        score.check_examples([EXAMPLE, {"id": 2, "problem": "P"}])
