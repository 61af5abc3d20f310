import pytest

from flashevolve.simulate.grammar.places import places
from tests.simulate.grammar.asked import slots_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('Open with "Dear all".', {"start": "Dear all"}),
        ('Finish with the words "The end".', {"end": "The end"}),
        ('Open and close with "So it is".', {"start": "So it is", "end": "So it is"}),
        ("A closing phrase stands alone on the last line.", {"end style": "own line"}),
        ("Nothing may follow a closing phrase.", {"end style": "plain"}),
        ('Make "fox" the last word.', {"last word": "fox"}),
        ('Sign as "Maria".', {"signature": "Maria"}),
        ('Sign on the last line, which is "-- Maria".',
         {"signature": "Maria", "signature mark": "-- "}),
        ('Signatures look like "-- Name".', {"signature mark": "-- "}),
        ("Put hashtags on a line of their own at the end.", {"hashtag place": "last line"}),
    ],
)  # fmt: skip
def test_the_ends_of_a_text(text: str, wanted: dict[str, object]) -> None:
    assert slots_of(places, text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('Use the word "fox" in every sentence.', {"sentence word": "fox"}),
        ('Start every sentence with the letter "s".', {"sentence letter": "s"}),
        ('Begin each sentence with "Now".', {"sentence start": "Now"}),
        ("End every sentence with a question mark.", {"sentence end": "?"}),
        ('All sentences must end in "...".', {"sentence end": "..."}),
        ("Put each sentence on its own line.", {"sentence lines": "yes"}),
        ("Let the sentences grow longer and longer.", {"growth": "sentence"}),
        ("Every sentence has more words than the one before.", {"growth": "sentence"}),
        ('Begin every line with "> ".', {"line look": "prefixed", "line prefix": "> "}),
        ("Format it as a quote.", {"line look": "prefixed"}),
        ("Indent the lines like a staircase.", {"indent": "growing"}),
        ("Begin each line with one more space than the line above.",
         {"indent": "growing", "indent step": 1}),
        ('The first letters of the lines spell "lamp".', {"acrostic": "lamp"}),
        ('Write an acrostic of the word "lamp".', {"acrostic": "lamp"}),
        ('Start the second paragraph with the word "fox".', {"paragraph start": (2, "fox")}),
        ('The last paragraph must start with "fox".', {"paragraph start": (-1, "fox")}),
    ],
)  # fmt: skip
def test_sentences_lines_and_paragraphs(text: str, wanted: dict[str, object]) -> None:
    assert slots_of(places, text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        'Mention "a fox" before "a hen".',
        'Mention "a hen" after "a fox".',
        'Include "a fox" and after it "a hen".',
        'First name "a fox", then "a hen".',
        'Before "a hen" comes "a fox".',
        'After "a fox" comes "a hen".',
        'Both "a hen" and "a fox" must occur, and "a fox" must come first.',
    ],
)
def test_an_order_may_be_told_in_many_ways(text: str) -> None:
    assert slots_of(places, text) == {"order": ("a fox", "a hen")}


@pytest.mark.parametrize(
    "text",
    [
        'A name that signs a text follows "-- ".',
        'The name of whoever signs comes after "-- ".',
        '"-- " comes before the name of the signer.',
    ],
)
def test_who_signs_makes_a_signature(text: str) -> None:
    assert slots_of(places, text)["signature mark"] == "-- "
