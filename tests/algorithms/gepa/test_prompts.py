from flashevolve.algorithms.gepa import prompts


def test_the_request_shows_the_component_its_text_and_the_examples() -> None:
    text = prompts.reflect(None, "planner", "Plan {{examples}}.", "# Example 1")
    assert "`planner`" in text
    assert "```\nPlan {{examples}}.\n```" in text
    assert "\n# Example 1\n" in text
    assert "{{current}}" not in text


def test_a_users_template_replaces_the_packages() -> None:
    own = "{{component}}: {{current}} / {{examples}}"
    assert prompts.reflect(own, "a", "b", "c") == "a: ```\nb\n``` / c"


def test_the_correction_names_the_problem_and_the_component() -> None:
    text = prompts.again("planner", "found no fence")
    assert "found no fence" in text
    assert "`planner`" in text
