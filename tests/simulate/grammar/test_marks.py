import pytest

from flashevolve.simulate.grammar.marks import mark_of, marks, mirror
from tests.simulate.grammar.asked import slots, slots_of


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
        (
            'Paragraphs are divided by "***", not by blank lines.',
            {"paragraph separator": "***", "not paragraph separator": ""},
        ),
        ("Six asterisks stand between two answers.", {"variant separator": "******"}),
        ("Set each paragraph off from the next by ***.", {"paragraph separator": "***"}),
        ("Six asterisks keep two answers apart.", {"variant separator": "******"}),
        ('Put "---" between the two copies.', {"copy separator": "---"}),
        ("Put the text between two lines of dashes.", {"any separator": "-"}),
    ],
)
def test_a_mark_belongs_to_the_part_that_is_named(text: str, wanted: dict[str, object]) -> None:
    assert slots_of(marks, text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        'Never begin a bullet line with "* ".',
        "Don’t start list items with an asterisk.",
        'Stop beginning bullets with "* ".',
        'It is wrong to begin a bullet with "* ".',
        'Beginning a bullet with "* " is wrong.',
        'A bullet must not begin with "* ".',
        '"* " is not allowed at the start of bullets.',
        'Begin bullets with something else instead of "* ".',
        'Begin bullets with anything but "* ".',
        'Use something other than "* " for bullets.',
        "An asterisk must never mark a bullet.",
    ],
)
def test_a_mark_that_is_forbidden_is_refused_and_not_asked_for(text: str) -> None:
    ((slot, value),) = slots_of(marks, text).items()
    assert slot == "not marker"
    assert str(value).strip() == "*"


@pytest.mark.parametrize(
    "text",
    [
        'Never begin a bullet line without "* ".',
        'Do not forget to begin bullets with "* ".',
        'A bullet that does not begin with "* " is wrong.',
        'Never use any sign other than "* " for bullets.',
        'Do not use anything but "* " for bullets.',
        'Without exception, begin every bullet with "* ".',
        "Never mark bullets with a hyphen; the asterisk is right.",
        "The hyphen is wrong for bullets; the asterisk is right.",
        'Not "- " but "* " begins a bullet.',
        'Never begin bullets with "- " and always begin bullets with "* ".',
        'Instead of "- ", begin bullets with "* ".',
    ],
)
def test_a_mark_is_asked_for_where_negations_cancel_or_forbid_another(text: str) -> None:
    assert str(slots(text)["marker"]).strip() == "*"
