from flashevolve.simulate.sections import first_block, sections


def test_headings_nest_and_labels_count_as_headings() -> None:
    parts = sections("# Example 1\n## Inputs\n### request\nDo it.\nFeedback: Done badly.")
    assert [(p.path[-1], p.text) for p in parts] == [
        ("Example 1", ""),
        ("Inputs", ""),
        ("request", "Do it."),
        ("Feedback", "Done badly."),
    ]
    assert parts[2].path == ("Example 1", "Inputs", "request")


def test_a_title_inside_an_answer_is_text() -> None:
    parts = sections("## Output\n# My day\nIt was fine.\n## Feedback\nGood.")
    assert parts[0].text == "# My day\nIt was fine."


def test_headings_inside_a_fence_are_text_and_the_caption_is_kept() -> None:
    parts = sections("Intro\nIt reads so:\n```md\n## Output\n```\nEnd")
    assert len(parts) == 1
    assert parts[0].blocks == (("It reads so:", "## Output"),)
    assert parts[0].outside == "Intro\nIt reads so:\nEnd"
    assert first_block(parts) == "## Output"


def test_a_longer_fence_may_hold_a_shorter_one() -> None:
    assert first_block(sections("````\na\n```\nb\n````")) == "a\n```\nb"


def test_an_open_fence_is_read_as_text() -> None:
    parts = sections("```\nlost")
    assert parts[0].text == "lost"
    assert first_block(parts) is None
