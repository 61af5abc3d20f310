from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.hover import score, score_label, score_recall
from flashevolve.workloads.hover.scoring import said_label
from tests.workloads.hover.test_layout import ROW

ALL = {"hops": [{"titles": ["Ravelin", "x"]}, {"titles": ["Anna Bolt"]}]}
HALF = {"hops": [{"titles": ["Ravelin", "x"]}]}


@pytest.mark.parametrize(
    ("output", "whole", "share"), [(ALL, 1.0, 1.0), (HALF, 0.0, 0.5), ({}, 0.0, 0.0)]
)
def test_pages_count_all_or_by_their_share(output: Any, whole: float, share: float) -> None:
    assert score(ROW, output)[0] == whole
    assert score_recall(ROW, output)[0] == share
    assert score(ROW, output)[1] == score_recall(ROW, output)[1]


def test_feedback_names_the_pages_that_no_search_found() -> None:
    assert score(ROW, HALF)[1] == (
        'The searches found 1 of 2 supporting pages: "Ravelin". No search found "Anna Bolt".'
    )


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("SUPPORTED", "SUPPORTED"),
        ("not supported.", "NOT_SUPPORTED"),
        ("**NOT_SUPPORTED**", "NOT_SUPPORTED"),
        ("The river is shorter.\nLabel: Not-Supported", "NOT_SUPPORTED"),
        ("Label: SUPPORTED\nLabel: NOT_SUPPORTED", "NOT_SUPPORTED"),
        ("The label is SUPPORTED", "SUPPORTED"),
        ("The label is: **not supported**, as the river is shorter.", "NOT_SUPPORTED"),
        ("Label: **NOT SUPPORTED** (because the river is shorter)", "NOT_SUPPORTED"),
        ("Verdict:\n\nSUPPORTED\nby both pages", "SUPPORTED"),
        ("<thought>Label: SUPPORTED</thought> NOT_SUPPORTED", "NOT_SUPPORTED"),
        ("Label: SUPPORTED\nThe label is clear.", "SUPPORTED"),
        ("Label: SUPPORTED or NOT_SUPPORTED", None),
        ("Label: NOT_SUPPORTED/SUPPORTED", None),
        ("Label: UNSUPPORTED", None),
        ("Label: supportedness", None),
        ("\n" * 1_000_000, None),
        ("label:" * 100_000, None),
        ("label is " * 100_000, None),
        ("The claim is SUPPORTED", None),
        ("REFUTED", None),
        ("", None),
        (None, None),
    ],
)
def test_a_label_is_read_where_nothing_else_stands(text: Any, label: str | None) -> None:
    assert said_label({"label": text}) == label
    assert said_label(text) == label


def test_the_label_s_feedback_says_what_was_expected() -> None:
    right = score_label(ROW, {**ALL, "label": "not supported"})
    assert right[0] == 1
    assert right[1].startswith("Correct: the label is NOT_SUPPORTED. The searches found all 2")
    wrong = score_label(ROW, {**HALF, "label": "SUPPORTED"})
    assert wrong[0] == 0
    assert wrong[1].startswith("Wrong: the label should be NOT_SUPPORTED, it was SUPPORTED.")
    none = score_label(ROW, {**HALF, "label": "I think it is SUPPORTED."})
    assert none[0] == 0
    assert none[1].startswith(
        "Wrong: the answer should be the label NOT_SUPPORTED and nothing else, one of "
        'NOT_SUPPORTED and SUPPORTED; it was "I think it is SUPPORTED.".'
    )


def test_only_the_score_of_the_label_needs_one() -> None:
    bare = {key: value for key, value in ROW.items() if key != "label"}
    score.check_examples([bare])
    score_recall.check_examples([bare])
    with pytest.raises(DataError, match=r"example '33ca': expected a column label, found uid"):
        score_label.check_examples([bare])
