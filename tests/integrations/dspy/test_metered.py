"""A metered LM asks through its context, and is otherwise the LM that it stands for."""

import asyncio
import copy
from typing import Any

import dspy
import pydantic
import pytest
from dspy.utils.exceptions import ContextWindowExceededError, LMInvalidRequestError

from flashevolve.errors import ConfigError
from flashevolve.integrations.dspy.client import OPTIONS, OUTPUTS, TOO_LONG
from flashevolve.integrations.dspy.metered import ASKS, metered
from flashevolve.llm.errors import Refused, Truncated
from flashevolve.llm.messages import Reply, ToolCall
from tests.fakes.endpoint import Endpoint
from tests.integrations.dspy import fakes


class Asked:
    """A context that notes what it was asked."""

    attempt = None

    def __init__(self, *replies: Reply | Exception) -> None:
        self.replies = list(replies) or [Reply(text="hello", tokens_in=3, tokens_out=1)]
        self.asked: list[tuple[str, Any, dict[str, Any]]] = []

    def chat(self, role: str, messages: Any, **parameters: Any) -> Reply:
        self.asked.append((role, messages, parameters))
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply


TURNS = [{"role": "user", "content": "hi"}]


def an_lm(**options: Any) -> Any:
    return dspy.LM("openai/gpt-4o-mini", api_key=fakes.KEY, temperature=0.5, **options)


def said(lm: Any, context: Asked, **kwargs: Any) -> Any:
    # DSPy deprecates messages given by hand; its adapters mark theirs.
    with dspy.context(**{ASKS: context}):
        return lm(messages=TURNS, **kwargs)


def test_its_options_are_asked_without_what_connects() -> None:
    context = Asked()
    assert said(metered(an_lm(max_tokens=99), "task", own=True), context, top_p=0.3) == ["hello"]
    ((role, messages, parameters),) = context.asked
    assert (role, messages) == ("task", TURNS)
    assert parameters == {
        "extra_body": {OPTIONS: {"temperature": 0.5, "max_tokens": 99, "top_p": 0.3}},
        "max_output_tokens": 99,
    }


def test_it_keeps_what_the_lm_was() -> None:
    lm = an_lm()
    found = metered(lm, "task", own=True)
    assert isinstance(found, dspy.LM)
    assert (found.model, found.kwargs) == (lm.model, lm.kwargs)
    assert found.supports_function_calling == lm.supports_function_calling
    assert copy.deepcopy(found) is found
    again = found.copy(rollout_id=7, temperature=1.0)
    context = Asked()
    said(again, context)
    assert context.asked[0][2]["extra_body"][OPTIONS] == {"rollout_id": 7, "temperature": 1.0}


def test_several_answers_of_an_lm_are_one_call() -> None:
    reply = Reply(text="a", extra={OUTPUTS: ["a", "b"]})
    context = Asked(reply)
    lm = metered(an_lm(max_tokens=10), "task", own=True)
    assert said(lm, context, n=2) == ["a", "b"]
    assert context.asked[0][2]["max_output_tokens"] == 20


def test_several_answers_of_an_endpoint_are_several_calls() -> None:
    context = Asked(Reply(text="a"), Reply(text="b"))
    lm = metered(an_lm(), "task", own=False)
    assert said(lm, context, n=2, top_p=0.3, rollout_id=1) == ["a", "b"]
    assert [parameters for _, _, parameters in context.asked] == [
        {"temperature": 0.5, "extra_body": {"top_p": 0.3}}
    ] * 2


def test_tools_and_their_calls_pass() -> None:
    call = ToolCall(id="c1", name="search", arguments='{"q": 1}')
    context = Asked(Reply(text="", tool_calls=(call,)))
    tools = [{"type": "function", "function": {"name": "search", "parameters": {}}}]
    (output,) = said(metered(an_lm(), "task", own=False), context, tools=tools)
    assert output["tool_calls"][0].function.name == "search"
    assert context.asked[0][2]["tools"] == tuple(tools)


class Form(pydantic.BaseModel):
    """What an answer must look like."""

    answer: str


def test_a_class_as_response_format_is_recorded_as_its_schema() -> None:
    own, other = Asked(), Asked()
    said(metered(an_lm(), "task", own=True), own, response_format=Form)
    told = own.asked[0][2]["extra_body"][OPTIONS]["response_format"]
    assert '"answer"' in told
    assert told.value is Form
    said(metered(an_lm(), "task", own=False), other, response_format=Form)
    assert other.asked[0][2]["response_schema"] == Form.model_json_schema()


def test_a_prompt_that_is_too_long_is_dspys_own_error() -> None:
    lm = metered(an_lm(), "task", own=True)
    with pytest.raises(ContextWindowExceededError, match="too long"):
        said(lm, Asked(Refused(f"{TOO_LONG}: 9000 tokens")))
    with pytest.raises(LMInvalidRequestError, match="filtered"):
        said(lm, Asked(Refused("filtered")))


def test_an_answer_that_was_cut_is_an_answer() -> None:
    cut = Truncated("cut", reply=Reply(text="hal", finish="length"))
    assert said(metered(an_lm(), "task", own=False), Asked(cut)) == ["hal"]


def test_a_key_given_with_a_call_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match=r"expected api_key to be given to dspy\.LM") as caught:
        said(metered(an_lm(), "task", own=True), Asked(), api_key="sk-other-1234")
    assert "sk-other" not in str(caught.value)


def test_async_callers_do_not_block_their_loop() -> None:
    context = Asked()
    lm = metered(an_lm(), "task", own=True)

    async def ask() -> Any:
        with dspy.context(**{ASKS: context}):
            return await asyncio.gather(*(lm.acall(messages=TURNS) for _ in range(3)))

    assert asyncio.run(ask()) == [["hello"]] * 3
    assert len(context.asked) == 3


def test_dspys_usage_tracker_counts_the_call() -> None:
    lm = metered(an_lm(), "task", own=True)
    with dspy.track_usage() as tracker:
        said(lm, Asked())
    assert tracker.get_total_tokens()["openai/gpt-4o-mini"]["total_tokens"] == 4


def test_outside_a_run_the_lm_itself_answers() -> None:
    with Endpoint(fakes.replying) as endpoint:
        lm = metered(fakes.lm(endpoint).copy(cache=False), "task", own=True)
        assert lm("hi")[0].startswith("plain")
        assert len(endpoint.received) == 1
