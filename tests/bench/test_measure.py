from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.bench import measure
from flashevolve.events import DrainStarted
from flashevolve.simulate.lengths import digest
from tests.bench.made import a_trace, admit, call, count, end, gap, orphan, select, settle

DEADLINE = DrainStarted(reason="deadline")


def two_steps() -> list[tuple[float, Any]]:
    """The seed, scored .2 at 60 s; a child .6 at 300 s, and a duplicate."""
    seed = [select(1), call(1, 1), settle(1, 1, 100, 30.0), *count(1, "swept", 5)]
    seed += [admit(1, "0.1", 0.2, ()), end(1, "committed")]
    child = [select(2, (0,)), call(2, 2), settle(2, 2, 300, 120.0), *count(2, "proposed", 3)]
    child += [gap(2, 4), admit(2, "0.5", 0.6, (0,), "front", "best"), end(2, "committed")]
    twin = [select(3, (0,)), *count(3, "proposed"), end(3, "no-op")]
    timed = [(60.0, e) for e in seed] + [(300.0, e) for e in child] + [(400.0, e) for e in twin]
    return [*timed, (600.0, DEADLINE)]


def test_work_is_counted_per_minute_and_all_tokens_count() -> None:
    found = measure.work(a_trace(two_steps()))
    assert found["minutes"] == 10.0
    assert (found["proposed"], found["proposed_per_min"]) == (2, 0.2)
    assert (found["front"], found["front_per_hour"]) == (1, 6.0)
    assert (found["tokens"], found["calls"]) == (400, 2)
    assert found["swept"] == 0  # the seed's is not counted
    assert found["metric_calls"] == 8
    assert found["tokens_out_per_s"] == pytest.approx(400 / 600)


def test_sweeps_of_children_are_counted() -> None:
    child = [select(4, (0,)), *count(4, "swept", 5), end(4, "rejected")]
    timed = [*two_steps()[:-1], *((500.0, event) for event in child), (600.0, DEADLINE)]
    assert measure.work(a_trace(timed))["swept_per_min"] == pytest.approx(0.1)


def test_a_call_that_was_cut_off_counts_as_the_mean_of_those_served() -> None:
    cut = [(590.0, call(3, 3)), (600.0, DEADLINE), (600.0, orphan(3, 3, 9000))]
    trace = a_trace([*two_steps()[:-2], *cut])
    found = measure.work(trace)
    assert (found["tokens"], found["calls"]) == (600, 3)
    assert found["tokens_out_per_s"] == pytest.approx(1.0)
    assert measure.quality(trace)["curve"][-1][1] == 600


def test_scoring_on_test_is_no_part_of_evolution() -> None:
    scoring = replace(call(3, -1), stage="test")
    after = [(700.0, scoring), (900.0, settle(3, -1, 5000, 200.0))]
    found = measure.work(a_trace([*two_steps()[:-1], *after]))
    assert (found["tokens"], found["calls"]) == (400, 2)
    assert found["minutes"] == pytest.approx(400 / 60)


def test_calls_of_the_repairing_model_are_counted_by_call_and_by_step() -> None:
    told = replace(call(3, 2), stage="repair")
    found = measure.fates(a_trace([*two_steps()[:-1], (500.0, told)]))
    assert (found["repair_calls"], found["repairs"]) == (1, 0)


def test_fronts_are_the_times_of_admissions_that_improved_one() -> None:
    assert measure.fronts(a_trace(two_steps())) == {"fronts": [300.0]}


def test_fates_of_steps() -> None:
    found = measure.fates(a_trace(two_steps()))
    assert (found["gap"], found["stale_share"]) == (4.0, 1.0)
    assert found["duplicate_share"] == 0.5
    assert found["depth_of_best"] == 1.0
    assert found["depth"] == 0.5
    assert found["discarded_share"] == 0.0


def test_the_depth_of_a_candidate_is_its_longest_chain_of_parents() -> None:
    steps = [select(n) for n in (1, 2, 3, 4)]
    chain = [admit(1, "1", 0, ()), admit(2, "2", 0, (0,)), admit(3, "3", 0, (1,))]
    trace = a_trace([(0.0, e) for e in [*steps, *chain, admit(4, "4", 0, (0, 2))]])
    assert measure.depths_of(trace.state.pool.candidates) == {0: 0, 1: 1, 2: 2, 3: 3}


def test_the_anytime_curve_changes_with_the_best_and_ends_with_the_run() -> None:
    found = measure.quality(a_trace(two_steps()))
    assert found["curve"] == [
        [0.0, 0, 0, None, 0.0],
        [60.0, 100, 5, 0.2, 0.1],
        [300.0, 400, 8, 0.6, 0.5],
        [600.0, 400, 8, 0.6, 0.5],
    ]
    assert (found["test"], found["seed_test"], found["val"]) == (0.5, 0.0, 0.6)
    assert found["gap_to_validation"] == pytest.approx(0.1)


def test_areas_are_means_up_to_a_point_on_any_axis() -> None:
    curve = measure.quality(a_trace(two_steps()))["curve"]
    by_time = measure.area(curve, 600.0, measure.X_AXES["time"])
    assert by_time == pytest.approx((240 * 0.1 + 300 * 0.5) / 600)
    by_tokens = measure.area(curve, 400, measure.X_AXES["tokens"])
    assert by_tokens == pytest.approx((100 * 0.0 + 300 * 0.1) / 400)
    assert measure.area(curve, 60.0, 0, measure.Y_VAL) is None
    assert measure.area(curve, 120.0, 0, measure.Y_VAL) == pytest.approx(0.2)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), min_size=1), st.floats(1, 200))
def test_an_area_lies_between_the_least_and_the_largest_value(
    points: list[tuple[float, float]], until: float
) -> None:
    curve = [[0.0, 0, 0, 0.0, 0.5], *([t, 0, 0, 0.0, y] for t, y in sorted(points))]
    found = measure.area(curve, until, 0)
    values = [point[4] for point in curve]
    assert found is not None
    assert min(values) - 1e-9 <= found <= max(values) + 1e-9


def test_time_to_a_target_is_censored_at_the_end() -> None:
    curve = measure.quality(a_trace(two_steps()))["curve"]
    assert measure.time_to(curve, 0.3) == (300.0, True)
    assert measure.time_to(curve, 0.9) == (600.0, False)
    assert measure.value_at(curve, 299.0, 0, measure.Y_TEST) == 0.1
    assert measure.value_at(curve, 300.0, 0, measure.Y_TEST) == 0.5


def test_requests_in_flight_are_averaged_over_equal_parts() -> None:
    found = measure.backend(a_trace(two_steps()))
    assert found["in_flight"] == pytest.approx((30 + 120) / 600)
    assert found["in_flight_share"] == pytest.approx(0.25 / 4)
    assert measure.binned([(0.0, 10.0), (5.0, 30.0)], 20.0, 2) == [1.5, 1.0]
    assert measure.binned([(0.0, 1.0)], 0.0, 2) == []


def test_a_request_that_the_end_cuts_off_was_in_flight_until_then() -> None:
    trace = a_trace([(100.0, select(1)), (100.0, call(1, 1)), (600.0, DEADLINE)])
    assert measure.spans_of(trace) == [(100.0, 600.0)]


def test_a_child_that_equals_its_parent_passes_by_chance_alone() -> None:
    assert measure.pass_rate([0.5] * 9, [0.5] * 9, Random(0)) == 0.0
    assert measure.pass_rate([1.0] * 9, [1.0] * 9, Random(0)) is None
    noisy = [[float(digest(b"%d/%d" % (side, i)) % 2) for i in range(300)] for side in (0, 1)]
    found = measure.pass_rate(noisy[0], noisy[1], Random(0))
    # Three coins against three: 22/64 are strictly more; perfect parents, who never lose, are out.
    assert found == pytest.approx(22 / 64 / (7 / 8), abs=0.06)


def test_a_ceiling_is_what_the_runs_own_calls_need() -> None:
    found = measure.ceiling(a_trace(two_steps()))
    assert 0 < found["ceiling_s"] < 600
    assert found["share_of_ceiling"] == pytest.approx(found["ceiling_s"] / 600)
