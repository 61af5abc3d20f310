import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.instructions import score

LOWER = {"kind": "lowercase"}


def test_the_score_is_the_share_of_constraints_met() -> None:
    example = {"id": "a", "constraints": [LOWER, {"kind": "no_commas"}]}
    assert score(example, "small, calm")[0] == 0.5
    assert score(example, "small calm")[0] == 1.0
    assert score(example, "Big, calm")[0] == 0.0


def test_feedback_has_one_sentence_per_constraint() -> None:
    example = {"id": "a", "constraints": [LOWER, {"kind": "no_commas"}]}
    assert score(example, "small, calm")[1] == (
        "Its letters are fine. The answer must contain no commas and no semicolons; it has 1."
    )


def test_an_unknown_kind_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        DataError, match=r"'lowercases' in example 'a'\. Did you mean 'lowercase'\?"
    ):
        score({"id": "a", "constraints": [{"kind": "lowercases"}]}, "text")


def test_an_example_without_constraints_is_refused() -> None:
    with pytest.raises(DataError, match="at least one constraint, 'a' has none"):
        score({"id": "a", "constraints": []}, "text")
