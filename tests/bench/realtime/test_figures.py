import pytest

from flashevolve.bench.realtime.brief import Brief, Found
from flashevolve.bench.realtime.figures import curves_of, figures_of, time_of, time_to_score
from flashevolve.bench.realtime.slots import Served

BRIEF = Brief(
    client="gepa", parents=1, proposals=1, seed=0, n_train=1, n_val=1, n_test=1, metric_calls=3,
    slots=2, urls={}, folder="",
)  # fmt: skip
FOUND = Found(
    began_s=100.0, ended_s=110.0, cpu_s=2.5, peak_mb=60.0,
    candidates=((1, 0.5), (3, 0.4), (4, 0.75)), best={}, test=0.6, seed_test=0.5, loaded_mb=45.0,
    client_peak_mb=58.0,
)  # fmt: skip


def call(role: str, began_s: float, service_s: float, left: bool = False) -> Served:
    cpu_s = began_s / 100
    return Served(role, began_s - 0.5, began_s, began_s + service_s, service_s, left, cpu_s)


LOG = [
    call("task", 90.0, 1.0),  # before the client was called
    *(call("task", 101.0 + i, 2.0) for i in range(4)),
    call("reflect", 105.0, 3.0),
    call("task", 106.0, 1.0, left=True),
]


def test_the_floor_spreads_the_clients_own_calls_over_the_slots() -> None:
    found = figures_of(BRIEF, FOUND, LOG)
    assert found["floor_s"] == pytest.approx((4 * 2.0 + 3.0) / 2)
    assert found["share_of_floor"] == pytest.approx(0.55)
    assert found["busy"] == pytest.approx(4 * 2.0 / 2 / 10)
    assert (found["metric_calls"], found["overshoot"], found["reflections"]) == (4, 1, 1)
    # What was given up is no work that a schedule must do.
    assert (found["left"], found["left_s"]) == (1, 1.0)
    assert (found["peak_mb"], found["grown_mb"]) == (60.0, 13.0)
    assert found["waited_s"] == pytest.approx(0.5)
    assert (found["cpu_share"], found["val"]) == (0.25, 0.75)
    assert found["endpoint_cpu_share"] == pytest.approx(0.005)


def test_the_middle_half_is_told_without_cold_start_and_end() -> None:
    # Of 102.5 to 107.5 at two slots: .5, 1.5, 2 and 2 s of the rollouts, 2.5 s of the reflection.
    found = figures_of(BRIEF, FOUND, LOG)
    assert found["steady"] == pytest.approx((0.5 + 1.5 + 2.0 + 2.0 + 2.5) / 10)


def test_one_long_call_is_the_floor_where_it_is_longer() -> None:
    assert figures_of(BRIEF, FOUND, [call("task", 101.0, 8.0)])["floor_s"] == 8.0


def test_a_client_that_asked_nothing_has_figures_too() -> None:
    found = figures_of(BRIEF, FOUND, [])
    assert (found["metric_calls"], found["share_of_floor"]) == (0, 0)


def test_curves_hold_metric_calls_by_their_end_and_each_better_candidate() -> None:
    curves = curves_of(FOUND, LOG)
    assert curves == {"ends": [3.0, 4.0, 5.0, 6.0], "bests": [[1, 0.5], [4, 0.75]]}
    ends, bests = curves["ends"], curves["bests"]
    assert [time_of(ends, n) for n in (0, 1, 4, 5)] == [None, 3.0, 6.0, None]
    assert time_to_score(ends, bests, 0.7) == 6.0
    assert time_to_score(ends, bests, 0.5) == 3.0
    assert time_to_score(ends, bests, 0.8) is None
    # A count of 0 is that of a score which cost nothing, not of the run's last call.
    assert time_to_score(ends, [[0, 0.5]], 0.5) == 3.0


def test_brief_and_findings_survive_the_way_between_processes() -> None:
    assert Brief.from_json(BRIEF.to_json()) == BRIEF
    assert Found.from_json(FOUND.to_json()) == FOUND
