import pytest

from flashevolve.workloads.instructions.further import words
from tests.workloads.instructions.further.cases import Case, holds

CASES = [
    Case(
        "words:between",
        {"low": 3, "high": 4},
        ["One two three.", "It's a well-known day."],
        ["One two.", "One two three four five."],
        r"between 3 and 4 words; it has \d words",
    ),
    Case(
        "words:unique",
        {"n": 3},
        ["A b a c."],
        ["a A b B a."],
        "at least 3 different words.*; it uses [02]",
    ),
    Case(
        "words:longest_sentence",
        {"n": 3},
        ["One two three. Four!", '"One two three." Four five six.'],
        ["One. One two three four."],
        r"at most 3 words; the longest sentence has \d",
    ),
    Case(
        "words:order",
        {"first": "oak", "second": "elm"},
        ["An Oak, an elm, an oak."],
        ["An elm, an oak.", "An oak.", "An oaken elm."],
        'include the word "oak" and after it the word "elm"; (they come|it lacks)',
    ),
    Case(
        "words:last",
        {"word": "oak"},
        ["By the Oak!", 'It is "an oak".'],
        ["An oak tree.", "Oaks", "No oak here."],
        'last word of the answer must be "oak"',
    ),
    Case(
        "words:in_every_sentence",
        {"word": "oak"},
        ["An oak. The Oak is old!"],
        ["An oak. A tree."],
        'Every sentence must include the word "oak"; (1 of 2|0 of 0)',
    ),
    Case(
        "words:multiple",
        {"k": 3},
        ["One two three.", "One two three four five six."],
        ["One two three four."],
        "multiple of 3; the answer has [04] words",
    ),
    Case(
        "words:growing",
        {},
        ["One. One two. One two three!"],
        ["One. One two.", "One. One two. Two one.", "One two. One. One two three."],
        "at least 3 sentences and every sentence must have more words than",
    ),
]


def test_every_checker_has_a_case() -> None:
    assert {case.kind for case in CASES} == set(words.CHECKERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_a_checker_passes_good_answers_and_states_its_rule_on_bad_ones(case: Case) -> None:
    holds(case)


def test_feedback_names_the_missing_word_only() -> None:
    assert words.order("An elm.", first="oak", second="elm").feedback.endswith('it lacks "oak".')


def test_feedback_shows_the_lengths_of_the_first_sentences() -> None:
    assert words.growing("One two. One. Two.").feedback.endswith("numbers of words: 2, 1, 1.")
