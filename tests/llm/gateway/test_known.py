import pytest

from flashevolve.llm.calls import Endpoint
from flashevolve.llm.gateway.bodies import Known
from flashevolve.llm.gateway.known import known_to
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.served import BadRequest
from tests.fakes.model import ScriptedModel
from tests.fakes.runs import echo


def endpoint(label: str, limit: int | None = None) -> Endpoint:
    parameters = {} if limit is None else {"max_output_tokens": limit}
    return Endpoint(
        label=label,
        model=ScriptedModel(echo, lambda rng: 0.0),
        limiter=Limiter(label, 1, 1),
        price=None,
        parameters=parameters,
    )


def test_a_default_model_serves_every_role_and_is_called_task() -> None:
    known = known_to({"": [endpoint("openai/small", 50)]}, ["solve"])
    assert list(known.limits) == ["task", "reflect", "repair", "judge", "embed", "solve"]
    assert set(known.limits.values()) == {50}
    assert known.role("openai/small") == known.role("small") == "task"


def test_a_role_without_a_model_is_unknown() -> None:
    known = known_to({"reflect": [endpoint("large")]}, ())
    assert known == Known(limits={"reflect": 8192}, names={"large": "reflect"})
    with pytest.raises(BadRequest, match=r"expected a role \(reflect\) or .*, found \"task\""):
        known.role("task")


def test_what_is_asked_must_suit_each_of_a_roles_models() -> None:
    known = known_to({"task": [endpoint("a", 100), endpoint("b", 70)]}, ())
    assert known.limits == {"task": 70}
