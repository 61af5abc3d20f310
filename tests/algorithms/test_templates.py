from flashevolve.algorithms.templates import fill, template


def test_known_placeholders_are_filled_and_other_braces_stay() -> None:
    filled = fill("{{a}} {{b}} {c} {{ d }}", {"a": "1"})
    assert filled == "1 {{b}} {c} {{ d }}"


def test_a_placeholder_inside_a_value_is_not_filled_again() -> None:
    assert fill("{{a}}{{b}}", {"a": "{{b}}", "b": "2"}) == "{{b}}2"


def test_templates_are_read_from_the_algorithms_package() -> None:
    assert "{{current}}" in template("flashevolve.algorithms.gepa", "reflect")
