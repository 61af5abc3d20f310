import pytest

from flashevolve.workloads.instructions.further import signs
from tests.workloads.instructions.checked import says
from tests.workloads.instructions.further.cases import Case, holds

CASES = [
    Case(
        "signs:questions",
        {"n": 2},
        ['Who? It is late. "Why?"', "Who?\nWhy? Then."],
        ["Who? It is.", "Who? Why? How?", "A ? sign."],
        r"Exactly 2 sentences must end with a question mark; \d",
    ),
    Case(
        "signs:exclamations",
        {"n": 1},
        ["Run! It is late."],
        ["Run! Now!", "It is late."],
        r"Exactly 1 sentence must end with an exclamation mark; \d sentences? do",
    ),
    Case(
        "signs:forbidden",
        {"sign": ";"},
        ["A day, a night."],
        ["A day; a night."],
        r'The semicolon \(";"\) must not appear anywhere; it appears [01] times?',
    ),
    Case(
        "signs:semicolons",
        {"n": 2},
        ["a; b; c", "a; b; c; d"],
        ["a; b"],
        "at least 2 semicolons; it has [01]",
    ),
    Case(
        "signs:parentheses",
        {"n": 2},
        ["One (two) three (four five)."],
        ["One (two) three.", "One () two ( ).", "One (two three (four."],
        "at least 2 phrases in parentheses; [01] were found",
    ),
    Case(
        "signs:hashtags",
        {"n": 2},
        ["A day.\n#one #two", "A day.\n\n#one  #two\n"],
        [
            "A day. #one #two",
            "A day.\n#one",
            "A day.\n#one #two #three",
            "#one #two",
            "A\n#one two",
        ],
        'last line must consist of exactly 2 hashtags, each a word with "#" before it',
    ),
    Case(
        "signs:end_mark",
        {"mark": "!"},
        ['Run! "It is late!"'],
        ["Run! It is late.", "Run! It is late"],
        r"Every sentence must end with an exclamation mark; \d of \d sentences",
    ),
    Case(
        "numbers:count",
        {"n": 2},
        ["1,200 days and 3.5 nights.", "2 of 3."],
        ["1 day.", "One of two.", "1 2 3"],
        r"exactly 2 numbers that are written in digits; it has \d",
    ),
]


def test_one_of_a_thing_is_singular() -> None:
    assert "at least 1 semicolon; it has 0." in says("signs:semicolons", "a", n=1)
    assert "exactly 1 number that is written" in says("numbers:count", "a", n=1)
    assert "exactly 2 numbers that are written" in says("numbers:count", "a", n=2)
    assert "at most 1 word; " in says("words:longest_sentence", "Two words.", n=1)
    assert "exactly 1 line and" in says("layout:lines", "a\nb", n=1)


def test_every_checker_has_a_case() -> None:
    assert {case.kind for case in CASES} == set(signs.CHECKERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_a_checker_passes_good_answers_and_states_its_rule_on_bad_ones(case: Case) -> None:
    holds(case)


@pytest.mark.parametrize(("sign", "called"), [("?", "question mark"), ("%", 'sign "%"')])
def test_a_sign_has_a_name_or_is_shown(sign: str, called: str) -> None:
    assert signs.name(sign) == called
