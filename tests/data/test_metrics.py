from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.config import TaskSettings
from flashevolve.data.metrics import (
    Metric,
    field_of,
    last_number,
    metric,
    score_function,
    workload_of,
)
from flashevolve.errors import ConfigError, DataError
from flashevolve.task import Example


def scored(name: str, answer: Any, output: Any, **more: Any) -> tuple[float, str]:
    score = score_function(TaskSettings(metric=name, **more))
    assert isinstance(score, Metric)
    return score(Example(id="e", data={"answer": answer}), output)


@pytest.mark.parametrize(
    ("answer", "output", "score", "feedback"),
    [
        ("Paris", " Paris\n", 1, 'Correct: the answer is exactly "Paris".'),
        ("a b", "a\n  b", 1, 'Correct: the answer is exactly "a b".'),
        (42, "42", 1, 'Correct: the answer is exactly "42".'),
        (
            "Paris", "paris", 0,
            'Wrong: the answer should be exactly "Paris", it was "paris". Only upper and lower '
            "case differ.",
        ),
        (
            "Paris", "It is Paris.", 0,
            'Wrong: the answer should be exactly "Paris", it was "It is Paris.". It contains the '
            "expected text; nothing else may stand around it.",
        ),
        ("Paris", None, 0, 'Wrong: the answer should be exactly "Paris", it was "".'),
    ],
)  # fmt: skip
def test_exact(answer: Any, output: Any, score: float, feedback: str) -> None:
    assert scored("exact", answer, output) == (score, feedback)


@pytest.mark.parametrize(
    ("answer", "output", "score"),
    [("4", "It is 4.", 1), ("4", "It is 42.", 0), ("New York", "new\nyork!", 1), ("$5", "a $5", 1)],
)
def test_contains_looks_for_whole_words(answer: str, output: str, score: float) -> None:
    assert scored("contains", answer, output)[0] == score


def test_contains_says_what_is_missing() -> None:
    feedback = 'Wrong: the answer should contain "4"; it does not occur in it.'
    assert scored("contains", "4", "5") == (0.0, feedback)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12 apples and 5 pears", "5"), ("$1,234.50.", "1234.5"), ("1,2", "2"), ("-7", "-7"),
        ("10-5", "5"), ("x = −3", "-3"), (".5", "0.5"), ("1e3", "1000"), ("12 %", "12%"),
        ("v2", None), ("none", None), ("12,345,678", "12345678"), ("3.", "3"), ("+4", "4"),
    ],
)  # fmt: skip
def test_the_last_number_of_a_text_is_read(text: str, value: str | None) -> None:
    found = last_number(text)
    assert (str(found) if found else None) == value


@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), st.sampled_from(["So: {}.", "{} %", "${}"]))
def test_a_formatted_number_is_read_back(value: float, around: str) -> None:
    found = last_number(around.format(f"{value:,.3f}"))
    assert found is not None
    assert found.value == (value if not around.startswith("$") else found.value)
    assert abs(found.value) == abs(value)


@pytest.mark.parametrize(
    ("answer", "output", "tolerance", "score"),
    [
        ("1,000", "about 1000", 0, 1),
        (0.3, "0.1 + 0.2 = 0.30000000000000004", 0, 1),
        (10, "10.4", 0.5, 1),
        (10, "10.6", 0.5, 0),
        ("50%", "0.5", 0, 1),
        ("50%", "50", 0, 1),
        (0.5, "50%", 0, 1),
        (50, "50%", 0, 1),
        ("50%", "50%", 0, 1),
    ],
)
def test_numeric(answer: Any, output: str, tolerance: float, score: float) -> None:
    assert scored("numeric", answer, output, tolerance=tolerance)[0] == score


def test_numeric_says_what_was_wrong() -> None:
    assert scored("numeric", 7, "seven") == (
        0.0, "Wrong: the answer should end with the number 7; it holds no number.",
    )  # fmt: skip
    assert scored("numeric", 7, "7, with 2 left", tolerance=0.5) == (
        0.0,
        "Wrong: the expected number is 7 (within 0.5), the last number was 2. The right number "
        "occurs earlier; the last number in the answer is what counts.",
    )


def test_regex_without_a_group_asks_for_the_form_only() -> None:
    score = metric(TaskSettings(metric="regex", pattern="^A:"))
    assert score(Example(id="e", data={}), "A: x") == (
        1.0, "Correct: the answer has the required form.",
    )  # fmt: skip
    assert score(Example(id="e", data={}), "B") == (
        0.0, 'Wrong: nothing in the answer matches the pattern "^A:".',
    )  # fmt: skip


def test_regex_with_a_group_compares_its_last_match() -> None:
    pattern = "Answer: (.+)"
    assert scored("regex", "7", "Answer: 3\nAnswer: 7", pattern=pattern)[0] == 1
    assert scored("regex", "7", "Answer: 3", pattern=pattern) == (
        0.0, 'Wrong: the answer should be "7", it was "3".',
    )  # fmt: skip
    assert scored("regex", "7", "7", pattern=pattern) == (
        0.0,
        'Wrong: the answer should be "7" in a form that matches the pattern "Answer: (.+)"; '
        "nothing matches it.",
    )


def test_json_scores_the_fraction_of_fields_and_names_the_wrong_ones() -> None:
    answer = {"city": "Paris", "n": 2, "ok": True, "zip": "1"}
    reply = 'Sure:\n```json\n{"city": "Lyon", "n": 2.0, "ok": 1}\n```'
    assert scored("json", answer, reply) == (
        0.25,
        "1 of 4 fields are right: 'city' should be \"Paris\" and was \"Lyon\"; 'ok' should be true "
        "and was 1; 'zip' is missing and should be \"1\".",
    )
    assert scored("json", answer, answer) == (1.0, "Correct: all 4 fields are right.")
    assert scored("json", {"a": 1}, "no {json} here") == (
        0.0, "Wrong: the answer should be one JSON object with 'a'; there is none.",
    )  # fmt: skip


def test_json_compares_only_the_fields_asked_for() -> None:
    assert scored("json", '{"a": 1, "b": 2}', '{"b": 2}', fields=("b",))[0] == 1


def test_json_reads_columns_of_a_table_where_there_is_no_answer() -> None:
    score = metric(TaskSettings(metric="json", fields=("city",)))
    assert score(Example(id="e", data={"city": "Rome"}), '{"city": " Rome "}')[0] == 1


@given(st.text() | st.none() | st.integers() | st.lists(st.text()) | st.builds(object))
def test_no_metric_raises_whatever_the_output(output: Any) -> None:
    answers = {"exact": "a", "contains": "a", "numeric": 3, "regex": "a", "json": {"a": 1}}
    for name, answer in answers.items():
        score, feedback = scored(name, answer, output, pattern="(a)")
        assert 0 <= score <= 1
        assert feedback


def test_an_object_that_is_nested_too_deep_is_no_object() -> None:
    score, feedback = scored("json", {"a": 1}, '{"a":' * 100_000)
    assert score == 0
    assert feedback.endswith("there is none.")


@pytest.mark.parametrize(
    ("task", "data", "message"),
    [
        ({"metric": "exact"}, {"anser": 1}, r"^example 'e': expected a field 'answer', which "
         r"task\.answer names, found anser\. Did you mean 'anser'\?"),
        ({"metric": "contains"}, {}, r"found none\.$"),
        ({"metric": "numeric"}, {"answer": "two"}, r"expected a number in 'answer', found 'two'$"),
        ({"metric": "numeric"}, {"answer": True}, r"expected a number in 'answer', found True$"),
        ({"metric": "regex", "pattern": "(x)"}, {}, r"expected a field 'answer'"),
        ({"metric": "json"}, {"answer": "x"}, r"expected a JSON object in 'answer', found 'x'$"),
        ({"metric": "json", "fields": ["a"]}, {"b": 1},
         r"field 'a', which task\.fields names, found b\.$"),
        ({"metric": "json", "fields": ["a"]}, {}, r"expected a JSON object in 'answer', found N"),
    ],
)  # fmt: skip
def test_an_example_that_cannot_be_scored_is_found_by_the_check(
    task: dict[str, Any], data: dict[str, Any], message: str
) -> None:
    checked = metric(TaskSettings.model_validate(task))
    with pytest.raises(DataError, match=message):
        checked.check_examples([Example(id="e", data=data)])


def test_whatever_is_wrong_with_an_example_is_said_with_its_file_and_line() -> None:
    read = Example(id="e", data={"id": "e", "answer": "two"}, place="val.jsonl, line 3")
    for task in ({"metric": "numeric"}, {"metric": "json"}):
        with pytest.raises(DataError, match=r"^val\.jsonl, line 3 \(id 'e'\): expected a"):
            metric(TaskSettings.model_validate(task)).check_examples([read])
    with pytest.raises(
        DataError, match=r"^val\.jsonl, line 3 \(id 'e'\): expected a field 'input'"
    ):
        field_of("input", "task.input", read)
    nameless = Example(id="ab12", data={"x": 1}, place="val.jsonl, line 4")
    with pytest.raises(DataError, match=r"^val\.jsonl, line 4: expected a field 'input'"):
        field_of("input", "task.input", nameless)


def test_only_a_pattern_of_the_users_own_may_take_long() -> None:
    assert metric(TaskSettings(metric="regex", pattern="x")).runs_user_code
    assert metric(TaskSettings(metric="regex", pattern="(x)")).runs_user_code
    assert not metric(TaskSettings(metric="exact")).runs_user_code


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({}, r"^task: expected metric or workload, found neither\. For example --task\.metric ex"),
        ({"metric": "exact", "workload": "instructions"}, r"expected workload or metric, found bo"),
        ({"workload": "instruction"}, r"^task\.workload: .* Did you mean 'instructions'\?$"),
        ({"metric": "regex"}, r"^task\.pattern: expected a regular expression for metric regex"),
        ({"metric": "regex", "pattern": "("}, r"^task\.pattern: expected a regular .*found '\('"),
        ({"metric": "json:nothing"}, r"^task\.metric: json has no 'nothing'"),
    ],
)
def test_a_task_that_cannot_score_is_refused(task: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        score_function(TaskSettings.model_validate(task))


def test_a_metric_may_be_any_function() -> None:
    import json

    found = score_function(TaskSettings(metric="json:dumps"))
    assert found is json.dumps
    assert not isinstance(found, Metric)


def test_a_score_function_tells_the_workload_that_it_belongs_to() -> None:
    assert workload_of(score_function(TaskSettings(workload="instructions"))) == "instructions"
    assert workload_of(score_function(TaskSettings(metric="exact"))) == ""
