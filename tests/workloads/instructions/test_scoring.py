import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.data.loaders import examples, rows
from flashevolve.errors import DataError
from flashevolve.workloads.instructions import (
    score,
    score_loose,
    score_whole,
    score_whole_loose,
)
from flashevolve.workloads.instructions.scoring import EMPTY, PROBE, variants
from tests.workloads.instructions.checked import checked

TITLE, COMMA = "detectable_format:title", "punctuation:no_comma"
JSON, QUOTED = "detectable_format:json_format", "startend:quotation"


def example(*ids: str) -> dict[str, Any]:
    return {
        "key": 7,
        "prompt": "Do.",
        "instruction_id_list": list(ids),
        "kwargs": [{} for _ in ids],
    }


def test_the_score_is_the_share_of_constraints_met() -> None:
    assert score(example(TITLE, COMMA), "<<Snow>>\nIt falls, softly.")[0] == 0.5
    assert score(example(TITLE, COMMA), "<<Snow>>\nIt falls.")[0] == 1.0
    assert score(example(TITLE, COMMA), "It falls, softly.")[0] == 0.0


def test_whole_scores_want_all_constraints_met() -> None:
    assert score_whole(example(TITLE, COMMA), "<<Snow>>\nIt falls, softly.")[0] == 0.0
    assert score_whole(example(TITLE, COMMA), "<<Snow>>\nIt falls.")[0] == 1.0


def test_feedback_has_a_sentence_for_each_constraint_in_order() -> None:
    assert score(example(TITLE, COMMA), "<<Snow>>\nIt falls, softly.")[1] == (
        "Its heading is fine. The answer must contain no comma at all; it has 1."
    )
    assert score(example(COMMA, COMMA), "a, b")[1].count("must contain") == 1


@pytest.mark.parametrize("output", ["", " \n\r\n", None])
def test_an_empty_answer_meets_nothing_and_is_told_so_once(output: str | None) -> None:
    for scoring in (score, score_loose, score_whole, score_whole_loose):
        assert scoring(example(COMMA, TITLE), output) == (0.0, EMPTY)


def test_loose_scoring_forgives_a_line_before_and_after_and_emphasis() -> None:
    framed = 'Sure, here it is:\n{"a": 1}\nIs that all right?'
    assert score(example(JSON), framed)[0] == 0.0
    assert score_loose(example(JSON), framed) == (1.0, "Its structure is fine.")
    assert score_loose(example(JSON), '**{"a": 1}**')[0] == 1.0
    assert score_loose(example(QUOTED), 'Here:\n*"Snow."*')[0] == 1.0


def test_each_constraint_may_be_met_by_another_variant() -> None:
    answer = 'Well, here:\n"Snow falls"'
    assert score_whole_loose(example(COMMA, QUOTED), answer)[0] == 1.0
    assert score_whole(example(COMMA, QUOTED), answer)[0] == 0.0


def test_loose_feedback_is_about_the_answer_itself() -> None:
    assert score_loose(example(COMMA), "a, b\nc, d\ne, f")[1].endswith("it has 3.")


def test_the_variants_are_the_eight_of_the_benchmark() -> None:
    assert set(variants("*a*\n b \nc")) == {
        "*a*\n b \nc", "a\n b \nc", "b \nc", "*a*\n b", "a\n b", "b",
    }  # fmt: skip
    assert variants("") == [""]


@settings(deadline=None)  # the first call loads a library
@given(st.text(alphabet='ab,*"\n<>- ', max_size=40))
def test_loose_is_never_stricter_than_strict(answer: str) -> None:
    ids = example(TITLE, COMMA, QUOTED, JSON)
    assert score_loose(ids, answer)[0] >= score(ids, answer)[0]
    assert score(ids, answer)[0] >= score_whole(ids, answer)[0]


def test_windows_line_ends_change_nothing() -> None:
    assert checked("length_constraints:number_paragraphs", "a\r\n***\r\nb", num_paragraphs=2).passed


def test_a_wrong_example_is_found_with_its_line_before_anything_is_scored(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    found = [{**example(COMMA), "key": 1}, {**example("punctuation:no_coma"), "key": 2}]
    file.write_text("".join(json.dumps(row) + "\n" for row in found))
    with pytest.raises(
        DataError,
        match=r"train\.jsonl, line 2 \(key 2\): expected a known instruction .* found "
        r"'punctuation:no_coma'\. Did you mean 'punctuation:no_comma'\?$",
    ):
        score.check_examples(examples(rows(file), id_field="key"))


def test_a_wrong_example_of_a_sequence_is_found_with_its_position_and_key() -> None:
    given = [example(COMMA), {**example(COMMA), "key": 8, "kwargs": []}]
    with pytest.raises(DataError, match=r"^train\[1\] \(key 8\): expected as many tables"):
        score.check_examples(examples(rows(given, name="train"), id_field="key"))


def test_checking_examples_needs_what_scoring_them_will_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        "flashevolve.workloads.instructions.ifeval.wording.language", lambda t: seen.append(t)
    )
    for name in ("change_case:english_lowercase", "change_case:english_capital"):
        score.check_examples([example(name)])
    assert seen == [PROBE, PROBE.upper()]


def test_the_case_is_looked_at_before_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        "flashevolve.workloads.instructions.ifeval.wording.language", lambda t: seen.append(t)
    )
    score_loose(example("change_case:english_capital"), "Sure:\nThe *snow* falls.\nBye.")
    assert seen == []


def test_an_output_that_is_no_text_is_scored_as_json() -> None:
    assert score(example(JSON), {"sky": None})[0] == 1.0
    assert score(example(JSON), [True])[0] == 1.0
    assert score(example(COMMA), {"a": 1, "b": 2})[1].endswith("it has 1.")


def test_an_example_from_nowhere_is_named_by_its_key() -> None:
    with pytest.raises(DataError, match=r"^example 7: expected at least one id"):
        score(example(), "a")
