"""gepa's language models as models of ours."""

import asyncio
import threading
from typing import Any

import pytest

from flashevolve.errors import ConfigError
from flashevolve.integrations.gepa.models import CallableModel, model_of
from flashevolve.llm.errors import Empty, Fatal, LLMError, RateLimited, Transient
from flashevolve.llm.messages import (
    ImagePart,
    Message,
    Request,
    TextPart,
    ToolCall,
    assistant,
    user,
)
from flashevolve.simulate.loop import run_virtual


def request(*messages: Message) -> Request:
    return Request(messages=messages or (user("hello"),))


def complete(function: Any, *messages: Message, n: int = 1) -> Any:
    async def main() -> Any:
        model = CallableModel(function, name="reflection_lm", n_calls=1)
        try:
            for _ in range(n - 1):
                with pytest.raises(LLMError):
                    await model.complete(request(*messages))
            return await model.complete(request(*messages))
        finally:
            await model.close()

    return asyncio.run(main())


def test_litellms_keywords_become_fields_of_ours() -> None:
    kwargs = {"temperature": 0.5, "max_tokens": 99, "api_base": "http://h/v1", "timeout": 7}
    model = model_of("openai/m", {**kwargs, "top_p": 0.9, "num_retries": 5}, "kwargs")
    assert (model.name, model.temperature, model.max_output_tokens) == ("openai/m", 0.5, 99)
    assert (model.base_url, model.timeout_s) == ("http://h/v1", 7.0)
    assert model.extra_body == {"top_p": 0.9}
    assert model_of("m", None, "kwargs").temperature is None


def test_a_keyword_that_we_do_not_have_or_that_is_a_key_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"kwargs\['tempature'\].* Did you mean 'temperature'"):
        model_of("m", {"tempature": 1}, "kwargs")
    with pytest.raises(ConfigError, match=r"expected no key, which would be recorded") as error:
        model_of("m", {"api_key": "sk-canary"}, "kwargs")
    assert "sk-canary" not in str(error.value)


def test_a_function_gets_what_gepa_would_give_it() -> None:
    got: list[Any] = []

    def lm(prompt: Any) -> str:
        got.append(prompt)
        return "answer"

    assert complete(lm).text == "answer"
    assert complete(lm, user("a"), assistant("b")).text == "answer"
    picture = Message(role="user", content=(TextPart(text="see"), ImagePart(url="data:x")))
    complete(lm, picture)
    assert got == [
        "hello",
        "a\n\nb",
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image_url", "image_url": {"url": "data:x"}},
                ],
            }
        ],
    ]


def test_a_function_is_told_of_tool_calls_too() -> None:
    got: list[Any] = []

    def lm(prompt: Any) -> str:
        got.append(prompt)
        return "answer"

    call = ToolCall(id="c1", name="look", arguments="{}")
    complete(lm, user("a"), Message(role="assistant", content="", tool_calls=(call,)))
    assert got[0][1]["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}


class Status(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__("said no")
        self.status_code = status_code


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Status(401), Fatal),
        (Status(429), RateLimited),
        (Status(503), Transient),
        (TimeoutError(), Transient),
        (ValueError("odd"), Empty),
    ],
)
def test_what_a_function_raises_is_what_its_kind_means_to_us(
    error: Exception, kind: type[LLMError]
) -> None:
    def lm(prompt: Any) -> str:
        raise error

    with pytest.raises(kind, match=f"^reflection_lm raised {type(error).__name__}"):
        complete(lm)


def test_a_function_that_has_never_answered_is_given_up_at_its_third_failure() -> None:
    def lm(prompt: Any) -> str:
        raise ValueError("401")

    with pytest.raises(Fatal, match=r"reflection_lm raised ValueError: 401\. Mend it"):
        complete(lm, n=3)


def test_what_is_no_text_is_no_answer() -> None:
    with pytest.raises(Fatal, match="reflection_lm: expected a text, found int"):
        complete(lambda prompt: 7)
    with pytest.raises(Empty, match="reflection_lm answered nothing"):
        complete(lambda prompt: " ")


def test_a_function_is_called_as_often_at_once_as_it_may_be() -> None:
    async def main(n_calls: int) -> int:
        inside = most = 0

        def lm(prompt: Any) -> str:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            threading.Event().wait(0.002)
            inside -= 1
            return "answer"

        model = CallableModel(lm, name="lm", n_calls=n_calls)
        await asyncio.gather(*(model.complete(request()) for _ in range(6)))
        await model.close()
        return most

    assert asyncio.run(main(1)) == 1
    assert asyncio.run(main(3)) > 1
    run_virtual(main(1))


def test_a_cancelled_call_keeps_its_turn_until_the_function_has_returned() -> None:
    go, came, order = threading.Event(), threading.Event(), list[str]()

    def lm(prompt: Any) -> str:
        came.set()
        assert go.wait(20)
        order.append(prompt)
        return "answer"

    async def main() -> None:
        model = CallableModel(lm, name="lm", n_calls=1)
        first = asyncio.ensure_future(model.complete(request(user("first"))))
        await asyncio.to_thread(came.wait, 20)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        second = asyncio.ensure_future(model.complete(request(user("second"))))
        for _ in range(10):
            await asyncio.sleep(0)
        assert order == []
        go.set()
        await second
        assert order == ["first", "second"]
        await model.close()

    asyncio.run(main())
