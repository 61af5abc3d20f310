import asyncio

import pytest

from flashevolve.llm.errors import RateLimited
from flashevolve.simulate.batching import ServingSettings
from flashevolve.simulate.ceiling import RecordedCall, ceiling_s
from flashevolve.simulate.hosted import HostedSettings
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.serving import HostedModel, Job

SETTINGS = ServingSettings(
    max_sequences=4,
    t_base_s=0.5,
    t_per_sequence_s=0.25,
    prefill_tokens_per_s=100.0,
    prefix_cache_blocks=8,
)


def calls(*outputs: int) -> list[RecordedCall]:
    return [RecordedCall(input_tokens=50, output_tokens=n) for n in outputs]


def test_one_call_at_a_time_takes_the_sum_of_their_latencies() -> None:
    assert ceiling_s(calls(10, 2, 4), SETTINGS, max_in_flight=1) == 3 * 0.5 + 16 * 0.75


def test_all_at_once_they_share_the_accelerator() -> None:
    assert ceiling_s(calls(10, 10), SETTINGS, max_in_flight=2) == 2 * 0.5 + 10 * 1.0


def test_the_next_call_is_sent_as_soon_as_one_is_done() -> None:
    # Two shared steps, the third prompt, four shared steps, four steps alone.
    seconds = ceiling_s(calls(10, 2, 4), SETTINGS, max_in_flight=2)
    assert seconds == 2 * 0.5 + 2 * 1.0 + 0.5 + 4 * 1.0 + 4 * 0.75


def test_a_limit_above_the_slots_changes_nothing() -> None:
    many = calls(*range(1, 30))
    assert ceiling_s(many, SETTINGS, max_in_flight=4) == pytest.approx(
        ceiling_s(many, SETTINGS, max_in_flight=100)
    )


def test_shared_prefixes_lower_the_ceiling() -> None:
    alone = [RecordedCall(input_tokens=50, output_tokens=1) for _ in range(3)]
    shared = [RecordedCall(input_tokens=50, output_tokens=1, prefix_blocks=(1,)) for _ in range(3)]
    saved_s = ceiling_s(alone, SETTINGS, max_in_flight=1) - ceiling_s(
        shared, SETTINGS, max_in_flight=1
    )
    assert saved_s == pytest.approx(2 * 0.16)


def test_no_calls_take_no_time_and_a_limit_of_zero_is_refused() -> None:
    assert ceiling_s([], SETTINGS, max_in_flight=1) == 0.0
    with pytest.raises(ValueError, match="max_in_flight must be at least 1, got 0"):
        ceiling_s([], SETTINGS, max_in_flight=0)


# -- a hosted API ------------------------------------------------------------------------------

HOSTED = HostedSettings(
    first_token_s=0.5,
    first_token_sigma=0.3,
    tokens_per_s=10.0,
    tokens_per_s_sigma=0.3,
    requests_per_min=6,
    tokens_per_min=600,
)


def hosted_call(latency_s: float, used: int = 10, reserved: int = 10) -> RecordedCall:
    return RecordedCall(
        input_tokens=0, output_tokens=used, max_output_tokens=reserved, latency_s=latency_s
    )


def test_hosted_calls_take_their_own_time_at_most_so_many_at_once() -> None:
    lasting = [hosted_call(s) for s in (4, 1, 1, 1)]
    assert ceiling_s(lasting, HOSTED, max_in_flight=1) == 7
    assert ceiling_s(lasting, HOSTED, max_in_flight=2) == 4
    assert ceiling_s(lasting, HOSTED, max_in_flight=64) == 4


def test_the_limit_of_requests_bounds_the_ceiling() -> None:
    # Six at once, then one each ten seconds.
    assert ceiling_s([hosted_call(1)] * 9, HOSTED, max_in_flight=64) == pytest.approx(31)


def test_the_limit_of_tokens_bounds_the_ceiling_by_what_may_be_written() -> None:
    large = hosted_call(6, used=100, reserved=600)
    # The second one fits when the first has ended and given back what it did not write, and enough
    # has flowed in: 600 - 100 + 60 = 560 after six seconds, 600 four seconds later.
    assert ceiling_s([large, large], HOSTED, max_in_flight=64) == pytest.approx(16)
    alone = hosted_call(6, used=600, reserved=600)
    assert ceiling_s([alone, alone], HOSTED, max_in_flight=64) == pytest.approx(66)


def test_a_run_that_met_the_limits_cannot_beat_its_hosted_ceiling() -> None:
    server = HostedModel(HOSTED)
    calls: list[RecordedCall] = []

    async def ask(k: int) -> None:
        while True:
            try:
                timing = await server.serve(Job(5, k % 7 + 1, max_output_tokens=80, draw=k))
            except RateLimited as error:
                await asyncio.sleep(error.retry_after_s or 0)
            else:
                latency_s = timing.prefill_s + timing.decode_s
                calls.append(
                    RecordedCall(
                        input_tokens=5,
                        output_tokens=k % 7 + 1,
                        max_output_tokens=80,
                        latency_s=latency_s,
                    )
                )
                return

    async def main() -> float:
        await asyncio.gather(*(ask(k) for k in range(40)))
        return asyncio.get_running_loop().time()

    took_s = run_virtual(main())
    assert len(calls) == 40
    assert 0.9 * took_s < ceiling_s(calls, HOSTED, max_in_flight=40) <= took_s


def test_a_hosted_ceiling_needs_latencies() -> None:
    with pytest.raises(ValueError, match="needs the latency of each call, found None"):
        ceiling_s(calls(1), HOSTED, max_in_flight=1)
