from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.replies.jsons import ReplyError, first_json_object

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=4), v, max_size=3)
)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Verdict:\n```json\n{"a": [{"b": "}"}]}\n```\nend {', {"a": [{"b": "}"}]}),
        ('I put {x} into {"a": 1} and not {"b": 2}.', {"a": 1}),
        ('{"text": "two\nlines"}', {"text": "two\nlines"}),
        ('{"a": NaN} {"b": 2}', {"b": 2}),
    ],
)
def test_the_first_object_is_read_whatever_stands_around_it(reply: str, value: Any) -> None:
    assert first_json_object(reply) == value


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("accept", "no opening brace"),
        ("[1, 2]", "no opening brace"),
        ('{"a": 1', "at character"),
        ('{"a": Infinity}', "Infinity is not JSON"),
        ('{"a": "\\ud83d"}', "broken surrogate pair"),
        ('{"a":' * 10_000, "expected one JSON object, found none"),
    ],
)
def test_a_reply_without_an_object_is_refused_in_one_line(reply: str, problem: str) -> None:
    with pytest.raises(ReplyError, match=problem) as error:
        first_json_object(reply)
    assert "\n" not in str(error.value)


@given(st.dictionaries(st.text(max_size=4), values, max_size=4))
def test_every_object_that_json_can_write_is_read(value: dict[str, Any]) -> None:
    import json

    assert first_json_object(f"well, {json.dumps(value)}.") == value
