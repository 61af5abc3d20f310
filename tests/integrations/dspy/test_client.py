"""A user's LM as a model of the run."""

import asyncio
from typing import Any

import dspy
import pytest
from dspy.clients.call_result import attributes

from flashevolve.engine.threads import DaemonThreads
from flashevolve.integrations.dspy.client import OPTIONS, OUTPUTS, DspyClient
from flashevolve.llm.errors import Fatal, LLMError, RateLimited, Refused, Transient
from flashevolve.llm.messages import Reply, Request, user
from tests.fakes.endpoint import Endpoint, Step, answer, rate_limited, status
from tests.integrations.dspy import fakes

THREADS = DaemonThreads(4, "test-dspy")


def asked(lm: Any, request: Request | None = None) -> Reply:
    request = request or Request(messages=(user("hi"),), extra_body={OPTIONS: {}})
    return asyncio.run(DspyClient(lm, THREADS).complete(request))


def test_the_same_question_is_asked_each_time_though_the_lm_caches() -> None:
    with Endpoint([answer("one"), answer("two")]) as endpoint:
        lm = fakes.lm(endpoint)
        assert [asked(lm).text, asked(lm).text] == ["one", "two"]
        reply = asked(lm)
    assert (reply.tokens_in, reply.tokens_out) == (10, 5)
    assert reply.extra[OUTPUTS] == ["two"]
    assert [r.body["max_completion_tokens"] for r in endpoint.received] == [300] * 3


def test_a_request_that_no_lm_made_is_asked_too() -> None:
    with Endpoint([answer("fine")]) as endpoint:
        request = Request(messages=(user("judge this"),), temperature=0.25)
        assert asked(fakes.lm(endpoint), request).text == "fine"
    assert endpoint.received[0].body["temperature"] == 0.25


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (rate_limited("3"), RateLimited),
        (status(500), Transient),
        (status(401, f"wrong key {fakes.KEY}"), Fatal),
        (status(400, "no"), Refused),
    ],
)
def test_what_goes_wrong_is_typed_and_tried_once(step: Step, kind: type[LLMError]) -> None:
    with Endpoint([step]) as endpoint:
        with pytest.raises(kind, match=r"^openai/fake-1 \(dspy\): LM") as caught:
            asked(fakes.lm(endpoint))
        assert len(endpoint.received) == 1
    assert fakes.KEY not in str(caught.value)
    if isinstance(caught.value, RateLimited):
        assert caught.value.retry_after_s == 3


class Scripted(dspy.BaseLM):  # type: ignore[misc]
    """An LM of the older kind, which only blocks."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__("mine")
        self.n = 0
        self.error = error

    def forward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
        self.n += 1
        if self.error is not None:
            raise self.error
        message = {"content": f"answer {self.n} to {messages[-1]['content']}"}
        return attributes({"model": "mine", "choices": [{"message": message}], "usage": {}})


def test_an_lm_that_a_user_wrote_answers_as_itself() -> None:
    lm = Scripted()
    assert [asked(lm).text, asked(lm).text] == ["answer 1 to hi", "answer 2 to hi"]
    assert lm.n == 2
    assert asked(lm).tokens_in is None


def test_what_a_users_own_lm_raises_concerns_that_request() -> None:
    with pytest.raises(Refused, match=r"^mine \(dspy\): ValueError: boom$"):
        asked(Scripted(ValueError("boom")))


def test_dspys_dummy_answers_in_its_order() -> None:
    lm = dspy.utils.DummyLM([{"answer": "red"}, {"answer": "blue"}])
    assert "red" in asked(lm).text
    assert "blue" in asked(lm).text


def test_list_prices_are_known_only_where_the_maker_answers() -> None:
    assert DspyClient(dspy.LM("openai/gpt-4o-mini"), THREADS).price() is not None
    elsewhere = dspy.LM("openai/gpt-4o-mini", api_base="http://127.0.0.1:1/v1")
    assert DspyClient(elsewhere, THREADS).price() is None
    assert DspyClient(dspy.LM("anthropic/claude"), THREADS).price() is None


def test_an_account_names_no_key() -> None:
    client = DspyClient(dspy.LM("openai/gpt-4o-mini", api_key=fakes.KEY), THREADS)
    assert client.account == "dspy openai"
