import random

from flashevolve.simulate.lessons import Trace, learn, phrase, traces
from flashevolve.simulate.sections import sections
from tests.simulate.usual import reader_with

RULE = 'There must be exactly 4 bullet lines and each must begin with "~ "; 0 were found.'
CERTAIN = reader_with(vague_rate=0, wrong_rate=0, overreach_rate=0, over_specific_rate=0)


def bullets(n: int) -> Trace:
    return Trace(f"Describe it. Give exactly {n} bullets.", "text", RULE.replace("4", str(n)))


def test_a_general_lesson_drops_what_belongs_to_the_example() -> None:
    (lesson,) = learn([bullets(4)])
    assert phrase(lesson, random.Random(1), CERTAIN) == (
        "When the request speaks of bullets: there must be the requested number of bullet lines "
        'and each must begin with "~ ".'
    )


def test_an_over_specific_lesson_keeps_it() -> None:
    (lesson,) = learn([bullets(4)])
    kept = reader_with(vague_rate=0, wrong_rate=0, overreach_rate=1, over_specific_rate=1)
    assert "exactly 4 bullet lines" in phrase(lesson, random.Random(1), kept)


def test_traces_that_agree_make_general_lessons_likelier() -> None:
    half = reader_with(vague_rate=0, wrong_rate=0, over_specific_rate=0.5)

    def n_specific(n_traces: int) -> int:
        (lesson,) = learn([bullets(4)] * n_traces)
        return sum("exactly 4" in phrase(lesson, random.Random(k), half) for k in range(200))

    assert n_specific(3) < n_specific(1) / 2


def test_praise_teaches_nothing() -> None:
    assert learn([Trace("Give exactly 4 bullets.", "text", "Its list is fine.")]) == []


def test_feedback_on_something_else_is_not_understood() -> None:
    assert learn([Trace("Avoid commas.", "text", RULE)]) == []
    assert learn([Trace("Give exactly 6 bullets.", "text", RULE)]) == []


def test_what_follows_the_last_feedback_belongs_to_the_prompt() -> None:
    prompt = "# Example 1\n## Input\nA\n## Output\nB\n## Feedback\nC\n\nYou must write D."
    assert [t.feedback.strip() for t in traces(sections(prompt))] == ["C"]


def test_feedback_of_several_paragraphs_is_kept_where_others_have_as_many() -> None:
    one = "## Input\nA\n## Output\nB\n## Feedback\nC\n\nD\n\n"
    assert [t.feedback.split() for t in traces(sections(one + one + "Now write."))] == [
        ["C", "D"],
        ["C", "D"],
    ]
