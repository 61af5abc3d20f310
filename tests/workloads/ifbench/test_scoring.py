import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import DataError
from flashevolve.workloads import instructions
from flashevolve.workloads.ifbench import (
    checkers,
    score,
    score_loose,
    score_whole,
    unknown_ids,
    usable,
)
from flashevolve.workloads.instructions.layout import parameters

PIECES = [
    "a",
    "B.",
    "\n",
    "* ",
    '"',
    "'",
    "(",
    ")",
    "1, ",
    "Question 1",
    "<i>",
    "</i>",
    "\t",
    "U.S. ",
]

EXAMPLE: dict[str, Any] = {
    "key": 1,
    "prompt": "Say hello. Use no commas. Add a title.",
    "instruction_id_list": ["punctuation:no_comma", "detectable_format:title"],
    "kwargs": [{}, {}],
}
FOREIGN: dict[str, Any] = {
    "key": "2",
    "prompt": "Start with a verb.",
    "instruction_id_list": ["words:start_verb"],
    "kwargs": [{}],
}
PUBLIC: dict[str, Any] = {
    "key": "3",
    "prompt": "Tell of snow. Use at least 2 different coordinating conjunctions in the response. "
    "The output should not contain any whitespace. Use no commas.",
    "instruction_id_list": ["count:conjunctions", "format:no_whitespace", "punctuation:no_comma"],
    "kwargs": [
        {"N": None, "small_n": 2.0, "keyword1": None},
        {"N": None, "small_n": None, "keyword1": None},
        {},
    ],
}
"""In the layout of IFBench's public file: all names of values, most of them null."""


def test_ifbench_s_own_instructions_are_scored_beside_ifeval_s() -> None:
    score.check_examples([PUBLIC, EXAMPLE])
    scored, feedback = score(PUBLIC, {"draft": "Snow, and ice", "answer": "Snow and ice or rain"})
    assert scored == pytest.approx(2 / 3)
    assert "must have no white space, neither spaces nor line ends; it has 4." in feedback
    assert feedback.endswith("0 of 3 instructions were met; it mended 2 and broke 0.")
    assert score_loose(PUBLIC, "Sure:\nAnd-so\n")[0] == pytest.approx(2 / 3)
    assert score_whole(PUBLIC, "Snow and ice or rain")[0] == 0.0


def test_the_task_instructions_does_not_know_ifbench_s_own() -> None:
    with pytest.raises(DataError, match="expected a known instruction"):
        instructions.score(PUBLIC, "x")


def test_no_id_of_ifbench_is_one_of_the_others() -> None:
    assert not checkers.CHECKERS.keys() & instructions.CHECKERS.keys()
    assert len(checkers.CHECKERS) == 56


def test_every_value_of_a_checker_says_what_it_must_be() -> None:
    for name, checker in checkers.CHECKERS.items():
        assert all(parameter.expected for parameter in parameters(checker).values()), name


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_a_checker_without_values_has_a_verdict_and_a_sentence_on_any_text(text: str) -> None:
    for checker in checkers.CHECKERS.values():
        if not parameters(checker):
            feedback = checker(text).feedback
            assert feedback[0].isupper()
            assert feedback[-1] == "."
            assert "\n" not in feedback


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no timer of a process's own time")
def test_no_checker_takes_long_for_a_long_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.workloads.ifbench.checkers.degenerate"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.split() == list(checkers.CHECKERS), done.stderr
    assert done.returncode == 0, f"{done.stdout.split()[-1]} took too long"


def test_the_revised_answer_counts_and_the_draft_is_compared_with_it() -> None:
    scored, feedback = score(EXAMPLE, {"draft": "Hello.", "answer": "<<A>>\nHello, you."})
    assert scored == 0.5
    assert feedback.endswith(
        "Before the revision 1 of 2 instructions were met; it mended 1 and broke 1."
    )
    assert score_whole(EXAMPLE, {"draft": "", "answer": "<<A>> Hello."})[0] == 1.0


def test_an_answer_without_a_draft_is_scored_as_it_is() -> None:
    alone = score(EXAMPLE, "Hello.")
    assert alone == score(EXAMPLE, {"answer": "Hello."})
    assert "revision" not in alone[1]
    assert score(EXAMPLE, None)[0] == score(EXAMPLE, {})[0] == 0.0


def test_loose_scoring_forgives_a_first_line_in_the_draft_as_well() -> None:
    output = {"draft": "Sure, here:\n<<A>> Hello.", "answer": "<<A>> Hello."}
    assert "1 of 2 instructions were met; it mended 1" in score(EXAMPLE, output)[1]
    assert "2 of 2 instructions were met; it mended 0" in score_loose(EXAMPLE, output)[1]


def test_instructions_without_a_checker_are_all_told_in_one_line() -> None:
    with pytest.raises(
        DataError,
        match=r"^expected instructions that a checker exists for, found 2 others in 2 of 3 "
        r"examples: words:odd_even_syllables, words:start_verb\. Leave these examples out",
    ):
        score.check_examples(
            [EXAMPLE, FOREIGN, {**FOREIGN, "instruction_id_list": ["words:odd_even_syllables"]}]
        )
    with pytest.raises(DataError, match="expected a known instruction"):
        score(FOREIGN, "x")


def test_what_can_be_scored_is_told_apart() -> None:
    assert usable([EXAMPLE, FOREIGN]) == [EXAMPLE]
    assert unknown_ids(FOREIGN) == ["words:start_verb"]
    score.check_examples(usable([EXAMPLE, FOREIGN]))


def test_a_wrong_example_is_refused() -> None:
    with pytest.raises(DataError, match="expected a column instruction_id_list"):
        score.check_examples([{"key": 3, "prompt": "x"}])
