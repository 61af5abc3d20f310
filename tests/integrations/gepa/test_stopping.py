"""gepa's stop callbacks on a run with many steps in flight."""

from pathlib import Path
from typing import Any

import pytest
from gepa.utils.stop_condition import (
    CompositeStopper,
    FileStopper,
    MaxCandidateProposalsStopper,
    MaxTrackedCandidatesStopper,
    NoImprovementStopper,
    ScoreThresholdStopper,
    SignalStopper,
    TimeoutStopCondition,
)

from flashevolve.errors import ConfigError
from flashevolve.integrations.gepa import run
from flashevolve.integrations.gepa.stopping import Stoppers
from tests.fakes.adapters import DATA, SEED, Levels, add_x


class Silent:
    def log(self, message: str) -> None:
        pass


def stopped(tmp_path: Path, stopper: Any, **options: Any) -> Any:
    given: dict[str, Any] = {"max_metric_calls": 2000, "policy": "full", **options}
    return run(
        SEED,
        DATA,
        DATA,
        adapter=Levels(),
        reflection_lm=add_x,
        logger=Silent(),
        stop_callbacks=stopper,
        run_dir=str(tmp_path / "run"),
        **given,
    )


def test_a_score_that_is_reached_ends_the_run(tmp_path: Path) -> None:
    found = stopped(tmp_path, ScoreThresholdStopper(0.5))
    best = max(found.gepa.val_aggregate_scores)
    assert best >= 0.5
    assert found.gepa.total_metric_calls < 2000


def test_several_stop_when_one_does(tmp_path: Path) -> None:
    both = [MaxTrackedCandidatesStopper(3), NoImprovementStopper(10_000)]
    found = stopped(tmp_path, both)
    assert found.gepa.num_candidates >= 3
    assert found.flashevolve.resumable


def test_a_composite_is_asked_as_one(tmp_path: Path) -> None:
    both = CompositeStopper(MaxTrackedCandidatesStopper(2), ScoreThresholdStopper(0.5), mode="all")
    found = stopped(tmp_path, both)
    assert found.gepa.num_candidates >= 2
    assert max(found.gepa.val_aggregate_scores) >= 0.5


def test_proposals_are_counted_one_step_at_a_time_as_gepa_counts_them(tmp_path: Path) -> None:
    seen: list[int] = []

    def look(state: Any) -> bool:
        seen.append(state.i)
        return False

    stopped(tmp_path, [look, MaxCandidateProposalsStopper(4)], schedule="sync")
    assert seen == [-1, 0, 1, 2, 3]


def test_a_file_a_time_and_a_signal_stop_before_the_first_step_is_over(tmp_path: Path) -> None:
    file = tmp_path / "stop"
    file.touch()
    signal = SignalStopper()
    signal.cleanup()
    signal._stop_requested = True
    time = TimeoutStopCondition(-1.0)
    for n, stopper in enumerate((FileStopper(str(file)), time, signal)):
        found = stopped(tmp_path / str(n), stopper)
        assert found.gepa.total_metric_calls < 200


def test_without_another_limit_a_stopper_is_enough(tmp_path: Path) -> None:
    found = stopped(
        tmp_path, lambda state: len(state.program_candidates) > 2, max_metric_calls=None
    )
    assert found.gepa.num_candidates > 2


def test_without_any_limit_nothing_begins(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a limit, found none"):
        stopped(tmp_path, None, max_metric_calls=None)


def test_what_a_stopper_raises_reaches_the_caller(tmp_path: Path) -> None:
    def broken(state: Any) -> bool:
        raise ZeroDivisionError("by a stopper")

    with pytest.raises(ZeroDivisionError, match="by a stopper"):
        stopped(tmp_path, broken)


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(ConfigError, match="stop_callbacks: expected functions of gepa's state"):
        Stoppers([3])


def test_a_stopped_run_goes_on_when_called_again(tmp_path: Path) -> None:
    first = stopped(tmp_path, MaxTrackedCandidatesStopper(2))
    second = stopped(tmp_path, MaxTrackedCandidatesStopper(4))
    assert first.gepa.num_candidates < 4 <= second.gepa.num_candidates
