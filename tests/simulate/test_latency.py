from statistics import fmean, stdev

import pytest

from flashevolve.simulate.latency import LatencySettings

SETTINGS = LatencySettings(mean_s=2.0, sigma=0.5)


def test_a_latency_is_a_function_of_example_and_replica() -> None:
    assert SETTINGS.draw_s("a", 0) == SETTINGS.draw_s("a", 0)
    assert len({SETTINGS.draw_s(e, r) for e in "abc" for r in range(3)}) == 9


def test_latencies_have_the_mean_and_the_spread_that_are_stated() -> None:
    drawn = [SETTINGS.draw_s(f"e{k}", k) for k in range(20_000)]
    assert fmean(drawn) == pytest.approx(2.0, rel=0.02)
    assert stdev(drawn) == pytest.approx(2.0 * (2.718281828**0.25 - 1) ** 0.5, rel=0.05)


def test_without_spread_every_evaluation_takes_the_mean_and_without_mean_no_time() -> None:
    assert LatencySettings(mean_s=2.0, sigma=0.0).draw_s("a", 1) == 2.0
    assert LatencySettings(mean_s=0.0, sigma=4.0).draw_s("a", 1) == 0.0


def test_half_a_surrogate_pair_may_name_an_example() -> None:
    assert SETTINGS.draw_s("\ud800", 0) > 0


@pytest.mark.parametrize("name", ["mean_s", "sigma"])
def test_negative_latencies_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must not be negative, got -1"):
        LatencySettings(**{"mean_s": 1, "sigma": 1, name: -1})
