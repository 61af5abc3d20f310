import pytest

from flashevolve.simulate.batching import ServingSettings
from flashevolve.simulate.ceiling import RecordedCall, ceiling_s

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
