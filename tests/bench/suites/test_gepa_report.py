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
    assert (censored["score_reached"], censored["score_s"]) == (0.0, None)


def never(made: list[Row], seeds: set[int]) -> list[Row]:
    """The same rows, but ours never comes to the peer's score on some seeds."""
    low = [[10, 0.5]]
    return [
        replace(r, curves={**r.curves, "bests": low})
        if r.arm == told.OURS and r.seed in seeds
        else r
        for r in made
    ]


def test_a_score_that_was_never_reached_is_no_speed_up() -> None:
    report = told.report(never(rows(2), {0, 1}), "again")
    assert report.tables[0].rows[0][4] == "not reached (0 of 2)"
    assert any("was not reached on any of 2 seeds" in finding for finding in report.findings)
    assert not any("score, where reached" in finding for finding in report.findings)


def test_the_time_to_a_score_is_compared_on_the_seeds_that_reached_it() -> None:
    report = told.report(never(rows(3), {1}), "again")
    # Theirs at 60 calls of .4 s, ours at 49 of its own; on seed 1 ours has no time.
    assert report.tables[0].rows[0][4] == "4.51 x (2 of 3 reached)"
    (said,) = [f for f in report.findings if "score, where reached" in f]
    assert "2 of 3 seeds: 4.51 x as fast" in said
    assert "n=2" in said


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


def test_one_seed_gives_no_verdict_and_two_do() -> None:
    assert told.report(rows(1), "again").verdicts == ()
    assert len(told.report(rows(2), "again").verdicts) == 3


def test_the_speed_up_has_its_cost_beside_it() -> None:
    made = [
        replace(r, figures={**r.figures, "cpu_ms_per_call": 2.6 if r.arm == told.OURS else 0.3})
        for r in rows(5)
    ]
    (said,) = [f for f in told.report(made, "again").findings if "CPU for each call" in f]
    assert "8.67 [8.67, 8.67] x (2.6 ms against 0.3; more; n=5)" in said


def test_the_grid_is_told_with_what_ran_on_fewer_seeds_and_what_not_at_all() -> None:
    other = [
        replace(r, group="gepa, sigma 0", key=f"{r.key}-0")
        for r in [*rows(1), row("gepa 1 x 1", 0, 1.2)]
    ]
    first, second = told.report([*rows(2), *other], "again").tables[0].notes[1:]
    assert first == (
        "gepa, sigma 1: gepa 4 x 4 is the best of gepa 4 x 4; gepa 2 x 2 ran on fewer seeds; "
        "where all ran (seeds 0) the fastest is gepa 2 x 2, 29.4 s, and gepa 4 x 4 39.2; "
        "not run: gepa 1 x 1."
    )
    assert second.startswith("gepa, sigma 0: gepa 2 x 2 is the best of gepa 4 x 4, gepa 2 x 2, ")


def test_a_longer_run_stands_beside_the_usual_one_of_its_seed() -> None:
    long = [
        replace(r, group=f"{GROUP}, 4 times as long", key=f"{r.key}-long",
                figures={**r.figures, "share_of_floor": 0.97})
        for r in rows(1) if r.arm == told.OURS
    ]  # fmt: skip
    report = told.report([*rows(3), *long], "again")
    assert report.tables[1].rows == ((f"{GROUP}: {told.OURS}", "1", "92", "97"),)
    assert report.figures[0].ticks == ("sigma 1",)
    assert all("long" not in verdict.what for verdict in report.verdicts)


def test_ours_alone_is_told_without_a_comparison() -> None:
    only = [r for r in rows(1) if r.arm == told.OURS]
    report = told.report(only, "again")
    assert report.verdicts == ()
    assert report.findings == ()
    assert report.real_time
