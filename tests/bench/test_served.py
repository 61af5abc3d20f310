from flashevolve.bench.served import marginal_s
from flashevolve.simulate.ceiling import RecordedCall, ceiling_s
from flashevolve.simulate.world import load_world

PRESET = load_world().preset("h100-qwen3-8b")


def calls(*lengths: int) -> list[RecordedCall]:
    return [
        RecordedCall(
            input_tokens=64, output_tokens=n, max_output_tokens=8192, prefix_blocks=(1, 2, 3, 4)
        )
        for n in lengths
    ]


def test_how_long_the_longest_call_takes_alone_is_no_part_of_what_calls_need() -> None:
    # The last of 200 calls is as long as all others together would be on one slot of eight.
    found = calls(*[100] * 200, 5000)
    least_s = marginal_s(found, PRESET, max_in_flight=8)
    assert least_s < 0.6 * ceiling_s(found, PRESET, max_in_flight=8)


def test_equal_calls_need_as_long_as_a_full_backend_takes_for_them() -> None:
    found = calls(*[100] * 400)
    once_s = ceiling_s(found, PRESET, max_in_flight=8)
    assert abs(marginal_s(found, PRESET, max_in_flight=8) / once_s - 1) < 0.02


def test_without_calls_nothing_is_needed() -> None:
    assert marginal_s([], PRESET, max_in_flight=8) == 0
