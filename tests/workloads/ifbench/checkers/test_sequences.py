from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.ifbench.checkers import CHECKERS, sequences
from flashevolve.workloads.instructions.layout import constraints
from tests.workloads.ifbench.checkers.cases import Case, assert_right

REQUEST = "Tell me about snow"
SPAN: dict[str, Any] = {"prompt_to_repeat": REQUEST, "n_start": 1, "n_end": 3}

CASES = [
    Case(
        "sentence:alliteration_increment",
        {},
        ("It was. Big bears sat. Six seals sang soft songs.", "One."),
        {
            "Big bears sat. Six seals.": "the sentences have 2, 2",
            "Big bears. It was.": "the sentences have 2, 0",
        },
    ),
    Case(
        "sentence:keyword",
        {"word": "snow", "N": 2},
        ("Yes. Snowmen melt.",),
        {
            "Snow. Yes.": "that sentence lacks it",
            "Snow": "there are only 1 sentence",
        },
    ),
    Case(
        "sentence:increment",
        {"small_n": 1},
        ("One two. Now there - three!", "One."),
        {"One. Now there three.": "the sentences have 1, 3 words"},
    ),
    Case(
        "repeat:repeat_change",
        {"prompt_to_repeat": REQUEST},
        ("Show me about snow", "Show me  about\nsnow"),
        {
            REQUEST: "its first word is unchanged",
            "Show us about snow": "it differs after the first word",
            f"Show me about snow. {REQUEST}": "it differs after the first word",
        },
    ),
    Case(
        "repeat:repeat_simple",
        {},
        (sequences.ONLY, f" {sequences.ONLY.upper()}\n"),
        {sequences.ONLY[:-1]: "it is another text", "Snow": "it is another text"},
    ),
    Case(
        "repeat:repeat_span",
        SPAN,
        ("me about", "Me\nABOUT "),
        {"me about snow": "it is another text", "ell": "it is another text"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_answers_are_told_apart(case: Case) -> None:
    assert_right(case)


def test_each_checker_has_a_case() -> None:
    assert {case.id for case in CASES} == set(sequences.CHECKERS)


@pytest.mark.parametrize("bounds", [{"n_start": 3, "n_end": 3}, {"n_start": 4, "n_end": 9}])
def test_a_span_without_a_word_is_refused(bounds: dict[str, int]) -> None:
    example = {"instruction_id_list": ["repeat:repeat_span"], "kwargs": [{**SPAN, **bounds}]}
    with pytest.raises(DataError, match="n_start to be less than n_end, and a word to be there"):
        constraints(example, CHECKERS)
