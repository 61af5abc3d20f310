from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import DataError
from flashevolve.workloads.hotpotqa import score, score_f1
from flashevolve.workloads.hotpotqa.scoring import f1, normalized, said
from tests.workloads.hotpotqa.test_layout import ROW

EXAMPLE: Mapping[str, Any] = {**ROW, "answer": "The old Bridge"}
FOUND = {"hops": [{"titles": ["Ravelin"]}, {"titles": ["Anna Bolt"]}]}


@pytest.mark.parametrize(
    ("given", "match", "share"),
    [
        ("the Old bridge.", 1.0, 1.0),
        ("an old, bridge", 1.0, 1.0),
        ("old", 0.0, 2 / 3),
        ("It is the old bridge", 0.0, 2 * 2 / (2 + 4)),
        ("new town", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_answers_are_compared_without_case_articles_and_punctuation(
    given: str, match: float, share: float
) -> None:
    output = {**FOUND, "answer": given}
    assert score(EXAMPLE, output)[0] == match
    assert score_f1(EXAMPLE, output)[0] == pytest.approx(share)


def test_yes_and_no_share_nothing_with_longer_answers() -> None:
    assert f1("yes it is", "yes") == 0
    assert f1("yes", "yes it is") == 0
    assert f1("Yes.", "yes") == 1


@given(st.text(max_size=30), st.text(max_size=30))
def test_f1_is_a_symmetric_share_and_1_for_a_match(a: str, b: str) -> None:
    assert f1(a, b) == f1(b, a)
    assert 0 <= f1(a, b) <= 1
    if normalized(a) == normalized(b) != "":
        assert f1(a, b) == 1


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" Tessel \n", "Tessel"),
        ("He was born there.\nAnswer: Tessel", "Tessel"),
        ("Answer: x\n**Answer:** Tessel", "Tessel"),
        ("The answer: none", "The answer: none"),
        ("Answer:", "Answer:"),
        ("Answer:\n\n**Tessel**\nin short", "Tessel**"),
        ("<think>Answer: Wey</think>Tessel", "Tessel"),
        ("Well. <thinking>Wey?\nAnswer: Wey</thinking>\nAnswer: Tessel", "Tessel"),
    ],
)
def test_an_answer_is_what_follows_its_mark_or_all_of_the_text(text: str, answer: str) -> None:
    assert said({"answer": text}) == answer
    assert said(text) == answer


def test_feedback_gives_the_answer_what_is_wrong_and_what_the_searches_found() -> None:
    half = {"hops": [{"titles": ["Ravelin", "x"]}], "answer": "It is the old bridge, I think"}
    assert score(EXAMPLE, half) == (
        0.0,
        'Wrong: the answer should be exactly "The old Bridge", it was "It is the old bridge, I '
        'think". It contains the right answer; no other words may stand around it. The searches '
        'found 1 of 2 supporting pages: "Ravelin". No search found "Anna Bolt".',
    )
    assert score_f1(EXAMPLE, half)[1].count("F1 over words: 0.50.") == 1
    assert score(EXAMPLE, {**FOUND, "answer": "old bridge"}) == (
        1.0,
        'Correct: the answer is "The old Bridge". The searches found all 2 supporting pages: '
        '"Ravelin", "Anna Bolt".',
    )


@pytest.mark.parametrize("output", [None, 3, [], {"answer": None}, {"answer": ["old"]}, {}])
def test_an_output_of_any_form_is_scored(output: Any) -> None:
    assert score(EXAMPLE, output)[0] == 0
    assert 0 <= score_f1(EXAMPLE, output)[0] <= 1


def test_examples_without_answers_are_refused_before_a_run() -> None:
    score.check_examples([EXAMPLE])
    test_file = {key: value for key, value in ROW.items() if key != "answer"}
    with pytest.raises(DataError, match=r"example '5a8b': expected a column answer, found"):
        score.check_examples([EXAMPLE, test_file])


@pytest.mark.parametrize(
    "text", ["\n" * 1_000_000, "answer:" * 100_000, "answer" + ":" * 1_000_000]
)
def test_a_long_answer_of_one_sign_takes_no_minutes(text: str) -> None:
    # With time by the square of the length each of these would take minutes.
    assert score(EXAMPLE, text)[0] == 0
