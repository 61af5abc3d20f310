from array import array
from contextlib import suppress
from typing import Any

import pytest

from flashevolve.engine.ask import GuardedAsk, OriginAsk
from flashevolve.errors import ConfigError
from flashevolve.llm.embeddings import Embeddings, EmbedRequest
from flashevolve.llm.errors import CutShort, Transient
from flashevolve.llm.messages import user
from tests.fakes.model import ScriptedModel
from tests.fakes.time_travel import run
from tests.llm.test_calls import Rig, Streaming, echo


class Embedder(ScriptedModel):
    async def embed(self, request: EmbedRequest) -> Embeddings:
        return Embeddings(vectors=(array("f", [1.0]),) * len(request.inputs), tokens_in=1)


def test_chats_and_embeddings_of_one_origin_are_recorded_as_its_own() -> None:
    rig = Rig()
    object.__setattr__(rig.calls._endpoints["task"][0], "model", Embedder(echo))
    ask = OriginAsk(rig.calls, rig.origin(ticket=7))

    async def main() -> list[Any]:
        relayed: list[Any] = []
        reply = await ask("task", [user("hi")], name="first", relay=relayed.append)
        embeddings = await ask.embed("task", ["a", "b"], options={"dimensions": 1})
        return [reply.text, len(embeddings.vectors), relayed]

    assert run(main()) == ["re hi", 2, []]
    assert [(e.ticket, e.name) for e in rig.reserved] == [(7, "first"), (7, "embed")]


def test_user_code_cannot_swallow_that_embeddings_are_impossible() -> None:
    rig = Rig()
    guard = GuardedAsk(OriginAsk(rig.calls, rig.origin()))

    async def swallowing() -> None:
        with suppress(Exception):
            await guard.embed("task", "text")

    run(swallowing())
    with pytest.raises(ConfigError, match="gives no embeddings"):
        guard.raise_if_interrupted()


def test_a_stream_that_was_cut_counts_until_its_caller_has_asked_again() -> None:
    rig = Rig()
    model = Streaming(echo, Transient("lost", billed_unknown=True), n_first=2)
    object.__setattr__(rig.calls._endpoints["task"][0], "model", model)
    guard = GuardedAsk(OriginAsk(rig.calls, rig.origin()))

    async def ask(text: str) -> None:
        with suppress(CutShort):
            await guard("task", [user(text)], relay=lambda chunk: None)

    run(ask("hi"))
    run(ask("something else"))
    with pytest.raises(CutShort, match="lost"):
        guard.raise_if_interrupted()
    run(ask("hi"))
    guard.raise_if_interrupted()
    assert [e.status for e in rig.settled] == ["transient", "ok", "ok"]
