import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

import flashevolve as fe
from flashevolve.errors import ConfigError
from flashevolve.events import OutcomeRecorded
from flashevolve.llm.errors import ModelBug, RateLimited, Transient, Truncated
from flashevolve.llm.messages import Message, Reply, Request, system, user
from flashevolve.llm.model import ChatModel
from flashevolve.rundir import read_records
from flashevolve.simulate.batching import ServingSettings
from flashevolve.simulate.hosted import HostedSettings
from flashevolve.simulate.lengths import digest, draw_tokens
from flashevolve.simulate.loop import VirtualLoop, run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.prefix import count_tokens
from flashevolve.simulate.serving import HostedModel, Server, ServingModel
from flashevolve.simulate.world import load_world

PRESET = "h100-qwen3-8b"


class Echo:
    """A reader that repeats the last message and one draw."""

    def answer(self, messages: Sequence[Message], rng: Random) -> str:
        return f"{messages[-1].text} {rng.random()}"


def request(text: str, seed: int | None = None, max_output_tokens: int = 32_768) -> Request:
    messages = (system("Answer."), user(text))
    return Request(messages=messages, seed=seed, max_output_tokens=max_output_tokens)


def new_model(shared: dict[str, Server] | None = None, preset: str = PRESET) -> SimulatedModel:
    return SimulatedModel.from_preset(preset, {} if shared is None else shared, reader=Echo())


def h100() -> ServingSettings:
    preset = load_world().preset(PRESET)
    assert isinstance(preset, ServingSettings)
    return preset


def ask(*requests: Request) -> list[Reply]:
    async def main() -> list[Reply]:
        model: ChatModel = new_model()
        replies = [await model.complete(r) for r in requests]
        await model.close()
        return replies

    return run_virtual(main())


def test_the_same_messages_and_seed_give_the_same_reply() -> None:
    first, again, other_seed, other_text = ask(
        request("Hi", 1), request("Hi", 1), request("Hi", 2), request("Ho", 1)
    )
    assert first == again
    assert len({r.text for r in (first, other_seed, other_text)}) == 3
    assert len({r.tokens_out for r in (first, other_seed, other_text)}) == 3


def test_without_a_seed_every_request_is_a_new_sample_and_every_run_the_same() -> None:
    replies = ask(*[request("Hi")] * 5)
    assert len({r.text for r in replies}) == 5
    assert replies == ask(*[request("Hi")] * 5)


def test_usage_is_an_estimate_of_the_prompt_and_the_drawn_length() -> None:
    asked = request("é" * 100, 1)
    [reply] = ask(asked)
    assert reply.tokens_in == -(-len(f"system\nAnswer.\nuser\n{'é' * 100}\n".encode()) // 4)
    assert reply.tokens_out == draw_tokens(load_world().lengths, asked.messages, "seed 1")
    assert (reply.finish, reply.model) == ("stop", PRESET)


def test_a_reply_takes_the_time_of_its_tokens() -> None:
    async def main() -> tuple[float, Reply]:
        reply = await new_model().complete(request("Hi", 1))
        return asyncio.get_running_loop().time(), reply

    time_s, reply = run_virtual(main())
    preset = h100()
    assert reply.tokens_in is not None
    assert reply.tokens_out is not None
    assert time_s == pytest.approx(
        reply.tokens_in / preset.prefill_tokens_per_s
        + reply.tokens_out * (preset.t_base_s + preset.t_per_sequence_s)
    )


def test_an_answer_that_is_too_long_is_truncated_and_billed_up_to_the_limit() -> None:
    async def main() -> float:
        with pytest.raises(
            Truncated, match=r"within 3 tokens, found .* raise max_output_tokens"
        ) as e:
            await new_model().complete(request("Hi", 1, max_output_tokens=3))
        assert e.value.reply is not None
        assert (e.value.reply.finish, e.value.reply.tokens_out) == ("length", 3)
        assert e.value.reply.text == ""
        return asyncio.get_running_loop().time()

    preset = h100()
    assert run_virtual(main()) == pytest.approx(
        6 / preset.prefill_tokens_per_s + 3 * (preset.t_base_s + preset.t_per_sequence_s), rel=1e-3
    )


def test_models_of_one_run_share_the_accelerator_of_their_preset() -> None:
    async def main(n_accelerators: int) -> float:
        shared: list[dict[str, Server]] = [{} for _ in range(n_accelerators)]
        models = [new_model(shared[k % n_accelerators]) for k in range(8)]
        await asyncio.gather(*(m.complete(request("Hi", 1)) for m in models))
        return asyncio.get_running_loop().time()

    assert run_virtual(main(1)) > run_virtual(main(8))


def test_a_request_that_takes_longer_than_its_timeout_fails_and_frees_its_place() -> None:
    async def main() -> tuple[float, int]:
        shared: dict[str, Server] = {}
        model = new_model(shared)
        asked = replace(request("Hi", 1), timeout_s=0.5)
        with pytest.raises(
            Transient, match=r"h100-qwen3-8b \(simulated\): no answer \(timeout_s = 0.5\)"
        ) as e:
            await model.complete(asked)
        assert e.value.billed_unknown
        server = shared[PRESET]
        assert isinstance(server, ServingModel)
        return asyncio.get_running_loop().time(), server.n_running

    assert run_virtual(main()) == (0.5, 0)


def test_a_hosted_preset_answers_as_any_other_and_its_models_share_the_limits() -> None:
    async def main() -> tuple[list[Reply], int]:
        shared: dict[str, Server] = {}
        models = [new_model(shared, "hosted-api") for _ in range(4)]
        asking = [
            models[k % 4].complete(request(f"Hi {k}", 1, max_output_tokens=100_000))
            for k in range(25)
        ]
        answers = await asyncio.gather(*asking, return_exceptions=True)
        assert isinstance(shared["hosted-api"], HostedModel)
        replies = [a for a in answers if isinstance(a, Reply)]
        refused = [a for a in answers if isinstance(a, RateLimited)]
        assert len(replies) + len(refused) == 25
        return replies, len(refused)

    # Nineteen requests that may write 100,000 tokens each fit into 2,000,000 with their prompts.
    replies, n_refused = run_virtual(main())
    assert n_refused == 6
    assert replies[0].model == "hosted-api"


def test_a_hosted_reply_takes_the_time_of_its_own_draw() -> None:
    async def main() -> tuple[float, Reply]:
        reply = await new_model(preset="hosted-api").complete(request("Hi", 1))
        return asyncio.get_running_loop().time(), reply

    seconds, reply = run_virtual(main())
    preset = load_world().preset("hosted-api")
    assert isinstance(preset, HostedSettings)
    prompt = b"system\nAnswer.\nuser\nHi\n"
    speed = preset.speed(digest(b"speed", prompt, b"seed 1"))
    assert reply.tokens_out is not None
    assert seconds == pytest.approx(speed.first_token_s + reply.tokens_out / speed.tokens_per_s)


def test_a_text_has_never_more_tokens_than_its_reply() -> None:
    class Talker:
        def answer(self, messages: Sequence[Message], rng: Random) -> str:
            return "word " * rng.randrange(1, 2000)

    async def main() -> list[Reply]:
        model = SimulatedModel.from_preset(PRESET, {}, reader=Talker())
        asked = [request(f"Hi {k}", k, max_output_tokens=1500) for k in range(60)]
        found = await asyncio.gather(*map(model.complete, asked), return_exceptions=True)
        return [r for r in found if isinstance(r, Reply)]

    replies = run_virtual(main())
    tokens = [(count_tokens(r.text.encode()), r.tokens_out or 0) for r in replies]
    assert 10 < len(replies) < 60, "some are cut, as what is wanted is more than what is allowed"
    assert all(shown <= told <= 1500 for shown, told in tokens)
    assert any(shown == told for shown, told in tokens)
    assert any(shown < told for shown, told in tokens)


def test_a_text_that_is_too_long_is_truncated_even_where_a_short_one_was_drawn() -> None:
    class Talker:
        def answer(self, messages: Sequence[Message], rng: Random) -> str:
            return "word " * 100_000

    model = SimulatedModel.from_preset(PRESET, {}, reader=Talker())
    with pytest.raises(Truncated, match="within 8192 tokens, found 125000 wanted by") as error:
        run_virtual(model.complete(request("Hi", 1, max_output_tokens=8192)))
    assert error.value.reply is not None
    assert (error.value.reply.text, error.value.reply.tokens_out) == ("", 8192)


class Broken:
    """A reader with a bug."""

    def answer(self, messages: Sequence[Message], rng: Random) -> str:
        raise IndexError("no place 7")


def test_a_readers_bug_is_told_as_one() -> None:
    model = SimulatedModel.from_preset(PRESET, {}, reader=Broken())
    with pytest.raises(
        ModelBug,
        match=r"answer of h100-qwen3-8b .* its reader raised IndexError: a bug",
    ) as error:
        run_virtual(model.complete(request("Hi", 1)))
    assert isinstance(error.value.__cause__, IndexError)


@pytest.mark.parametrize("with_run", [False, True], ids=["no run function", "its own"])
def test_a_readers_bug_stops_a_run_instead_of_becoming_failure_scores(
    with_run: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashevolve.simulate.reader.TextReader.answer", Broken.answer)

    async def careless(artifact: Any, example: Any, ctx: Any) -> Any:
        try:
            return (await ctx.chat("task", example["prompt"])).text
        except Exception:
            return "nothing"

    options: dict[str, Any] = {"run": careless} if with_run else {"input": "prompt"}
    data = [{"prompt": f"Say {k}."} for k in range(6)]
    with pytest.raises(ModelBug, match="raised IndexError: a bug of flashevolve") as error:
        fe.optimize(
            seed={"system": "Answer."},
            train=data[:3],
            val=data[3:],
            score=lambda example, output: 1.0,
            models=f"sim/{PRESET}",
            budget=fe.Budget(metric_calls=20),
            run_dir=tmp_path / "run",
            **options,
        )
    assert isinstance(error.value.__cause__, IndexError)
    scored = [r for r in read_records(tmp_path / "run") if isinstance(r.event, OutcomeRecorded)]
    assert not scored


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'h100-qwen3-8b'"):
        SimulatedModel.from_preset("h100-qwen3", {}, reader=Echo())


def test_the_built_in_reader_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("flashevolve.simulate.reader")
    module.TextReader = lambda parameters: Echo()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    model = SimulatedModel.from_preset(PRESET, {})
    reply = run_virtual(model.complete(request("Hi", 1)))
    assert reply.text.startswith("Hi 0.")


def trace() -> str:
    """Runs tasks and sync functions in threads that call the model; returns all that happened."""
    events: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        model = new_model()

        def log(who: str, reply: Reply) -> None:
            events.append(f"{loop.time()!r} {who} {reply!r}")

        def sync_agent(key: int) -> None:
            for turn in range(3):
                reply = loop.call_from_thread(model.complete(request(f"sync {key} {turn}")))
                log(f"thread {key}", reply)

        async def agent(key: int) -> None:
            for turn in range(3):
                log(f"task {key}", await model.complete(request(f"async {key} {turn}")))

        await asyncio.gather(
            *(asyncio.to_thread(sync_agent, k) if k % 2 else agent(k) for k in range(40))
        )

    run_virtual(main())
    return "\n".join(events)


def test_two_runs_give_the_same_trace_byte_for_byte() -> None:
    first = trace()
    assert len(first.splitlines()) == 120
    assert first.encode() == trace().encode()
