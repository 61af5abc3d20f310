import pytest

from flashevolve.llm.roles import KNOWN_ROLES, meant


@pytest.mark.parametrize(
    ("role", "right"),
    [
        ("tsk", "task"), ("taks", "task"), ("tasks", "task"), ("reflct", "reflect"),
        ("repiar", "repair"), ("task", None), ("extract", None), ("planner", None), ("", None),
    ],
)  # fmt: skip
def test_a_slip_is_told_from_a_role_of_its_own(role: str, right: str | None) -> None:
    assert meant(role, [*KNOWN_ROLES, ""]) == right
