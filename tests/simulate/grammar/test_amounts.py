import pytest

from flashevolve.simulate.grammar.amounts import amounts
from tests.simulate.grammar.asked import slots_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Use at least 40 words.", {"atleast word": 40}),
        ("Write 40 words or more.", {"atleast word": 40}),
        ("Use more than 40 words.", {"atleast word": 41}),
        ("Use fewer than 40 words.", {"atmost word": 39}),
        ("Write between 40 and 60 words.", {"atleast word": 40, "atmost word": 60}),
        ("Use at least 40 words and at most 60 words.", {"atleast word": 40, "atmost word": 60}),
        ("The number of words must be at least 40.", {"atleast word": 40}),
        ("The number of words must be a multiple of 7.", {"multiple word": 7}),
        ("Let the word count be divisible by 7.", {"multiple word": 7}),
        ("Use 30 different words or more.", {"atleast unique": 30}),
    ],
)
def test_relations_and_ranges_of_words(text: str, wanted: dict[str, int]) -> None:
    assert slots_of(amounts, text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Number 5 points.", {"exactly numbered": 5}),
        ('Write 5 lines that begin with "1. ", "2. " and so on.', {"exactly numbered": 5}),
        ("Ask 2 questions.", {"exactly question": 2}),
        ("Exactly 2 sentences must end with a question mark.", {"exactly question": 2}),
        ("Exclaim exactly 3 times.", {"exactly exclamation": 3}),
        ("Highlight at least 3 phrases.", {"atleast highlight": 3}),
        ("At least 3 parts must be highlighted.", {"atleast highlight": 3}),
        ("Set at least 2 phrases in bold.", {"atleast bold": 2}),
        ("Stress at least 3 words by capitals.", {"atleast capital": 3}),
        ("Words in capitals should appear fewer than 5 times.", {"atmost capital": 4}),
        ("Add at least 2 asides.", {"atleast parenthesis": 2}),
        ("Include exactly 4 numbers, written in digits.", {"exactly number": 4}),
        ("Divide it into 3 sections.", {"exactly section": 3}),
        ("Paragraph 2 of 4 is about trees.", {"exactly paragraph": 4}),
        ("Give two different answers.", {"exactly variant": 2}),
        ("Use a table with 3 columns and 2 rows.", {"exactly column": 3, "exactly row": 2}),
    ],
)
def test_what_is_counted_is_told_by_the_words_around(text: str, wanted: dict[str, int]) -> None:
    assert slots_of(amounts, text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("No sentence may have more than 12 words.", {"atmost word in sentence": 12}),
        ("Keep every sentence to at most 12 words.", {"atmost word in sentence": 12}),
        ("Use only words of at most 7 letters.", {"atmost letter in word": 7}),
        ("The longest word has 7 letters.", {"atmost letter in word": 7}),
        ("Write 40 words in 3 sentences.", {"exactly word": 40, "exactly sentence": 3}),
    ],
)
def test_an_amount_may_bound_a_larger_unit(text: str, wanted: dict[str, int]) -> None:
    assert slots_of(amounts, text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('Use the word "fox" at least twice.', {"count": ("fox", "atleast", 2)}),
        ('The letter "q" must occur at least 4 times.', {"count": ("q", "atleast", 4)}),
        ("Use the letter q fewer than 4 times.", {"count": ("q", "atmost", 3)}),
        ("Every keyword must appear at least twice.", {"times": 2}),
    ],
)
def test_words_and_letters_are_counted_by_times(text: str, wanted: dict[str, object]) -> None:
    assert slots_of(amounts, text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Put a dash between two paragraphs.",
        "Answer with one of the sentences below.",
        "The title stands on one line.",
        "Begin each line with one more space than the line above.",
        "Give the whole answer twice.",
    ],
)
def test_numbers_that_count_no_part_of_the_text_are_no_amounts(text: str) -> None:
    assert slots_of(amounts, text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "Set off one paragraph from the next.",
        "One paragraph follows the other after a gap.",
        "After each paragraph but the last one comes a line of stars.",
    ],
)
def test_a_one_that_stands_for_each_or_for_a_part_counts_nothing(text: str) -> None:
    assert slots_of(amounts, text) == {}
