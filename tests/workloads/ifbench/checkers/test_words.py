import pytest

from flashevolve.workloads.ifbench.checkers import words
from tests.workloads.ifbench.checkers.cases import Case, assert_right

PALINDROMES = "Level, civic. radar refer rotor kayak madam tenet minim level"

CASES = [
    Case(
        "words:alphabet",
        {},
        ("Yes zebras are big.", "x - y"),
        {
            "Any cat": "word 2 is the first that is wrong",
            "Any bee can fly": "word 4 is the first that is wrong",
            "3 dogs": "word 2 is the first that is wrong",
            "3": "word 1 is the first that is wrong",
        },
    ),
    Case(
        "words:vowel",
        {},
        ("A red inn sat\n", "By my"),
        {
            "One red inn sat": "1 line was found, with a, e, i, o",
            "One\ntwo": "2 lines were found, with e, o",
        },
    ),
    Case(
        "words:consonants",
        {},
        ("Sharp stones fly", "THE end."),
        {"Sharp a stones": '1 word was found without, the first is "a"'},
    ),
    Case(
        "words:palindrome",
        {},
        (PALINDROMES,),
        {PALINDROMES.replace("minim", "noon"): "there are 9", "level": "there are 1"},
    ),
    Case(
        "words:prime_lengths",
        {},
        ("We saw, three, ok.", "it's two"),
        {"We saw four cats": "2 other words were found", "a": "1 other word was found"},
    ),
    Case(
        "words:repeats",
        {"small_n": 2},
        ("Tea, tea and so on", "..."),
        {"Tea, tea TEA!": '"tea" occurs 3 times'},
    ),
    Case(
        "words:last_first",
        {},
        ("I like snow. Snow is cold! Cold is bad.", "One sentence."),
        {'I like snow. Snow is cold! "Cold" is bad.': "1 of 2 do not"},
    ),
    Case(
        "words:paragraph_last_first",
        {},
        ("Snow is snow.\n\nSo it is so!", "Snow", "***\nTea"),
        {"Snow is snow\nIt is": "1 of 2 do not"},
    ),
    Case(
        "words:no_consecutive",
        {},
        ("Snow is cold", "So - was it not?"),
        {"Snow Still is": '1 such pair was found, the first is "snow still"'},
    ),
    Case(
        "words:keywords_specific_position",
        {"keyword": "snow", "n": 2, "m": 3},
        ("Yes. Now, snow falls.", "Yes! We like snow?"),
        {
            "Yes. Now snow falls.": '"falls" is there',
            "Yes. We like Snow.": '"Snow" is there',
            "Yes. No": "that sentence is shorter",
            "Yes we like snow": "there are only 1 sentence",
        },
    ),
    Case(
        "words:words_position",
        {"keyword": "snow"},
        ("The snow is snow.", "The snow on snow now", "A snow"[2:] + " snow snow"),
        {
            "The snow is snow": '"snow" and "is" are there',
            "The Snow is Snow.": '"Snow" and "Snow" are there',
            "snow": "there are not two words",
        },
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_answers_are_told_apart(case: Case) -> None:
    assert_right(case)


def test_each_checker_has_a_case() -> None:
    assert {case.id for case in CASES} == set(words.CHECKERS)
