"""The report of gepa, of rows made by hand."""

from dataclasses import replace

import pytest

from flashevolve.bench import stats
from flashevolve.bench.cell import Row
from flashevolve.bench.suites import gepa_report as told
from tests.bench.made import a_row

GROUP = "gepa, sigma 1"
FAST, SLOW = "gepa 4 x 4", "gepa 2 x 2"


def row(
    arm: str, seed: int, per_call_s: float, n: int = 120, test: float = 0.5, val: float = 0.75
) -> Row:
    figures = {
        "metric_calls": float(n), "overshoot": max(0.0, n - 100.0), "floor_s": 0.1 * n, "val": val,
        "share_of_floor": 0.1 / per_call_s, "wall_s": n * per_call_s, "busy": 0.05 / per_call_s,
        "endpoint_cpu_share": 0.1, "cpu_s": 2.0, "test": test,
    }  # fmt: skip
    made = a_row(arm, seed, "w", **figures)
    ends = [round(per_call_s * (i + 1), 6) for i in range(n)]
    bests = [[10, 0.5], [n // 2, val]]
    return replace(made, group=GROUP, curves={"ends": ends, "bests": bests},
                   key=f"{arm}{seed}", figures=figures)  # fmt: skip


def rows(n_seeds: int, ours_test: float = 0.5) -> list[Row]:
    return [
        made
        for seed in range(n_seeds)
        for made in (
            row(FAST, seed, 0.4),
            row(told.OURS, seed, 0.1 / 0.92, n=98, test=ours_test, val=0.8),
            *([row(SLOW, seed, 0.3)] if seed == 0 else []),
        )
    ]


def test_arms_are_compared_at_the_calls_that_all_of_them_made() -> None:
    equal = told.with_equal(rows(2))
    assert {r.figures["equal_calls"] for r in equal} == {98.0}
    fast, ours = equal[0], equal[1]
    assert fast.figures["equal_s"] == pytest.approx(98 * 0.4)
    assert ours.figures["equal_s"] == pytest.approx(98 * 0.1 / 0.92)
    # The ceiling of what the peer did: its own calls, evenly spread.
    assert fast.figures["room"] == pytest.approx(4.0)


def test_the_best_peer_setting_ran_on_all_seeds_and_its_last_score_is_the_target() -> None:
    equal = told.with_equal(rows(2))
    assert told.best_peer(equal) == FAST
    ours = equal[1]
    assert ours.figures["score_reached"] == 1.0
    assert ours.figures["score_s"] == pytest.approx(49 * 0.1 / 0.92, abs=1e-5)
    low = [replace(r, curves={**r.curves, "bests": [[10, 0.5]]}) for r in rows(1)]
    censored = told.with_equal(low)[1].figures
    assert (censored["score_reached"], censored["score_s"]) == (0.0, low[1].curves["ends"][-1])


def test_targets_ask_for_the_floor_for_time_and_for_test() -> None:
    report = told.report(rows(6, ours_test=0.52), "again")
    share, faster, test = report.verdicts
    assert (share.found, share.verdict, share.n) == ("92 [92, 92]", "floor met", 6)
    assert faster.what == f"{GROUP}: faster to equal metric calls than {FAST}"
    assert (faster.found, faster.ceiling) == ("3.68 [3.68, 3.68] x", "4.00 [4.00, 4.00] x")
    assert faster.verdict == "aim met"
    assert (test.found, test.verdict) == ("+2.0 [+2.0, +2.0]", "floor met")
    assert any("3.68" in finding and "faster" in finding for finding in report.findings)


def test_with_few_seeds_there_is_a_range_and_no_verdict_on_test() -> None:
    report = told.report(rows(3), "again")
    assert report.verdicts[2].verdict == "no interval below 5 seeds"
    assert told.ranged([1.0, 2.0, 3.0], 1) == "2.0 (1.0 to 3.0)"
    assert told.ranged([], 1) == "-"


@pytest.mark.parametrize(("low", "verdict"), [(-0.4, "floor met"), (-0.6, "MISSED")])
def test_not_worse_is_asked_of_the_intervals_end(low: float, verdict: str) -> None:
    assert told.not_worse(stats.Estimate(value=1.0, low=low, high=2.0, n=9)) == verdict
    assert told.not_worse(None) == "no figure"


def test_ours_alone_is_told_without_a_comparison() -> None:
    only = [r for r in rows(1) if r.arm == told.OURS]
    report = told.report(only, "again")
    assert len(report.verdicts) == 1
    assert report.findings == ()
    assert report.real_time
