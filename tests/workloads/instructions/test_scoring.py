from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.instructions import CHECKERS, check, score


def example(*constraints: dict[str, Any]) -> dict[str, Any]:
    return {"id": "e", "request": "Write.", "constraints": list(constraints)}


LOWER, NO_COMMAS = {"kind": "lowercase"}, {"kind": "no_commas"}


@pytest.mark.parametrize(
    ("output", "share"),
    [("all is well", 1.0), ("All is well", 0.5), ("well, all is", 0.5), ("Well, all is", 0.0)],
)
def test_the_score_is_the_share_of_constraints_met(output: str, share: float) -> None:
    assert score(example(LOWER, NO_COMMAS), output)[0] == share


def test_feedback_has_a_sentence_on_each_constraint() -> None:
    feedback = score(example(LOWER, NO_COMMAS), "Well, all is")[1]
    assert feedback == " ".join(check("Well, all is", c).feedback for c in (LOWER, NO_COMMAS))
    assert "no commas" in feedback


@pytest.mark.parametrize("kind", ["lowercase", "no_commas", "title", "quoted", "json_object"])
def test_an_empty_answer_meets_nothing(kind: str) -> None:
    assert kind in CHECKERS
    assert score(example({"kind": kind}), "")[0] == 0.0


def test_an_example_without_constraints_is_refused() -> None:
    with pytest.raises(DataError, match="needs at least one constraint, 'e' has none"):
        score(example(), "anything")


def test_an_unknown_kind_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(DataError, match=r"'lowercas' in example 'e'.*Did you mean 'lowercase'"):
        score(example({"kind": "lowercas"}), "anything")
