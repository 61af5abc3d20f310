import pytest

from tests.workloads.instructions.checked import passes, says

TWO, REPEAT = "combination:two_responses", "combination:repeat_prompt"
END, QUOTED = "startend:end_checker", "startend:quotation"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("one\n******\ntwo", None),
        ("******\none\n******\ntwo\n******", None),
        ("one\n***\ntwo", "1 were found"),
        ("one\n******\none", "both are the same"),
        ("one\n******\ntwo\n******\nthree", "3 were found"),
        ("one************two", "there is nothing between two dividers"),
    ],
)
def test_two_answers_differ_and_are_divided(answer: str, problem: str | None) -> None:
    assert passes(TWO, answer) is (problem is None)
    if problem:
        assert says(TWO, answer) == (
            "There must be exactly two different answers with six asterisks, "
            f'"******", between them; {problem}.'
        )


def test_the_request_is_repeated_before_the_answer() -> None:
    values = {"prompt_to_repeat": " Write a Haiku.\nNow. "}
    assert passes(REPEAT, "\nwrite a haiku.\r\nNOW. Snow falls.", **values)
    assert says(REPEAT, "Sure! Write a haiku.\nNow.", **values) == (
        "The answer must first repeat the request word for word, without any word before it, and "
        "only then answer it; it starts differently."
    )


def test_the_answer_ends_with_the_phrase() -> None:
    assert passes(END, '"So. The END."\n', end_phrase="the end. ")
    assert passes(END, "The end.", end_phrase="The end.")
    assert says(END, "The end. Bye", end_phrase="The end.") == (
        'The answer must end with exactly "The end." and nothing after it; it ends differently.'
    )


def test_the_answer_stands_in_straight_quotation_marks() -> None:
    assert passes(QUOTED, '\n"Hi," she said. "Bye."\n')
    assert not passes(QUOTED, '"')
    assert says(QUOTED, "“Hi”") == (
        'The whole answer must be wrapped in straight double quotation marks ("), one as its first '
        "and one as its last character; they are missing."
    )
