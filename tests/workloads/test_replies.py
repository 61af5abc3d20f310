import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.workloads.replies import marked, without_thinking

ANSWER = re.compile(r"^[^\w\n]*answer[^\w\n:]*:", re.IGNORECASE | re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("none", "none"),
        ("<think>a</think>b", " b"),
        ("a <THINKING>b</thinking> c", "a   c"),
        ("a</thought>b", "b"),
        ("a<think>b", "a"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("<think>a</thinking>b", " b"),
        ("1 < 2 <b>", "1 < 2 <b>"),
    ],
)
def test_thoughts_are_left_out(text: str, left: str) -> None:
    assert without_thinking(text) == left


@given(st.lists(st.sampled_from(["<think>", "</think>", "word ", "<", "\n"]), max_size=12))
def test_no_tag_is_ever_left(parts: list[str]) -> None:
    assert "think>" not in without_thinking("".join(parts))


def test_what_follows_marks_is_given_the_last_first() -> None:
    text = "Answer: one\nbut\n**Answer:**\n\n  *two* three\nmore\nAnswer: !\nAnswer:"
    assert list(marked(text, ANSWER)) == ["two* three", "one"]


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 100_000,
        "</think>" * 100_000,
        "\n" * 1_000_000,
        "!" * 1_000_000,
        "Answer:" + ":" * 1_000_000,
        "Answer:\n" * 100_000,
        "Answer" + "*" * 1_000_000,
    ],
)
def test_a_long_text_of_one_sign_takes_no_minutes(text: str) -> None:
    # With time by the square of the length each of these would take minutes.
    assert next(marked(without_thinking(text), ANSWER), None) is None
