from array import array
from contextlib import suppress
from typing import Any

import pytest

from flashevolve.engine.ask import OriginAsk
from flashevolve.engine.evaluation import _Guarded
from flashevolve.errors import ConfigError
from flashevolve.llm.embeddings import Embeddings, EmbedRequest
from flashevolve.llm.messages import user
from tests.fakes.model import ScriptedModel
from tests.fakes.time_travel import run
from tests.llm.test_calls import Rig, echo


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
        embeddings = await ask.embed("task", ["a", "b"], dimensions=1)
        return [reply.text, len(embeddings.vectors), relayed]

    assert run(main()) == ["re hi", 2, []]
    assert [(e.ticket, e.name) for e in rig.reserved] == [(7, "first"), (7, "embed")]


def test_user_code_cannot_swallow_that_embeddings_are_impossible() -> None:
    rig = Rig()
    guard = _Guarded(OriginAsk(rig.calls, rig.origin()))

    async def swallowing() -> None:
        with suppress(Exception):
            await guard.embed("task", "text")

    run(swallowing())
    with pytest.raises(ConfigError, match="gives no embeddings"):
        guard.raise_if_interrupted()
