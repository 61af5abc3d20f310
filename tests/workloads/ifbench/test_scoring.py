from typing import Any

import pytest

from flashevolve.errors import DataError
from flashevolve.workloads.ifbench import (
    score,
    score_loose,
    score_whole,
    unknown_ids,
    usable,
)

EXAMPLE: dict[str, Any] = {
    "key": 1,
    "prompt": "Say hello. Use no commas. Add a title.",
    "instruction_id_list": ["punctuation:no_comma", "detectable_format:title"],
    "kwargs": [{}, {}],
}
FOREIGN: dict[str, Any] = {
    "key": "2",
    "prompt": "Use 3 conjunctions.",
    "instruction_id_list": ["count:conjunctions"],
    "kwargs": [{"small_n": 3}],
}


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
        r"examples: count:conjunctions, format:emoji\. Leave these examples out",
    ):
        score.check_examples(
            [EXAMPLE, FOREIGN, {**FOREIGN, "instruction_id_list": ["format:emoji"]}]
        )
    with pytest.raises(DataError, match="expected a known instruction"):
        score(FOREIGN, "x")


def test_what_can_be_scored_is_told_apart() -> None:
    assert usable([EXAMPLE, FOREIGN]) == [EXAMPLE]
    assert unknown_ids(FOREIGN) == ["count:conjunctions"]
    score.check_examples(usable([EXAMPLE, FOREIGN]))


def test_a_wrong_example_is_refused() -> None:
    with pytest.raises(DataError, match="expected a column instruction_id_list"):
        score.check_examples([{"key": 3, "prompt": "x"}])
