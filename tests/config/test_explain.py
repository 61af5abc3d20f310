import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from flashevolve.config.explain import SHOWN_CHARS, dotted, explain, shown


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sides: int
    name: str = ""

    @field_validator("name")
    @classmethod
    def _two_lines(cls, name: str) -> str:
        raise ValueError("expected another name,\nany other")


def report(tree: object) -> ValidationError:
    with pytest.raises(ValidationError, match="Shape") as caught:
        Shape.model_validate(tree)
    return caught.value


def test_a_misspelt_key_is_reported_before_the_one_that_it_leaves_missing() -> None:
    error = explain(report({"sideds": 3}), where="f.toml", known=("sides", "name"))
    assert str(error) == (
        "f.toml: sideds: unknown key. Did you mean 'sides'? All keys: flashevolve config"
    )


def test_a_key_that_is_like_no_other_is_answered_with_all() -> None:
    error = explain(report({"sides": 3, "zzz": 1}), known=lambda loc: ("sides", "name"))
    assert "zzz: unknown key. Expected one of sides, name." in str(error)


def test_a_message_of_several_lines_becomes_one() -> None:
    error = explain(report({"sides": 3, "name": "x"}), where=lambda loc: f"--{dotted(loc)}")
    assert str(error) == "--name: expected another name, any other, found 'x'"


def test_values_are_shown_short_and_tables_not_at_all() -> None:
    assert shown({"api_key": "CANARY"}) == "a table"
    assert shown([{"api_key": "CANARY"}]) == "a list of tables"
    assert len(shown("x" * 1000)) == SHOWN_CHARS


def test_places_are_written_as_keys() -> None:
    assert dotted(("data", "split", 1)) == "data.split[1]"
