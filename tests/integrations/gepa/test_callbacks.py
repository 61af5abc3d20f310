"""gepa's callbacks, told of runs with one step at a time and with many."""

from collections import Counter
from pathlib import Path
from typing import Any

import gepa
import pytest
from gepa.core.callbacks import GEPACallback

from flashevolve.integrations.gepa import optimize
from tests.fakes.adapters import DATA, SEED, Levels, Proposing, add_x

METHODS = tuple(name for name in vars(GEPACallback) if name.startswith("on_"))
PARTS = {"p": "s", "q": "s"}


class Recorder:
    """Keeps every event, with the method that it came by."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        return lambda event: self.events.append((name, event))

    def of(self, name: str) -> list[dict[str, Any]]:
        return [event for told, event in self.events if told == name]

    def keys_of(self) -> dict[str, set[str]]:
        return {name: {*event} - {"proposal_id"} for name, event in self.events}

    def by_proposal(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for name, event in self.events:
            if "proposal_id" in event:
                found.setdefault(event["proposal_id"], []).append(name)
        return found


class Silent:
    def log(self, message: str) -> None:
        pass


class Parts(Levels):
    """Two components, each good for one half of the examples and a little bad for the other."""

    def scored(self, batch: list[Any], candidate: dict[str, str], traces: bool) -> Any:
        found = super().scored(batch, {"p": ""}, traces)
        p, q = (candidate[name].count("x") for name in ("p", "q"))
        by_half = (0.1 + q / 4 - p / 16, 0.1 + p / 4 - q / 16)
        found.scores = [max(0.0, min(1.0, by_half[d["wants"] % 2])) for d in batch]
        return found


def told(tmp_path: Path, adapter: Any = None, start: Any = None, **options: Any) -> Recorder:
    recorder = Recorder()
    given: dict[str, Any] = {"reflection_lm": add_x, "max_metric_calls": 250} | options
    given.setdefault("policy", "full")  # A function that adds an x judges no repair.
    optimize(
        start or SEED,
        DATA,
        DATA,
        adapter or Levels(),
        callbacks=[recorder],
        logger=Silent(),
        run_dir=str(tmp_path / "run"),
        **given,
    )
    return recorder


def told_by_gepa(adapter: Any, start: Any, **options: Any) -> Recorder:
    recorder = Recorder()
    # gepa's own run fails at every proposal where the attribute is missing.
    adapter.propose_new_texts = None
    gepa.optimize(
        start,
        DATA,
        DATA,
        adapter,
        reflection_lm=add_x,
        callbacks=[recorder],
        logger=Silent(),
        **{"max_metric_calls": 250, **options},
    )
    return recorder


@pytest.mark.parametrize("schedule", ["sync", "async"])
@pytest.mark.parametrize("adapter", [Levels, Proposing])
def test_every_iteration_that_starts_ends_once_and_its_parts_are_in_order(
    adapter: Any, schedule: str, tmp_path: Path
) -> None:
    options = {} if adapter is Levels else {"reflection_lm": None}
    recorder = told(tmp_path, adapter(), schedule=schedule, **options)
    assert recorder.events[0][0] == "on_optimization_start"
    assert recorder.events[-1][0] == "on_optimization_end"
    iterations = {
        proposal: names
        for proposal, names in recorder.by_proposal().items()
        if names != ["on_valset_evaluated"]
    }
    assert len(iterations) > 5
    for names in iterations.values():
        assert names[:2] == ["on_state_saved", "on_iteration_start"]
        assert names[-1] == "on_iteration_end"
        assert Counter(names)["on_iteration_start"] == Counter(names)["on_iteration_end"] == 1
        for start, end in (
            ("on_proposal_start", "on_proposal_end"),
            ("on_evaluation_start", "on_evaluation_end"),
        ):
            pairs = [name for name in names if name in (start, end)]
            assert pairs == [start, end] * (len(pairs) // 2)


@pytest.mark.parametrize("merge", [False, True])
def test_fields_are_gepas(merge: bool, tmp_path: Path) -> None:
    options: dict[str, Any] = {"use_merge": merge, "max_metric_calls": 600, "seed": 3}
    theirs = told_by_gepa(Parts(), PARTS, **options)
    ours = told(tmp_path, Parts(), PARTS, schedule="sync", **options)
    both = {name: keys for name, keys in theirs.keys_of().items() if name in ours.keys_of()}
    assert {name: ours.keys_of()[name] for name in both} == both
    missing = {*theirs.keys_of()} - {*ours.keys_of()}
    assert missing <= {"on_evaluation_skipped", "on_merge_rejected"}
    assert merge == ("on_merge_accepted" in ours.keys_of())


def test_what_is_told_of_a_step_is_what_gepa_tells(tmp_path: Path) -> None:
    recorder = told(tmp_path, schedule="sync")
    (start,) = recorder.of("on_optimization_start")
    assert (start["seed_candidate"], start["trainset_size"], start["valset_size"]) == (SEED, 12, 12)
    proposal = recorder.of("on_proposal_end")[0]["proposal_id"]
    first = {name: e for name, e in recorder.events if e.get("proposal_id") == proposal}
    assert first["on_iteration_start"]["iteration"] == proposal - 1
    assert first["on_candidate_selected"]["candidate"] == SEED
    assert len(first["on_minibatch_sampled"]["minibatch_ids"]) == 3
    dataset = first["on_reflective_dataset_built"]["dataset"]
    assert [r["Feedback"] for r in dataset["p"]] == ["more"] * 3
    end = first["on_proposal_end"]
    assert end["new_instructions"] == {"p": "sx"}
    assert "```" in end["prompts"]["p"]
    assert end["raw_lm_outputs"] == {"p": "```\nsx\n```"}
    traced = [e for e in recorder.of("on_evaluation_end") if e["candidate_idx"] is not None]
    assert all(len(e["trajectories"]) == len(e["scores"]) == 3 for e in traced)
    accepted = recorder.of("on_candidate_accepted")
    assert [e["new_candidate_idx"] for e in accepted] == list(range(1, len(accepted) + 1))


def test_metric_calls_add_up(tmp_path: Path) -> None:
    adapter = Levels()
    recorder = told(tmp_path, adapter)
    updates = recorder.of("on_budget_updated")
    assert sum(e["metric_calls_delta"] for e in updates) == adapter.n_examples - len(DATA)
    assert updates[-1]["metric_calls_used"] == adapter.n_examples
    left = updates[-1]["metric_calls_remaining"]
    assert left == 250 - adapter.n_examples
    (end,) = recorder.of("on_optimization_end")
    assert end["total_metric_calls"] == adapter.n_examples


def test_a_callback_that_raises_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def on_iteration_start(self, event: Any) -> None:
            raise RuntimeError("no")

    recorder = Recorder()
    result = optimize(
        SEED,
        DATA,
        DATA,
        Levels(),
        reflection_lm=add_x,
        policy="full",
        callbacks=[Broken(), recorder],
        logger=Silent(),
        max_metric_calls=150,
        run_dir=str(tmp_path),
    )
    assert result.num_candidates > 1
    assert recorder.of("on_iteration_end")
    assert "failed on on_iteration_start: no" in caplog.text


def test_an_adapter_that_raises_is_told_as_an_error_and_open_iterations_end(
    tmp_path: Path,
) -> None:
    class Failing(Levels):
        def evaluate(self, batch: Any, candidate: Any, capture_traces: bool = False) -> Any:
            if self.n_examples > 60:
                raise ZeroDivisionError("broken")
            return super().evaluate(batch, candidate, capture_traces)

    recorder = Recorder()
    with pytest.raises(ZeroDivisionError, match="broken"):
        optimize(
            SEED,
            DATA,
            DATA,
            Failing(),
            reflection_lm=add_x,
            policy="full",
            callbacks=[recorder],
            logger=Silent(),
            max_metric_calls=250,
            run_dir=str(tmp_path),
        )
    starts, ends = recorder.of("on_iteration_start"), recorder.of("on_iteration_end")
    assert Counter(e["proposal_id"] for e in starts) == Counter(e["proposal_id"] for e in ends)
    errors = recorder.of("on_error")
    assert errors
    assert not any(e["will_continue"] for e in errors)


def test_a_resumed_run_tells_of_what_is_left(tmp_path: Path) -> None:
    first = told(tmp_path, max_metric_calls=120)
    second = told(tmp_path, max_metric_calls=250)
    assert second.events[0][0] == "on_optimization_start"
    assert second.events[-1][0] == "on_optimization_end"
    before = {e["proposal_id"] for e in first.of("on_candidate_accepted")}
    after = {e["proposal_id"] for e in second.of("on_candidate_accepted")}
    assert not before & after
    assert after
