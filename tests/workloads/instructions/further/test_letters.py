import pytest

from flashevolve.workloads.instructions.further import letters
from tests.workloads.instructions.checked import says
from tests.workloads.instructions.further.cases import Case, holds

CASES = [
    Case(
        "letters:forbidden",
        {"letter": "k"},
        ["A day."],
        ["A kite.", "A Kite"],
        'The letter "k" must not appear anywhere; it appears [01] times?',
    ),
    Case(
        "letters:sentence_start",
        {"letter": "t"},
        ['The day. "This night!" tea.'],
        ["The day. A night.", "A day."],
        r'Every sentence must start with the letter "t"; \d of \d sentences',
    ),
    Case(
        "letters:acrostic",
        {"word": "sea"},
        ["Sun.\nEvery day.\nA beach.", "* see\n\n* eat\n* all"],
        ["Sun.\nEvery day.", "Sun.\nA.\nEvery.", "Sun.\nEvery day.\n...\nA beach."],
        'first letters of the lines must spell the word "sea"',
    ),
    Case(
        "letters:longest_word",
        {"n": 4},
        ["Four or less.", "It's 12345."],
        ["Seven letters.", "A well-off man."],
        r"at most 4 letters; the longest word has \d",
    ),
    Case(
        "case:title",
        {},
        ["A Day In 1999.", "ALL OF IT"],
        ["A day.", "The Day is Long."],
        r"Every word must start with a capital letter; \d of \d words",
    ),
    Case(
        "case:sentence_opening",
        {},
        ["THE day. A night. SO it is."],
        ["The day. A night.", "THE day. So it is."],
        r"first word of every sentence must be in capital letters; \d of \d",
    ),
    Case(
        "case:alternate_words",
        {},
        ["A BIG red DOG.", "so 12 is IT"],
        ["a big red dog", "A BIG RED DOG", "The BIG red dog"],
        r"Every second word must be in capital letters and the words between must not; \d of \d",
    ),
    Case(
        "edges:signature",
        {"name": "Nora"},
        ["Text.\n-- Nora", "Text.\n\n-- Nora\n"],
        ["Text. -- Nora", "Text.\nNora", "Text.\n-- nora", "-- Nora", "Text.\n-- Nora\nMore."],
        'last line must be the signature "-- Nora" alone',
    ),
    Case(
        "edges:first_and_last",
        {"phrase": "So be it"},
        ["So be it, then, so be it.", "So be it.\nText.\nSo be it"],
        ["So be it.", "So be it, then.", "Then so be it.", "So be it. So be it then."],
        'start with the phrase "So be it" and end with the same phrase; '
        "(the (start|end) is different|nothing stands between them)",
    ),
]


def test_the_edges_are_told_from_what_is_between_them() -> None:
    whole = {"phrase": "Well done"}
    assert says("edges:first_and_last", "Well done. Well done.", **whole).endswith(
        "; nothing stands between them."
    )
    assert says("edges:first_and_last", "Well done. Bye.", **whole).endswith("end is different.")
    assert says("edges:first_and_last", "It is well done", **whole).endswith("start is different.")


def test_every_checker_has_a_case() -> None:
    assert {case.kind for case in CASES} == set(letters.CHECKERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_a_checker_passes_good_answers_and_states_its_rule_on_bad_ones(case: Case) -> None:
    holds(case)
