import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.replies.fences import ReplyError, fence, fenced_text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Sure:\n```\nBe brief.\n```\nDone.", "Be brief."),
        ("```markdown\nBe brief.\n```", "Be brief."),
        ("``` text \r\nBe brief.\r\n```", "Be brief."),
        ("```Be brief, please.```", "Be brief, please."),
        ("```\nUse:\n```python\nx\n```\nAlways.\n```", "Use:\n```python\nx\n```\nAlways."),
        ("````\nUse:\n```\nx\n```\n````", "Use:\n```\nx\n```"),
    ],
)
def test_the_text_between_first_and_last_fence_is_read(reply: str, text: str) -> None:
    assert fenced_text(reply) == text


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "found no fence"),
        ("I am sorry, I cannot do that.", "found no fence"),
        ("```\nThis answer was cut", "found a single fence"),
        ("```\n\n```", "found nothing"),
        ("``````", "found a single fence"),
    ],
)
def test_a_reply_without_a_fenced_text_is_refused(reply: str, problem: str) -> None:
    with pytest.raises(ReplyError, match=problem):
        fenced_text(reply)


@given(st.text())
def test_what_is_fenced_is_read_back(text: str) -> None:
    if text.strip():
        assert fenced_text(f"Here:\n{fence(text)}") == text.strip()
