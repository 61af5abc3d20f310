from pathlib import Path

import pytest

from flashevolve.templates import fill, own_template, template


def test_known_placeholders_are_filled_and_other_braces_stay() -> None:
    filled = fill("{{a}} {{b}} {c} {{ d }}", {"a": "1"})
    assert filled == "1 {{b}} {c} {{ d }}"


def test_a_placeholder_inside_a_value_is_not_filled_again() -> None:
    assert fill("{{a}}{{b}}", {"a": "{{b}}", "b": "2"}) == "{{b}}2"


def test_templates_are_read_from_the_algorithms_package() -> None:
    assert "{{current}}" in template("flashevolve.algorithms.gepa", "reflect")


def test_a_users_template_is_its_text_or_the_file_of_that_path(tmp_path: Path) -> None:
    path = tmp_path / "own.md"
    path.write_text("Mend {{a}} by {{b}}.", encoding="utf-8")
    assert own_template(str(path), ("{{a}}", "{{b}}")) == "Mend {{a}} by {{b}}."
    assert own_template("{{b}}{{a}}", ("{{a}}", "{{b}}")) == "{{b}}{{a}}"


@pytest.mark.parametrize("given", ["no/such.md", "only {{a}}"])
def test_a_users_template_without_a_placeholder_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"expected a template with \{\{a\}\} and \{\{b\}\}, or"):
        own_template(given, ("{{a}}", "{{b}}"))
