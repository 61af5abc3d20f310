from flashevolve.algorithms.records import MAX_VALUE_CHARS, record, records
from flashevolve.outcome import Outcome
from flashevolve.task import Example


def test_a_record_holds_input_output_score_and_feedback() -> None:
    examples = [
        Example(id="x", data={"input": "2 + 2"}),
        Example(id="y", data={"question": "Where?", "hints": ["a", 1]}),
    ]
    outcomes = {
        "y": Outcome(score=0.0, output={"place": "Ulm"}, trace=["looked"]),
        "x": Outcome(score=0.5, output="five", feedback="Off by one."),
    }
    assert records(examples, outcomes) == (
        "# Example 1\n## Input\n### input\n2 + 2\n## Output\nfive\n"
        "## Feedback\nScore: 0.5\nOff by one.\n\n"
        '# Example 2\n## Input\n### question\nWhere?\n### hints\n[\n  "a",\n  1\n]\n'
        '## Trace\n[\n  "looked"\n]\n## Output\n{\n  "place": "Ulm"\n}\n## Feedback\nScore: 0'
    )


def test_what_only_the_metric_reads_is_not_shown() -> None:
    example = Example(id="x", data={"input": "2 + 2", "answer": "4"})
    text = records([example], {"x": Outcome(score=0.0, output="five")}, "input")
    assert text == "# Example 1\n## Input\n2 + 2\n## Output\nfive\n## Feedback\nScore: 0"


def test_a_runaway_output_loses_its_middle_visibly() -> None:
    example = Example(id="x", data={"input": "i"})
    output = "a" * MAX_VALUE_CHARS + "zz"
    text = records([example], {"x": Outcome(score=0.0, output=output)})
    assert "[... 2 characters cut ...]" in text
    assert "zz\n## Feedback" in text
    assert len(text) < MAX_VALUE_CHARS + 200


def test_the_shown_field_may_be_spelt_in_another_case() -> None:
    example = Example(id="1", data={"Problem": "Add 1 and 2.", "Answer": 3})
    told = record(example, Outcome(score=0.0, output="4"), "problem")
    assert "## Input\nAdd 1 and 2.\n" in told
    assert "Answer" not in told
