import pytest

from tests.workloads.instructions.checked import passes, says

WORDS, SENTENCES = "length_constraints:number_words", "length_constraints:number_sentences"
PARAGRAPHS = "length_constraints:number_paragraphs"
FIRST = "length_constraints:nth_paragraph_first_word"


def test_words_are_runs_of_letters_and_digits() -> None:
    assert passes(WORDS, "well-known, don't: 3 naïve", num_words=6, relation="at least")
    assert passes(WORDS, "one two", num_words=3, relation="less than")
    assert says(WORDS, "one - two", num_words=3, relation="at least") == (
        "The answer must have at least 3 words; it has 2."
    )


def test_sentences_end_with_their_marks_and_not_after_abbreviations() -> None:
    text = "Dr. Smith paid 3.5 dollars. Did he? Yes!"
    assert passes(SENTENCES, text, num_sentences=3, relation="at least")
    assert says(SENTENCES, text, num_sentences=3, relation="less than") == (
        "The answer must have less than 3 sentences, where only a full stop, a question mark or an "
        "exclamation mark ends one; it has 3."
    )


def test_a_line_end_ends_no_sentence() -> None:
    assert passes(SENTENCES, "one\ntwo\n\nthree", num_sentences=2, relation="less than")


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        ("one\n***\ntwo", True),
        ("one *** two", True),
        ("***\none\n***\ntwo\n***\n", True),
        ("one\r\n***\r\ntwo", True),
        ("one\n\ntwo", False),
        ("one\n***\n***\ntwo", False),
        ("one", False),
        ("***", False),
    ],
)
def test_paragraphs_are_divided_by_three_asterisks(answer: str, met: bool) -> None:
    assert passes(PARAGRAPHS, answer, num_paragraphs=2) is met


def test_the_divider_is_told() -> None:
    rule = (
        'There must be exactly 2 paragraphs with the divider "***" between two of them, and blank '
        "lines do not divide; "
    )
    assert says(PARAGRAPHS, "one\n\ntwo", num_paragraphs=2) == f"{rule}1 were found."
    assert says(PARAGRAPHS, "a******b", num_paragraphs=2) == (
        f"{rule}there is nothing between two dividers."
    )


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        ("One here.\n\nOnce upon a time.", True),
        ('One here.\n\n"\'Once" upon', False),
        ('One here.\n\n\'"Once" upon', True),
        ("One here.\r\n\r\nONCE, upon", True),
        ("One here.\n\n\n\nOnce upon a time.", False),
        ("One here.\n\nTwice upon a time.", False),
        ("One here.\nOnce upon a time.", False),
        ("\n\nOnce upon a time.", False),
    ],
)
def test_a_paragraph_starts_with_a_word(answer: str, met: bool) -> None:
    values = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Once"}
    assert passes(FIRST, answer, **values) is met


def test_what_is_wrong_with_the_paragraph_is_told() -> None:
    values = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "once"}
    rule = (
        "There must be exactly 2 paragraphs with one blank line between two of them, and "
        'paragraph 2 must start with the word "once"; '
    )
    assert says(FIRST, "A.\n\nTwice.", **values) == f'{rule}paragraph 2 starts with "twice".'
    assert says(FIRST, "A.", **values) == f"{rule}1 were found."
    assert says(FIRST, "A.\n\n\n\nOnce.", **values) == f"{rule}one is empty."
