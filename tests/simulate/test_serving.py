import asyncio

from flashevolve.simulate.batching import ServingSettings, Timing
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.serving import ServingModel

SETTINGS = ServingSettings(
    max_sequences=2,
    t_base_s=0.5,
    t_per_sequence_s=0.25,
    prefill_tokens_per_s=100.0,
    prefix_cache_blocks=8,
)


def test_a_request_returns_at_its_virtual_time() -> None:
    async def main() -> tuple[Timing, float]:
        timing = await ServingModel(SETTINGS).serve(50, 10)
        return timing, asyncio.get_running_loop().time()

    assert run_virtual(main()) == (Timing(queued_s=0.0, prefill_s=0.5, decode_s=7.5), 8.0)


def test_requests_that_arrive_over_time_share_the_accelerator() -> None:
    async def main() -> list[tuple[str, float]]:
        model = ServingModel(SETTINGS)
        done: list[tuple[str, float]] = []

        async def ask(name: str, after_s: float, tokens_out: int) -> None:
            await asyncio.sleep(after_s)
            await model.serve(0, tokens_out)
            done.append((name, asyncio.get_running_loop().time()))

        await asyncio.gather(ask("long", 0, 10), ask("short", 1.5, 4), ask("queued", 2, 1))
        return done

    # At 5.5 the queued one takes the slot that the short one frees.
    assert run_virtual(main()) == [("short", 5.5), ("queued", 6.5), ("long", 8.75)]


def test_cancelling_a_request_frees_its_slot_for_the_next() -> None:
    async def main() -> tuple[Timing, int]:
        model = ServingModel(SETTINGS)
        hogs = [asyncio.create_task(model.serve(0, 1000)) for _ in range(2)]
        waiting = asyncio.create_task(model.serve(0, 4))
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
        first = asyncio.create_task(model.serve(0, 4))
        second = asyncio.create_task(model.serve(0, 8))
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
        timings = await asyncio.gather(*(model.serve(10, 5) for _ in range(4)))
        return timings, asyncio.get_running_loop().time() - started_s

    timings, elapsed_s = asyncio.run(main())
    # Alone at best; at worst two at a time, and three prompts read meanwhile.
    assert all(5 * 2e-4 <= t.decode_s + 1e-9 <= 5 * 3e-4 + 3e-5 + 2e-9 for t in timings)
    assert elapsed_s >= 2 * 5 * 2e-4
