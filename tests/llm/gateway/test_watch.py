import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import openai
import pytest

from flashevolve.llm.gateway import watch
from tests.fakes.gateway import HELLO, Open, opened


def said(o: Open) -> str:
    with openai.OpenAI(base_url=o.door.base_url, api_key=o.door.token, max_retries=0) as client:
        reply = client.chat.completions.create(model="task", messages=HELLO)  # type: ignore[arg-type]
    return str(reply.choices[0].message.content)


def test_others_that_wait_for_a_stopped_loop_are_served_when_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def token(connection: Any) -> str:
        found = token_of(connection)
        tokens.append(found)
        taken.set()
        return found

    async def main() -> None:
        async with opened() as o:
            own = o.door.token
            with ThreadPoolExecutor(1) as pool:
                answer = pool.submit(said, o)
                assert taken.wait(20)  # The loop is stopped here, and not by who asks.
                assert await asyncio.wrap_future(answer) == "task: hello"
            assert tokens == [own]
            assert o.door.broken is None

    taken, tokens, token_of = threading.Event(), list[str](), watch._token
    monkeypatch.setattr(watch, "_token", token)
    blocked_soon = partial(watch.Watch, blocked_s=0.2)
    monkeypatch.setattr("flashevolve.llm.gateway.gateway.Watch", blocked_soon)
    asyncio.run(main())
