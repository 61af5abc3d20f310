import pytest

from flashevolve.workloads.instructions.further.parts import end_mark, places, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is. Two is!", ["One is.", "Two is!"]),
        ('He said "no." Then yes', ['He said "no."', "Then yes"]),
        ("A title\n\nOne is.", ["A title", "One is."]),
        ("1. One.\n2. Two.", ["One.", "Two."]),
        ("It costs 3.50 here. ... !", ["It costs 3.50 here."]),
        ("Wait... what?!", ["Wait...", "what?!"]),
        ("P.S. More.", ["P.S.", "More."]),
        ("", []),
    ],
)
def test_a_sentence_ends_at_a_mark_before_a_space_or_at_a_blank_line(
    text: str, expected: list[str]
) -> None:
    assert sentences(text) == expected


def test_places_are_those_of_whole_words_in_any_case() -> None:
    assert places("Oak, oaken, an OAK", "oak") == [0, 15]


@pytest.mark.parametrize(
    ("sentence", "mark"), [("One.", "."), ('"One!" ', "!"), ("(One?)", "?"), ("One", ""), ("", "")]
)
def test_the_final_mark_stands_behind_closing_signs(sentence: str, mark: str) -> None:
    assert end_mark(sentence) == mark
