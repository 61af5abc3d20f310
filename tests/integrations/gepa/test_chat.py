"""The adapter behind `task_lm` by name asks a model of ours, one example at a time."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from gepa.adapters.default_adapter.default_adapter import DefaultAdapter, EvaluationResult

from flashevolve.errors import DataError, TaskError
from flashevolve.integrations.gepa.batches import joined
from flashevolve.integrations.gepa.chat import ChatAdapter
from flashevolve.llm.errors import Refused
from flashevolve.llm.messages import Reply

DATA = [
    {"input": f"what is {i}?", "answer": str(i), "additional_context": {"hint": "a number"}}
    for i in range(4)
]


class Context:
    """Answers 0 to everything."""

    async def chat(self, role: str, messages: Any) -> Reply:
        assert role == "task"
        self.messages = messages
        return Reply(text="It is 0.")


def evaluated(adapter: ChatAdapter, instance: Any, ctx: Any = None) -> Any:
    candidate = {"system": "Answer.", "other": "unused"}

    async def main() -> Any:
        try:
            return await adapter.evaluate_one(instance, candidate, ctx or Context())
        finally:
            adapter.close()

    return asyncio.run(main())


def test_scores_traces_and_records_are_those_of_gepas_default_adapter() -> None:
    theirs = DefaultAdapter(model=lambda messages: "It is 0.")
    expected = theirs.evaluate(DATA, {"system": "Answer."}, capture_traces=True)
    found = joined([evaluated(ChatAdapter(), instance) for instance in DATA])
    assert found == expected
    ours = ChatAdapter().make_reflective_dataset({}, found, ["system"])
    assert ours == theirs.make_reflective_dataset({}, expected, ["system"])


def test_the_first_component_is_the_system_prompt() -> None:
    ctx = Context()
    evaluated(ChatAdapter(), DATA[2], ctx)
    assert [(m.role, m.text) for m in ctx.messages] == [
        ("system", "Answer."),
        ("user", "what is 2?"),
    ]


def test_an_evaluator_of_ones_own_may_name_objectives() -> None:
    def evaluator(data: Any, response: str) -> EvaluationResult:
        return EvaluationResult(0.5, "so so", {"short": 1.0})

    found = evaluated(ChatAdapter(evaluator), DATA[0])
    assert found.scores == [0.5]
    assert found.objective_scores == [{"short": 1.0}]
    with pytest.raises(TaskError, match=r"evaluator: expected an EvaluationResult .*, found 0.5"):
        evaluated(ChatAdapter(lambda data, response: 0.5), DATA[0])


def test_an_answer_that_is_none_scores_as_a_failure_that_says_why() -> None:
    async def chat(role: str, messages: Any) -> Reply:
        raise Refused("filtered")

    found = evaluated(ChatAdapter(), DATA[0], SimpleNamespace(chat=chat))
    assert found.scores == [0.0]
    assert found.trajectories[0]["feedback"] == "the model's answer is unusable (refused): filtered"


def test_an_instance_without_an_input_is_refused() -> None:
    with pytest.raises(DataError, match="expected instances with a field 'input'"):
        evaluated(ChatAdapter(), {"question": "?"})
