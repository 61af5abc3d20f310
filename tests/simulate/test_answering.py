import asyncio

import pytest

from flashevolve.llm.errors import Empty, LLMError, RateLimited, Refused, Truncated
from flashevolve.llm.messages import Reply, Request, user
from flashevolve.simulate.answering import Answering, ObservableModel
from flashevolve.simulate.bodies import Asked
from flashevolve.simulate.completions import Head
from flashevolve.simulate.loop import run_virtual
from tests.fakes.simulated import PRESET, Failing, model, world

HEAD = Head(id="c-1", created_s=0, model=PRESET, fingerprint="")


def answering(
    model: ObservableModel, max_output_tokens: int = 200, stops: tuple[str, ...] = ()
) -> Answering:
    messages = (user("x" * 394),)  # With its role, 100 tokens: a second to read.
    request = Request(messages=messages, seed=1, max_output_tokens=max_output_tokens)
    return Answering(model, Asked(model=PRESET, request=request, stops=stops), request, HEAD)


def echo(mean_tokens: float = 150.0) -> ObservableModel:
    return model(world(mean_tokens=mean_tokens, sigma=0.0))


def test_it_begins_when_the_prompt_is_read_and_ends_with_the_last_token() -> None:
    async def main() -> tuple[float, float, Reply]:
        one = answering(echo())
        task = asyncio.ensure_future(one.reply())
        await one.begun(task)
        begun_s = asyncio.get_running_loop().time()
        reply = await task
        return begun_s, asyncio.get_running_loop().time(), reply

    begun_s, ended_s, reply = run_virtual(main())
    assert [begun_s, ended_s] == pytest.approx([1.0, 151.0])
    assert reply.finish == "stop"


def test_what_was_cached_of_the_prompt_is_known_when_it_begins() -> None:
    async def main() -> list[int]:
        of = echo()
        first, again = answering(of), answering(of)
        await first.reply()
        await again.reply()
        return [first.cached_tokens, again.cached_tokens]

    assert run_virtual(main()) == [0, 96]


def test_an_answer_that_is_cut_is_a_reply_that_says_so() -> None:
    reply = run_virtual(answering(echo(mean_tokens=300.0)).reply())
    assert (reply.text, reply.finish, reply.tokens_out) == ("", "length", 200)


def test_a_stop_sequence_cuts_the_text() -> None:
    reply = run_virtual(answering(echo(), stops=(" 0.",)).reply())
    assert reply.text == "x" * 394


@pytest.mark.parametrize("kind", [Truncated, Refused, Empty])
def test_an_answer_of_a_kind_is_its_reply(kind: type[LLMError]) -> None:
    told = Reply(text="", finish="content_filter")
    assert run_virtual(answering(Failing(kind("no", reply=told))).reply()) == told
    with pytest.raises(kind, match="no"):
        run_virtual(answering(Failing(kind("no"))).reply())


def test_what_is_refused_before_it_begins_raises_there() -> None:
    async def main() -> None:
        one = answering(Failing(RateLimited("slow down")))
        await one.begun(asyncio.ensure_future(one.reply()))

    with pytest.raises(RateLimited, match="slow down"):
        run_virtual(main())
