from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.llm.errors import Fatal, LLMError, RateLimited, Refused, Transient
from flashevolve.llm.failures import Where, from_status, retry_after_s
from flashevolve.llm.wire import MAX_QUOTED_CHARS
from tests.fakes.patience import patient

WHERE = Where(endpoint="https://host/v1", model="m", key_env="MY_KEY")
NOW_S = 1_700_000_000.0


def date(at_s: float) -> str:
    return format_datetime(datetime.fromtimestamp(at_s, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "expected_s"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "?", "retry-after": "1"}, 1.0),
        ({"retry-after": date(NOW_S + 30)}, 30.0),
        ({"retry-after": date(NOW_S - 30)}, 0.0),
        ({"retry-after": date(NOW_S + 630), "date": date(NOW_S + 600)}, 30.0),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: dict[str, str], expected_s: float | None
) -> None:
    assert retry_after_s(headers, NOW_S) == expected_s


@patient
@given(st.text())
def test_no_retry_after_is_so_odd_that_it_raises(text: str) -> None:
    found = retry_after_s({"retry-after": text, "retry-after-ms": text, "date": text}, NOW_S)
    assert found is None or found >= 0


@pytest.mark.parametrize("status", [429, 503, 408])
def test_the_hint_reaches_the_error(status: int) -> None:
    error = from_status(WHERE, status, {"retry-after": "7"}, {}, NOW_S)
    assert isinstance(error, RateLimited | Transient)
    assert error.retry_after_s == 7.0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "a\nb"}}, "a b."),
        ({"error": "plain"}, "plain."),
        ({"message": "vllm style"}, "vllm style."),
        ({"detail": "fastapi style!"}, "fastapi style!"),
        ([], "no explanation."),
        ("<html>\n<b>x</b>", "<html> <b>x</b>."),
        ([{"error": {"message": "google style"}}], "google style"),
        ("", "no explanation."),
    ],
)
def test_the_endpoints_own_words_are_found_and_put_on_one_line(body: Any, words: str) -> None:
    assert words in str(from_status(WHERE, 400, {}, body, NOW_S))


def test_a_long_explanation_is_shortened() -> None:
    error = from_status(WHERE, 400, {}, "x" * 10_000, NOW_S)
    assert len(str(error)) < MAX_QUOTED_CHARS + 200
    assert "x …" in str(error)


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (401, "check the key in MY_KEY"),
        (402, "add credit to the account of the key in MY_KEY"),
        (403, "check that the key in MY_KEY may use the model 'm'"),
        (404, "is the model name right"),
        (405, "check what the model 'm' accepts"),
        (307, "set base_url to the address"),
    ],
)
def test_a_fatal_error_says_what_to_do_next(status: int, step: str) -> None:
    error = from_status(WHERE, status, {}, {}, NOW_S)
    assert isinstance(error, Fatal)
    assert f"https://host/v1 answered {status}: no explanation. Next: {step}" in str(error)


def test_without_a_key_a_401_says_where_to_put_one() -> None:
    nameless = Where(endpoint="e", model="m", key_env=None)
    assert "name it in key_env" in str(from_status(nameless, 401, {}, {}, NOW_S))


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (413, {}),
        (400, {"code": "context_length_exceeded"}),
        (400, {"type": "exceed_context_size_error"}),
        (400, {"message": "The input (9 tokens) is longer than the model's context length"}),
        (422, {"message": "Prompt is too long: 9 tokens"}),
        (400, {"message": "n", "innererror": {"code": "ResponsibleAIPolicyViolation"}}),
        (403, {"message": "your input was flagged"}),
    ],
)
def test_what_is_wrong_with_one_request_only_does_not_stop_the_run(
    status: int, error: dict[str, Any]
) -> None:
    assert isinstance(from_status(WHERE, status, {}, {"error": error}, NOW_S), Refused)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "innererror", "detail"]), inner
        )
    ),
    max_leaves=8,
)


@patient
@given(st.integers(300, 599), JSON)
def test_any_status_and_body_become_one_line(status: int, body: Any) -> None:
    error = from_status(WHERE, status, {}, body, NOW_S)
    assert isinstance(error, LLMError)
    assert len(str(error).splitlines()) == 1
    assert error.retryable == isinstance(error, RateLimited | Transient)
