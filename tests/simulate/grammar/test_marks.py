import pytest

from flashevolve.simulate.grammar.marks import mark_of, marks, mirror
from tests.simulate.grammar.asked import slots_of


@pytest.mark.parametrize(
    ("shown", "wrapping", "mark"),
    [
        (["<<", ">>"], False, ("<<", ">>")),
        (["<<a title>>"], False, ("<<", ">>")),
        (["## Heading"], False, ("## ", "")),
        (["**"], True, ("**", "**")),
        (["["], True, ("[", "]")),
        (["[]"], False, ("[", "]")),
        (["word"], True, None),
    ],
)
def test_a_mark_is_shown_by_signs_or_by_a_pattern(
    shown: list[str], wrapping: bool, mark: tuple[str, str] | None
) -> None:
    assert mark_of(shown, wrapping=wrapping) == mark


def test_brackets_close_what_they_open() -> None:
    assert [mirror(sign) for sign in ("(", "<<", "*")] == [")", ">>", "*"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('Begin every bullet line with "* ".', {"marker": "* "}),
        ('Use "+" and not "-" for bullets.', {"marker": "+"}),
        ("Titles stand in double angle brackets.", {"title marks": ("<<", ">>")}),
        ("A heading is marked by two hashes.", {"heading marks": ("##", "")}),
        ("Placeholders look like [name].", {"placeholder marks": ("[", "]")}),
        ("Highlight with single asterisks.", {"highlight marks": ("*", "*")}),
        ("Set words in bold like **this**.", {"bold marks": ("**", "**")}),
        ("Asides stand in round brackets.", {"parenthesis marks": ("(", ")")}),
        ('A postscript begins with "P.S.".', {"postscript mark": "P.S."}),
        ("Mark each section with SECTION X.", {"section mark": "SECTION"}),
        ('Sections are headed "Part 1", "Part 2".', {"section mark": "Part"}),
        ('Numbered lines begin with "1) ".', {"number mark": ") "}),
        ("Separate paragraphs by three asterisks.", {"paragraph separator": "***"}),
        ("Leave a blank line between paragraphs.", {"paragraph separator": ""}),
        ('Paragraphs are divided by "***", not by blank lines.', {"paragraph separator": "***"}),
        ("Six asterisks stand between two answers.", {"variant separator": "******"}),
        ("Set each paragraph off from the next by ***.", {"paragraph separator": "***"}),
        ("Six asterisks keep two answers apart.", {"variant separator": "******"}),
        ('Put "---" between the two copies.', {"copy separator": "---"}),
        ("Put the text between two lines of dashes.", {"any separator": "-"}),
    ],
)
def test_a_mark_belongs_to_the_part_that_is_named(text: str, wanted: dict[str, object]) -> None:
    assert slots_of(marks, text) == wanted
