from collections.abc import Sequence

import pytest

from flashevolve.workloads.ifbench.checkers import requests
from flashevolve.workloads.ifbench.checkers.data import CAPITALS
from tests.workloads.ifbench.checkers.cases import Case, assert_right

ALPHABET = " ".join(f"{letter}ny one." for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
LANDS = ["Zimbabwe", "Zambia", *(f"{a}{b}land" for a in "VTSRPNML" for b in "yuoiea")]
EAST = ", ".join(CAPITALS)


def quiz(lengths: Sequence[int], letters: str = "ABCDE") -> str:
    return "\n\n".join(
        f"Question {n}: {'w' * length}?\n" + "\n".join(f"{one}) it" for one in letters)
        for n, length in enumerate(lengths, start=1)
    )


def table(header: str, row: str, n: int, last: str = "") -> str:
    return "\n".join([header, *[row] * (n - bool(last)), *([last] if last else [])])


PLACES, PRODUCTS = "ID,Country,City,Year,Count", "ProductID,Category,Brand,Price,Stock"
STUDENTS = '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"'
ROW, STUDENT = "1,a,b,2000,3", '"1"\t"a b"\t"c"\t"2"\t"3"'

CASES = [
    Case(
        "custom:multiples",
        {},
        ("14, 21, 28, 35, 42, 49", "14\n21\n28\n35\n42\n49."),
        {"14 21": "it holds 14, 21", "None": "it holds no number"},
    ),
    Case(
        "custom:mcq_count_length",
        {},
        (quiz([3, 4, 6, 9]),),
        {
            quiz([3, 4, 6]): "3 questions with 5, 5, 5 options",
            quiz([3, 4, 4, 6]): "a question is not longer than the one before",
            quiz([3, 4, 5, 6], "ABCD"): "4 questions with 4, 4, 4, 4 options",
            f"Here:\n{quiz([30, 40, 50, 60])}": "5 questions with 0, 5, 5, 5, 5 options",
            "\n" + quiz([3, 4, 6, 9]): "the answer starts with another text",
        },
    ),
    Case(
        "custom:reverse_newline",
        {},
        (
            "\n".join(LANDS) + "\nKenya\nChad",
            "Here:\n- " + "\n- ".join(LANDS + ["Kenya"] * 2),
        ),
        {
            "\n".join(LANDS): "50 lines from Zimbabwe on, in order",
            "\n".join([*LANDS, "Zulu", "Aland"]): "52 lines from Zimbabwe on, out of order",
            "Angola": "0 lines from Zimbabwe on, in order",
        },
    ),
    Case(
        "custom:word_reverse",
        {},
        ("Eagle bald the is it.",),
        {"It is the bald eagle.": "it is not"},
    ),
    Case(
        "custom:character_reverse",
        {},
        (".elgaE dlaB eht si tI",),
        {"It is the bald eagle.": "it is not"},
    ),
    Case(
        "custom:sentence_alphabet",
        {},
        (ALPHABET,),
        {
            ALPHABET[
                9:
            ]: "25 sentences start with b c d e f g h i j k l m n o p q r s t u v w x y z",
            "Any bee.": "1 sentence start with a",
        },
    ),
    Case(
        "custom:european_capitals_sort",
        {},
        (EAST, EAST.replace("Chisinau", "Chișinău") + ","),
        {
            f"{EAST}, Rome": "28 names were found, 27 of them in their place",
            "Oslo, Helsinki": "2 names were found, 1 of them in their place",
        },
    ),
    Case(
        "custom:csv_city",
        {},
        (table(PLACES, ROW, 7), table(PLACES, '1,"a, b",c,2,3', 7) + "\n"),
        {
            table(PLACES, ROW, 6): "6 rows after the first line",
            table(PLACES.lower(), ROW, 7): "the first line is another one",
            table(PLACES, ROW, 7, "1,2"): "a row has not five fields",
            f"{PLACES}\n{'1' * 200_000}": "the first line is another one",
        },
    ),
    Case(
        "custom:csv_special_character",
        {},
        (
            table(PRODUCTS, ROW, 14, '1,"a&b",c,2,3'),
            table(PRODUCTS.replace(",", ", "), ROW, 14, '1,"a, b",c,2,3') + "\n",
        ),
        {
            table(PRODUCTS, ROW, 14): "a field is not as asked",
            table(PRODUCTS, ROW, 14, "1,a&b,c,2,3"): "a field is not as asked",
            table(PRODUCTS, ROW, 13, '1,"a&b",c,2,3'): "13 rows after the first line",
            table(PLACES, ROW, 14, '1,"a&b",c,2,3'): "the first line is another one",
            table(PRODUCTS, ROW, 14, '1,"a&b",c'): "a row has not five fields",
        },
    ),
    Case(
        "custom:csv_quotes",
        {},
        (table(STUDENTS, STUDENT, 3), table(STUDENTS, STUDENT, 3) + "\n"),
        {
            table(STUDENTS.replace('"', ""), STUDENT, 3): "a field is not as asked",
            table(STUDENTS, STUDENT, 3, '"1"\t"2"\t\t"3"\t"4"'): "a field is not as asked",
            table(STUDENTS, STUDENT, 2): "2 rows after the first line",
            table(STUDENTS.replace("\t", ","), STUDENT, 3): "the first line is another one",
        },
    ),
    Case(
        "custom:date_format_list",
        {},
        ("1796-05-10, 1800-06-14", "1815-06-18\n"),
        {
            "1796-05-10, 1800-13-14": "1 of 2 parts are something else",
            "1796-02-30,1815-04-31,1815-06-18,1915-01-01": "3 of 4 parts are something else",
            "Marengo: 1800-06-14": "1 of 1 parts are something else",
            "1800-06-14,": "1 of 2 parts are something else",
        },
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_answers_are_told_apart(case: Case) -> None:
    assert_right(case)


def test_each_checker_has_a_case() -> None:
    assert {case.id for case in CASES} == set(requests.CHECKERS)
