import pytest

from flashevolve.simulate.labels import is_label, kind_of


@pytest.mark.parametrize(
    "heading",
    [
        "Feedback",
        "What it was given",
        "Generated Outputs",
        "example_3",
        "Newest wording",
        "Case 12",
    ],
)
def test_headings_that_name_parts_of_a_prompt_are_labels(heading: str) -> None:
    assert is_label(heading)


@pytest.mark.parametrize("title", ["My day", "The Question of Rain", "A", "", "Harbour Story 3"])
def test_titles_are_none(title: str) -> None:
    assert not is_label(title)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (("Feedback",), "feedback"),
        (("What was said about the answer",), "feedback"),
        (("What the model said",), "output"),
        (("Expected output",), "reference"),
        (("Outdated wording",), "stale"),
        (("What changed meanwhile",), "update"),
        (("Task", "Example 1", "Input"), "input"),
        (("Example 1", "Inputs", "response"), "input"),
        (("examples with feedback", "Example 2", "Generated Outputs", "Item 1"), "output"),
        (("Example 1",), "example"),
        (("Stale text", "Final_answer"), "stale"),
        (("Current text", "examples"), "current"),
        (("My day",), None),
        ((), None),
    ],
)
def test_the_headings_above_a_text_say_what_it_is(path: tuple[str, ...], kind: str | None) -> None:
    assert kind_of(path) == kind
