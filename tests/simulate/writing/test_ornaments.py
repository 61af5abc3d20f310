import re

import pytest

from tests.simulate.writing.written import written


@pytest.mark.parametrize(
    ("request_", "pattern"),
    [
        ("Set at least 4 phrases in bold, like **this**.", r"\*\*\w+\*\*"),
        ("Highlight at least 4 phrases, like *this*.", r"\*\w+\*"),
        ("Leave at least 4 placeholders in square brackets.", r"\[\w+\]"),
        ("Include at least 4 phrases in parentheses.", r"\(\w+\)"),
        ("Use at least 4 words in capitals.", r"\b[A-Z]{2,}\b"),
        ("Include exactly 4 numbers, written in digits.", r"\b\d+\b"),
    ],
)
def test_as_many_words_look_different_as_wanted(request_: str, pattern: str) -> None:
    for draw in range(10):
        found = len(re.findall(pattern, written(request_, draw=draw)))
        assert found in ((4, 5) if "least" in request_ else (4,))


def test_numbers_may_be_written_in_words() -> None:
    texts = [written("Include exactly 3 numbers.", draw=draw) for draw in range(30)]
    assert {bool(re.search(r"\d", text)) for text in texts} == {True, False}


def test_ornaments_do_not_change_the_number_of_words() -> None:
    text = written("Write exactly 20 words. Set 9 phrases in bold, like **this**.")
    assert len(text.split()) == 20
