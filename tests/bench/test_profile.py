from dataclasses import replace
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.bench import profile
from flashevolve.bench.trace import Trace, trace_of
from flashevolve.pools.pareto import ParetoPool
from tests.bench.made import JOB, STARTED, a_trace, call, scored, select, settle


def stay(ticket: int, stage: str, from_s: float, to_s: float, counts: str | None = None) -> Any:
    """Returns what is recorded of an item's stay in a stage."""
    taken = ev.StageTaken(ticket=ticket, stage=stage, visit=1)
    ended = ev.StageEnded(ticket=ticket, stage=stage, visit=1, to=None, payload=None, counts=counts)
    return [(from_s, taken), (to_s, ended)]


def staged(*timed: Any) -> Trace:
    """Returns the trace of a run with two stages."""
    started = replace(STARTED, stages=["propose", "evaluate"])
    events = [(0.0, started), *sorted(timed, key=lambda e: float(e[0]))]
    records = [ev.Record(seq=i, t_s=t, event=e) for i, (t, e) in enumerate(events, 1)]
    return trace_of(JOB, records, ParetoPool(), scored, simulated=True)


def test_stage_shares_are_of_the_time_in_stages_without_waiting_and_without_the_seed() -> None:
    trace = staged(
        (0.0, select(1)),
        *stay(1, "evaluate", 0, 50, "swept"),  # the seed, which nobody proposed
        (50.0, select(2)),
        (50.0, select(3)),
        *stay(2, "propose", 50, 60, "proposed"),
        *stay(3, "propose", 50, 80, "proposed"),
        *stay(2, "evaluate", 100, 130, "swept"),  # after 40 s in a queue
    )
    figures = profile.stages(trace)
    assert figures["steps"] == 2
    assert figures["whole_steps"] == 1
    assert figures["share_propose"] == pytest.approx(40 / 70)
    assert figures["share_evaluate"] == pytest.approx(30 / 70)
    assert figures["whole_share_propose"] == pytest.approx(10 / 40)
    assert figures["whole_share_evaluate"] == pytest.approx(30 / 40)
    assert figures["whole_step_s"] == 40.0


def test_a_run_without_steps_has_no_shares() -> None:
    figures = profile.stages(staged((0.0, select(1))))
    assert figures["steps"] == 0
    assert figures["share_propose"] is None
    assert figures["whole_step_s"] is None


def test_lengths_are_told_by_role_with_their_tails() -> None:
    asked = [replace(call(n, 1), role="reflect" if n == 1 else "task") for n in (1, 2, 3)]
    answers = [settle(1, 1, 100, 1.0), settle(2, 1, 200, 1.0), settle(3, 1, 6000, 1.0)]
    trace = a_trace([(0.0, select(1)), *((1.0, e) for e in asked), *((2.0, e) for e in answers)])
    figures = profile.lengths(trace)
    assert figures["mean_all"] == 2100.0
    assert figures["mean_task"] == 3100.0
    assert figures["mean_reflect"] == 100.0
    assert figures["long_all"] == pytest.approx(1 / 3)
    assert (figures["p50_all"], figures["p90_all"], figures["p99_all"]) == (200.0, 6000.0, 6000.0)


def test_what_was_never_answered_has_no_length() -> None:
    refused = replace(settle(1, 1, 100, 1.0), status="rate_limited")
    figures = profile.lengths(a_trace([(0.0, select(1)), (1.0, call(1, 1)), (2.0, refused)]))
    assert figures["n_all"] is None
    assert "mean_task" not in figures


def test_quantiles_are_values_that_occur() -> None:
    found = profile.tail(list(range(1, 101)))
    assert (found["p50"], found["p90"], found["p99"]) == (50.0, 90.0, 99.0)
    assert profile.tail([7])["p99"] == 7.0


def test_the_peak_counts_spans_that_overlap_and_not_those_that_meet() -> None:
    assert profile.peak([(0, 2), (1, 3), (2, 4), (10, 11)]) == 2
    assert profile.peak([(0, 5), (1, 5), (2, 5)]) == 3
    assert profile.peak([]) == 0


def test_requests_in_flight_are_told_over_time() -> None:
    trace = a_trace(
        [(0.0, select(1)), (0.0, call(1, 1)), (0.0, call(2, 1)), (5.0, settle(1, 1, 10, 5.0)),
         (10.0, settle(2, 1, 10, 10.0))]
    )  # fmt: skip
    figures = profile.in_flight(trace)
    assert figures["peak_in_flight"] == 2
    assert figures["in_flight"] == pytest.approx(1.5)
    assert figures["loads"][0] == 2.0
    assert figures["loads"][-1] == 1.0
