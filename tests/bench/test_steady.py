from typing import Any

import pytest

from flashevolve.bench.steady import steady
from flashevolve.events import DrainStarted
from tests.bench.made import a_trace, admit, call, count, end, select, settle


def test_rates_count_from_the_seeds_admission_to_the_last_end_of_a_step() -> None:
    seed = [select(1), call(1, 1), settle(1, 1, 1000, 30.0), *count(1, "swept")]
    timed: list[tuple[float, Any]] = [(120.0, event) for event in [*seed, admit(1, "1", 0, ())]]
    step = [select(2, (0,)), call(2, 2), settle(2, 2, 960, 60.0), *count(2, "proposed")]
    timed += [(300.0, event) for event in [*step, end(2, "rejected")]]
    timed += [(360.0, event) for event in (select(3, (0,)), *count(3, "proposed"))]
    timed += [(540.0, end(3, "rejected"))]
    timed += [(580.0, event) for event in (select(4, (0,)), *count(4, "proposed"))]
    timed += [(600.0, end(4, "dropped")), (600.0, DrainStarted(reason="deadline"))]
    found = steady(a_trace(timed))
    assert found["steady_proposed_per_min"] == pytest.approx(2 / 7)
    assert found["steady_swept_per_min"] == 0
    assert found["steady_tokens_out_per_s"] == pytest.approx(960 / 420)


def test_before_the_seed_is_scored_or_a_step_ends_there_is_no_rate() -> None:
    found = steady(a_trace([(60.0, DrainStarted(reason="deadline"))]))
    assert set(found.values()) == {None}
    assert steady(a_trace([(1.0, admit(1, "1", 0, ())), (2.0, select(2))])) == found
