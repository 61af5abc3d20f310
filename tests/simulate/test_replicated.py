import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import ConfigError
from flashevolve.llm.messages import Request, user
from flashevolve.simulate.batching import ServingSettings, Timing
from flashevolve.simulate.ceiling import RecordedCall, ceiling_s
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.model import SimulatedModel
from flashevolve.simulate.replicated import LeastLoaded, ReplicatedSettings
from flashevolve.simulate.serving import Job, ReplicatedModel, Server, server_of
from flashevolve.simulate.world import load_world

EACH = ServingSettings(
    max_sequences=2,
    t_base_s=0.5,
    t_per_sequence_s=0.25,
    prefill_tokens_per_s=100.0,
    prefix_cache_blocks=8,
)


def replicated(n: int) -> ReplicatedSettings:
    return ReplicatedSettings(each=EACH, n_replicas=n)


def test_a_request_goes_to_the_least_loaded_and_of_equals_to_the_first() -> None:
    routing = LeastLoaded(3)
    assert [routing.take() for _ in range(4)] == [0, 1, 2, 0]
    routing.leave(1)
    assert routing.take() == 1
    routing.leave(2)
    routing.leave(0)
    assert [routing.take(), routing.take()] == [2, 0]
    assert routing.in_flight == (2, 1, 1)
    assert routing.total == 4


@given(st.integers(1, 5), st.lists(st.booleans(), max_size=60), st.integers(0, 99))
def test_every_request_is_in_flight_on_one_replica(n: int, starts: list[bool], seed: int) -> None:
    routing, under_way, rng = LeastLoaded(n), list[int](), Random(seed)
    for starting in starts:
        if starting:
            least = min(routing.in_flight)
            under_way.append(routing.take())
            assert routing.in_flight[under_way[-1]] == least + 1
        elif under_way:
            routing.leave(under_way.pop(rng.randrange(len(under_way))))
        assert list(routing.in_flight) == [under_way.count(i) for i in range(n)]
        assert routing.total == len(under_way)


def test_replicas_serve_as_many_machines_do() -> None:
    async def main() -> tuple[list[Timing], float]:
        model = server_of(replicated(3))
        timings = await asyncio.gather(*(model.serve(Job(0, 4)) for _ in range(3)))
        return timings, asyncio.get_running_loop().time()

    timings, at_s = run_virtual(main())
    assert timings == [Timing(queued_s=0.0, prefill_s=0.0, decode_s=3.0)] * 3
    assert at_s == 3.0


def test_a_cancelled_request_leaves_its_replica() -> None:
    async def main() -> tuple[tuple[int, ...], tuple[int, ...], int]:
        model = ReplicatedModel(replicated(2))
        tasks = [asyncio.create_task(model.serve(Job(0, 1000))) for _ in range(3)]
        await asyncio.sleep(1)
        before = tuple(model.in_flight)
        tasks[0].cancel()
        await asyncio.wait([tasks[0]])
        after = tuple(model.in_flight)
        n_running = model.n_running
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert tuple(model.in_flight) == (0, 0)
        return before, after, n_running

    assert run_virtual(main()) == ((2, 1), (1, 1), 2)


def served(server: Server, outputs: list[int]) -> list[tuple[Timing, float]]:
    """Sends a request every second; returns each one's timing and end."""

    async def ask(i: int, tokens: int) -> tuple[Timing, float]:
        await asyncio.sleep(i)
        timing = await server.serve(Job(10, tokens, (1, i % 3)))
        return timing, asyncio.get_running_loop().time()

    async def main() -> list[tuple[Timing, float]]:
        return await asyncio.gather(*(ask(i, n) for i, n in enumerate(outputs)))

    return run_virtual(main())


@given(st.lists(st.integers(1, 30), max_size=12))
def test_one_replica_is_the_accelerator_itself(outputs: list[int]) -> None:
    assert served(server_of(replicated(1)), outputs) == served(server_of(EACH), outputs)


@given(st.lists(st.integers(1, 30), max_size=20), st.integers(1, 5))
def test_the_ceiling_of_one_replica_is_that_of_the_accelerator(
    outputs: list[int], n_max: int
) -> None:
    calls = [RecordedCall(input_tokens=9, output_tokens=n, prefix_blocks=(1,)) for n in outputs]
    one = ceiling_s(calls, replicated(1), max_in_flight=n_max)
    assert one == ceiling_s(calls, EACH, max_in_flight=n_max)


@pytest.mark.parametrize("n_replicas", [2, 3, 5])
def test_the_ceiling_is_what_senders_without_dependencies_take(n_replicas: int) -> None:
    rng, n_max = Random(n_replicas), 7
    calls = [
        RecordedCall(input_tokens=rng.randrange(90), output_tokens=rng.randrange(1, 40))
        for _ in range(60)
    ]

    async def main() -> float:
        model, waiting = server_of(replicated(n_replicas)), iter(calls)

        async def sender() -> None:
            for call in waiting:
                await model.serve(call)

        await asyncio.gather(*(sender() for _ in range(n_max)))
        return asyncio.get_running_loop().time()

    ceiling = ceiling_s(calls, replicated(n_replicas), max_in_flight=n_max)
    assert run_virtual(main()) == pytest.approx(ceiling)
    assert ceiling < ceiling_s(calls, EACH, max_in_flight=n_max)


def test_a_world_knows_replicas_of_its_accelerators_by_name() -> None:
    world = load_world()
    each = world.preset("h100-qwen3-8b")
    assert isinstance(each, ServingSettings)
    assert world.preset("h100-qwen3-8b*8") == ReplicatedSettings(each=each, n_replicas=8)
    assert world.preset("h100-qwen3-8b*1") == each
    assert world.reader_of("h100-qwen3-8b*8") == world.reader_of("h100-qwen3-8b")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("h100-qwen3-8b*0", r"number of replicas from 1 to 1024, such as h100-qwen3-8b\*8"),
        ("h100-qwen3-8b*", r"number of replicas from 1 to 1024"),
        ("h100-qwen3-8b*2000", r"number of replicas from 1 to 1024"),
        ("h100-qwen3-8b*two", r"found 'h100-qwen3-8b\*two'"),
        ("h100*2", r"expected a simulated model among .*, found 'h100\*2'"),
        ("hosted-api*2", "replicas of an accelerator, found 'hosted-api[*]2'.*leave out"),
    ],
)
def test_replicas_that_cannot_be_are_refused_in_one_line(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_world().preset(name)


def test_no_replicas_are_refused() -> None:
    with pytest.raises(ValueError, match="n_replicas must be at least 1, got 0"):
        replicated(0)


def test_models_that_name_the_same_replicas_share_them() -> None:
    shared: dict[str, Server] = {}
    models = [SimulatedModel.from_preset("h100-qwen3-8b*2", shared) for _ in range(2)]

    async def main() -> list[int | None]:
        replies = await asyncio.gather(
            *(m.complete(Request(messages=(user("Say hello."),), seed=1)) for m in models)
        )
        return [reply.tokens_out for reply in replies]

    first, second = run_virtual(main())
    assert first == second
    assert list(shared) == ["h100-qwen3-8b*2"]
