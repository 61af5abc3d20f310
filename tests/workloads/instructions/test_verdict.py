"""Constraints that no answer can meet are refused with the example, not missed for ever."""

from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.instructions.layout import constraints
from tests.workloads.instructions.checked import passes

PARAGRAPH = "length_constraints:nth_paragraph_first_word"


def given(name: str, /, **values: Any) -> dict[str, Any]:
    return {"key": 1, "prompt": "Do.", "instruction_id_list": [name], "kwargs": [values]}


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("words:between", {"low": 9, "high": 3}, r"low to be at most high, found \{'low': 9, 'hi"),
        (
            PARAGRAPH,
            {"num_paragraphs": 1, "nth_paragraph": 3, "first_word": "a"},
            r"expected in kwargs\[0\] of \S+ nth_paragraph to be at most num_paragraphs, found \{",
        ),
        (
            PARAGRAPH,
            {"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "my friend"},
            r"expected 'first_word' .* to be one word without marks, found 'my friend'$",
        ),
        (PARAGRAPH, {"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "don't"}, "one word"),
        ("signs:end_mark", {"mark": ";"}, r"expected 'mark' .* to be '\.' or '!' or '\?', found"),
        ("words:last", {"word": "two words"}, r"'word' .* to be one word, found 'two words'$"),
        ("words:in_every_sentence", {"word": "Go. On"}, r"to be one word, found 'Go\. On'$"),
        ("words:order", {"first": "tea", "second": "Tea"}, r"first to begin with another word"),
        ("words:order", {"first": "tea house", "second": "tea"}, r"begin with another word"),
        ("letters:acrostic", {"word": "a b"}, r"'word' .* to be one word of letters, found 'a b'"),
        ("letters:sentence_start", {"letter": "#"}, r"'letter' .* to be a single letter, found '#"),
        ("edges:signature", {"name": "Ida\nStone"}, r"'name' .* a text of one line that is not"),
        ("edges:first_and_last", {"phrase": "..."}, r"'phrase' .* to be a text with a word in it"),
        *[
            (name, {key: 0}, rf"'{key}' .* to be a whole number of 1 or more, found 0$")
            for name, key in (
                ("letters:longest_word", "n"),
                ("words:longest_sentence", "n"),
                ("words:multiple", "k"),
                ("layout:lines", "n"),
                ("layout:table", "columns"),
                ("signs:hashtags", "n"),
            )
        ],
        *[
            (
                name,
                {number: least - 1, relation: "less than", **more},
                rf"{number} to be {least} or more where {relation} is 'less than', found",
            )
            for name, number, relation, least, more in (
                ("keywords:frequency", "frequency", "relation", 1, {"keyword": "a"}),
                ("keywords:letter_frequency", "let_frequency", "let_relation", 1, {"letter": "a"}),
                ("length_constraints:number_words", "num_words", "relation", 1, {}),
                ("length_constraints:number_sentences", "num_sentences", "relation", 2, {}),
                (
                    "change_case:capital_word_frequency",
                    "capital_frequency",
                    "capital_relation",
                    1,
                    {},
                ),
            )
        ],
    ],
)
def test_what_nobody_can_meet_is_refused(name: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        constraints(given(name, **values))


@pytest.mark.parametrize(
    ("name", "values", "answer"),
    [
        ("words:between", {"low": 2, "high": 2}, "Two words."),
        ("words:order", {"first": "old tea", "second": "tea"}, "Old tea."),
        ("letters:acrostic", {"word": "ab"}, "Ants\nbees"),
        ("length_constraints:number_words", {"num_words": 1, "relation": "less than"}, "!"),
        ("length_constraints:number_words", {"num_words": 0, "relation": "at least"}, "!"),
        ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "less than"}, "!"),
        (PARAGRAPH, {"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "Well-known"},
         "well-known, it is."),
        ("edges:first_and_last", {"phrase": "Well done!"}, "Well done! It is over. Well done!"),
    ],
)  # fmt: skip
def test_what_can_just_be_met_is_not(name: str, values: dict[str, Any], answer: str) -> None:
    assert passes(name, answer, **values)


@pytest.mark.parametrize(
    ("name", "values", "answer"),
    [
        ("words:last", {"word": " tea "}, "I like tea."),
        ("edges:signature", {"name": "Ida\n"}, "Hello.\n-- Ida"),
        ("edges:first_and_last", {"phrase": " At last"}, "At last it snows. At last."),
        ("combination:repeat_prompt", {"prompt_to_repeat": "One.\r\nTwo.\r"}, "One.\nTwo. Three."),
        ("keywords:existence", {"keywords": ["old\r\ntea"]}, "An old\r\ntea."),
    ],
)
def test_texts_among_the_values_are_stripped_and_normalized(
    name: str, values: dict[str, Any], answer: str
) -> None:
    assert passes(name, answer, **values)
