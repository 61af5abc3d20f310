import asyncio

import pytest

from flashevolve.llm.errors import Fatal, RateLimited
from flashevolve.simulate.batching import ServingSettings, Timing
from flashevolve.simulate.hosted import HostedSettings
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.serving import HostedModel, Job, ServingModel, server_of

SETTINGS = ServingSettings(
    max_sequences=2,
    t_base_s=0.5,
    t_per_sequence_s=0.25,
    prefill_tokens_per_s=100.0,
    prefix_cache_blocks=8,
)


HOSTED = HostedSettings(
    first_token_s=0.5,
    first_token_sigma=0.0,
    tokens_per_s=10.0,
    tokens_per_s_sigma=0.0,
    requests_per_min=6,
    tokens_per_min=600,
)


def test_a_request_returns_at_its_virtual_time() -> None:
    async def main() -> tuple[Timing, float]:
        timing = await ServingModel(SETTINGS).serve(Job(50, 10))
        return timing, asyncio.get_running_loop().time()

    assert run_virtual(main()) == (Timing(queued_s=0.0, prefill_s=0.5, decode_s=7.5), 8.0)


def test_requests_that_arrive_over_time_share_the_accelerator() -> None:
    async def main() -> list[tuple[str, float]]:
        model = ServingModel(SETTINGS)
        done: list[tuple[str, float]] = []

        async def ask(name: str, after_s: float, tokens_out: int) -> None:
            await asyncio.sleep(after_s)
            await model.serve(Job(0, tokens_out))
            done.append((name, asyncio.get_running_loop().time()))

        await asyncio.gather(ask("long", 0, 10), ask("short", 1.5, 4), ask("queued", 2, 1))
        return done

    # At 5.5 the queued one takes the slot that the short one frees.
    assert run_virtual(main()) == [("short", 5.5), ("queued", 6.5), ("long", 8.75)]


def test_cancelling_a_request_frees_its_slot_for_the_next() -> None:
    async def main() -> tuple[Timing, int]:
        model = ServingModel(SETTINGS)
        hogs = [asyncio.create_task(model.serve(Job(0, 1000))) for _ in range(2)]
        waiting = asyncio.create_task(model.serve(Job(0, 4)))
        await asyncio.sleep(3)
        assert (model.n_running, model.n_queued) == (2, 1)
        for hog in hogs:
            hog.cancel()
        timing = await waiting
        return timing, model.n_running

    assert run_virtual(main()) == (Timing(queued_s=3.0, prefill_s=0.0, decode_s=3.0), 0)


def test_a_cancellation_in_the_instant_of_completion_does_not_disturb_the_others() -> None:
    async def main() -> tuple[float, int]:
        model = ServingModel(SETTINGS)
        loop = asyncio.get_running_loop()
        first = asyncio.create_task(model.serve(Job(0, 4)))
        second = asyncio.create_task(model.serve(Job(0, 8)))
        loop.call_later(4.0, first.cancel)
        await asyncio.wait([first])
        await second
        return loop.time(), model.n_running

    # Four shared steps of a second, then four alone.
    assert run_virtual(main()) == (7.0, 0)


def test_it_works_on_a_real_loop_too() -> None:
    fast = ServingSettings(
        max_sequences=2,
        t_base_s=1e-4,
        t_per_sequence_s=1e-4,
        prefill_tokens_per_s=1e6,
        prefix_cache_blocks=0,
    )

    async def main() -> tuple[list[Timing], float]:
        model = ServingModel(fast)
        started_s = asyncio.get_running_loop().time()
        timings = await asyncio.gather(*(model.serve(Job(10, 5)) for _ in range(4)))
        return timings, asyncio.get_running_loop().time() - started_s

    timings, elapsed_s = asyncio.run(main())
    # Alone at best; at worst two at a time, and three prompts read meanwhile.
    assert all(5 * 2e-4 <= t.decode_s + 1e-9 <= 5 * 3e-4 + 3e-5 + 2e-9 for t in timings)
    assert elapsed_s >= 2 * 5 * 2e-4


# -- a hosted API ------------------------------------------------------------------------------


def test_a_preset_gets_the_server_of_its_kind() -> None:
    assert isinstance(server_of(SETTINGS), ServingModel)
    assert isinstance(server_of(HOSTED), HostedModel)


def test_a_hosted_request_takes_its_own_time_however_many_are_under_way() -> None:
    async def main() -> list[tuple[Timing, float]]:
        model = HostedModel(HOSTED)
        loop = asyncio.get_running_loop()

        async def ask(n_tokens: int) -> tuple[Timing, float]:
            return await model.serve(Job(10, n_tokens)), loop.time()

        return await asyncio.gather(*(ask(n) for n in (5, 20, 20)))

    assert run_virtual(main()) == [
        (Timing(queued_s=0.0, prefill_s=0.5, decode_s=0.5), 1.0),
        (Timing(queued_s=0.0, prefill_s=0.5, decode_s=2.0), 2.5),
        (Timing(queued_s=0.0, prefill_s=0.5, decode_s=2.0), 2.5),
    ]


def test_speeds_follow_the_draw_that_a_request_brings() -> None:
    spread = HostedSettings(**{**vars(HOSTED), "first_token_sigma": 0.5, "tokens_per_s_sigma": 0.5})

    async def main() -> list[Timing]:
        model = HostedModel(spread)
        return [await model.serve(Job(10, 5, draw=draw)) for draw in (1, 1, 2)]

    first, same, other = run_virtual(main())
    assert first == same
    assert first.prefill_s != other.prefill_s
    assert first.decode_s != other.decode_s


def test_the_first_token_is_told_when_it_is_there_and_nothing_was_cached() -> None:
    async def main() -> tuple[list[tuple[float, int]], float]:
        loop = asyncio.get_running_loop()
        told: list[tuple[float, int]] = []
        await HostedModel(HOSTED).serve(Job(10, 5, (1,)), lambda n: told.append((loop.time(), n)))
        return told, loop.time()

    assert run_virtual(main()) == ([(0.5, 0)], 1.0)


def test_above_the_limit_a_request_is_told_when_to_come_back_in_whole_seconds() -> None:
    async def main() -> float:
        model = HostedModel(HOSTED)
        under_way = [
            asyncio.create_task(model.serve(Job(30, 10, max_output_tokens=60))) for _ in "123456"
        ]
        await asyncio.sleep(0.25)
        with pytest.raises(
            RateLimited, match=r"at most 6 requests and 600 tokens a minute"
        ) as told:
            await model.serve(Job(30, 10))
        assert told.value.retry_after_s == 10
        await asyncio.sleep(10)
        await model.serve(Job(30, 10))
        await asyncio.gather(*under_way)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 10.25 + 1.5


def test_what_a_request_may_write_counts_until_it_ends_and_then_what_it_wrote() -> None:
    async def main() -> None:
        model = HostedModel(HOSTED)
        first = asyncio.create_task(model.serve(Job(50, 5, max_output_tokens=500)))
        await asyncio.sleep(0)
        with pytest.raises(RateLimited) as told:
            await model.serve(Job(50, 5, max_output_tokens=100))
        assert told.value.retry_after_s == 10
        await first
        await model.serve(Job(50, 5, max_output_tokens=400))

    run_virtual(main())


def test_a_cancelled_request_gives_back_what_it_had_not_written() -> None:
    async def main() -> None:
        model = HostedModel(HOSTED)
        hog = asyncio.create_task(model.serve(Job(100, 500)))
        await asyncio.sleep(10.5)
        with pytest.raises(RateLimited):
            await model.serve(Job(0, 300))
        hog.cancel()
        await asyncio.wait([hog])
        assert model.n_running == 0
        # Of 600, a hundred were read and a hundred written; 105 have flowed in.
        with pytest.raises(RateLimited):
            await model.serve(Job(0, 1, max_output_tokens=506))
        await model.serve(Job(0, 1, max_output_tokens=505))

    run_virtual(main())


def test_a_request_above_the_whole_limit_is_fatal_and_says_what_to_lower() -> None:
    with pytest.raises(Fatal, match=r"larger than the account's 600 .* Lower max_output_tokens"):
        run_virtual(HostedModel(HOSTED).serve(Job(100, 5, max_output_tokens=501)))
