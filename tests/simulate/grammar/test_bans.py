import pytest

from flashevolve.simulate.grammar.bans import bans, inclusions
from tests.simulate.grammar.asked import slots_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Avoid commas.", {"ban": ","}),
        ("Do not use any exclamation mark.", {"ban": "!"}),
        ('The colon (":") must not appear anywhere.', {"ban": ":"}),
        ('Do not use the word "nice".', {"ban": "nice"}),
        ('Never use the letter "e".', {"ban letter": "e"}),
        ("Write it without the letter e.", {"ban letter": "e"}),
        ("No sentence may have more than 12 words.", {}),
        ('Start with "Now" and not with "Then".', {}),
        ('Repeat "Now we go" without change.', {}),
        ("Use commas.", {}),
    ],
)
def test_a_ban_names_words_letters_or_signs(text: str, wanted: dict[str, object]) -> None:
    assert slots_of(bans, text) == wanted


@pytest.mark.parametrize(
    ("text", "included"),
    [
        ('Include the keyword "fox".', True),
        ('Mention "fox".', True),
        ('Use the word "fox".', True),
        ('Use the word "fox" twice.', False),
        ('Do not mention "fox".', False),
        ('End with the word "fox".', False),
    ],
)
def test_what_must_occur_is_included_unless_a_place_or_number_is_told(
    text: str, included: bool
) -> None:
    assert slots_of(inclusions, text) == ({"include": "fox"} if included else {})
