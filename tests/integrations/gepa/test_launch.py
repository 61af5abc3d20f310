"""gepa's optimize on our engine: every kind of adapter, and gepa itself as the peer."""

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import gepa
import pytest
from gepa.core.adapter import EvaluationBatch
from gepa.core.result import GEPAResult

import flashevolve as fe
from flashevolve.errors import ConfigError, RunStopped, TaskError
from flashevolve.integrations.gepa import optimize, run
from flashevolve.integrations.gepa.launch import Finished
from tests.fakes.adapters import (
    DATA,
    SEED,
    Levels,
    Mutating,
    NewBatches,
    OldBatches,
    Proposing,
    SharedRng,
    add_x,
)


class Lines:
    """A logger of gepa's kind."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        self.lines.append(message)


def finished(tmp_path: Path, adapter: Any, **options: Any) -> Finished:
    given: dict[str, Any] = {
        "adapter": adapter,
        "max_metric_calls": 200,
        "run_dir": str(tmp_path / "run"),
        "logger": Lines(),
        "policy": "full",  # A function that adds an x judges no repair.
        **options,
    }
    if not hasattr(adapter, "propose_new_texts") and "custom_candidate_proposer" not in given:
        given.setdefault("reflection_lm", add_x)
    return run(SEED, DATA, DATA, **given)


# -- the call ------------------------------------------------------------------------------------


def test_the_arguments_are_gepas_in_its_order_and_with_its_defaults() -> None:
    theirs = inspect.signature(gepa.optimize).parameters
    ours = inspect.signature(optimize).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].default == parameter.default, name
    more = [p for name, p in ours.items() if name not in theirs]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in more)


def test_the_result_is_gepas_own(tmp_path: Path) -> None:
    adapter = Levels()
    result = optimize(
        SEED,
        DATA,
        DATA,
        adapter,
        reflection_lm=add_x,
        max_metric_calls=200,
        run_dir=str(tmp_path),
        logger=Lines(),
    )
    assert isinstance(result, GEPAResult)
    assert result.best_candidate["p"].count("x") > 2
    assert result.parents[0] == [None]
    assert result.val_aggregate_scores[0] == pytest.approx(2 / 12)
    assert result.val_subscores[0] == {i: float(i % 6 == 0) for i in range(12)}
    assert result.total_metric_calls == adapter.n_examples <= 200
    assert result.discovery_eval_counts == sorted(result.discovery_eval_counts)
    assert result.best_outputs_valset is not None
    for val_id, best in result.best_outputs_valset.items():
        assert {index for index, _ in best} <= set(range(result.num_candidates))
        assert all(output["wants"] == val_id % 6 for _, output in best)
    assert GEPAResult.from_dict(result.to_dict()).best_candidate == result.best_candidate


@pytest.mark.parametrize("schedule", ["sync", "async"])
def test_a_run_reaches_what_gepa_reaches(schedule: str, tmp_path: Path) -> None:
    theirs = gepa.optimize(
        SEED, DATA, DATA, Levels(), reflection_lm=add_x, max_metric_calls=300, logger=Lines()
    )
    ours = finished(tmp_path, Levels(), schedule=schedule, max_metric_calls=300).gepa
    assert ours.val_subscores[0] == theirs.val_subscores[0]
    assert max(ours.val_aggregate_scores) >= max(theirs.val_aggregate_scores) - 1 / 6
    # gepa looks at its budget between iterations; ours is never overshot.
    assert ours.total_metric_calls <= 300


def test_every_example_that_an_adapter_evaluates_is_one_metric_call(tmp_path: Path) -> None:
    adapter = Levels()
    found = finished(tmp_path, adapter)
    assert found.gepa.total_metric_calls == adapter.n_examples
    assert found.flashevolve.spent["metric_calls"] == adapter.n_examples


def test_without_a_validation_set_the_training_set_stands_in(tmp_path: Path) -> None:
    result = optimize(
        SEED, DATA, adapter=Levels(), reflection_lm=add_x, max_metric_calls=80,
        run_dir=str(tmp_path), logger=Lines(),
    )  # fmt: skip
    assert set(result.val_subscores[0]) == set(range(12))


# -- kinds of adapters ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [Levels, Proposing, OldBatches, NewBatches, Mutating, SharedRng],
    ids=lambda k: k.__name__,
)
def test_an_adapter_is_never_entered_twice_at_once_unless_told_so(
    kind: type[Levels], tmp_path: Path
) -> None:
    adapter = kind()
    # Enough for several generations, however many steps one batch holds.
    found = finished(tmp_path, adapter, max_metric_calls=500)
    assert adapter.most_inside == 1
    assert found.gepa.best_candidate["p"].count("x") >= 2
    assert found.gepa.total_metric_calls == adapter.n_examples


def test_every_method_of_an_adapter_finds_the_way_to_our_models(tmp_path: Path) -> None:
    found: dict[str, set[str]] = {}

    class Asking(Proposing):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            noted("evaluate")
            return super().scored(batch, candidate, traces)

        def make_reflective_dataset(self, *given: Any) -> Any:
            noted("dataset")
            return super().make_reflective_dataset(*given)

        def propose_new_texts(self, *given: Any) -> Any:
            noted("propose")
            return super().propose_new_texts(*given)

    def noted(method: str) -> None:
        ctx = fe.current()
        assert ctx.base_url.startswith("http://127.0.0.1:")
        found.setdefault(method, set()).add(ctx.api_key)

    finished(tmp_path, Asking(), max_metric_calls=60)
    assert found.keys() == {"evaluate", "dataset", "propose"}
    assert not found["dataset"] & found["propose"]


def test_one_line_says_how_to_run_an_adapter_concurrently(tmp_path: Path) -> None:
    lines = Lines()
    finished(tmp_path, Levels(), logger=lines)
    told = [line for line in lines.lines if "adapter_concurrency=N" in line]
    assert told == [
        "Levels is called once at a time, as by gepa; if several threads may be in it at once, "
        "adapter_concurrency=N makes N calls at once"
    ]


def test_an_adapter_that_may_is_entered_by_several_threads(tmp_path: Path) -> None:
    meeting = threading.Barrier(4, timeout=20)

    class Meeting(Levels):
        met = False

        def linger(self) -> None:
            # Four threads meet once: with fewer, the barrier would break.
            if threading.current_thread().name != "main" and self.calls and not self.met:
                meeting.wait()
                self.met = True

    adapter, lines = Meeting(), Lines()
    finished(tmp_path, adapter, adapter_concurrency=4, logger=lines)
    assert adapter.most_inside == 4
    assert not [line for line in lines.lines if "adapter_concurrency" in line]
    # One example each, and a minibatch with traces in one.
    assert set(adapter.calls) == {1, 3}


def test_what_waits_goes_out_together_in_one_batch(tmp_path: Path) -> None:
    old, new = OldBatches(), NewBatches()
    for adapter in (old, new):
        found = finished(tmp_path / type(adapter).__name__, adapter, max_metric_calls=300)
        assert found.gepa.best_candidate["p"].count("x") >= 2
        assert max(adapter.calls) > 3
    assert {True, False} == set(new.traced)


def test_what_an_adapter_does_to_its_arguments_reaches_nobody(tmp_path: Path) -> None:
    found = finished(tmp_path, Mutating())
    assert all(c["p"].strip("x") == "s" for c in found.gepa.candidates)
    assert DATA[3] == {"wants": 3}


def test_a_minibatch_with_traces_is_never_divided(tmp_path: Path) -> None:
    adapter = Levels()
    finished(tmp_path, adapter, reflection_minibatch_size=4, adapter_concurrency=3)
    traced = [n for n, t in zip(adapter.calls, adapter.traced, strict=True) if t]
    assert set(traced) == {4}


# -- what goes wrong -----------------------------------------------------------------------------


class Broken(Levels):
    """Raises from its n-th call on."""

    def __init__(self, after: int, error: type[Exception] = OSError) -> None:
        super().__init__()
        self.after = after
        self.error = error

    def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
        if len(self.calls) > self.after:
            raise self.error("the backend is gone")
        return super().scored(batch, candidate, traces)


def test_an_adapters_exception_is_raised_as_it_was_and_the_run_goes_on_later(
    tmp_path: Path,
) -> None:
    broken = Broken(after=9, error=OSError)
    with pytest.raises(OSError, match="the backend is gone") as caught:
        finished(tmp_path, broken)
    (note,) = caught.value.__notes__
    assert "the adapter's evaluate raised OSError: the backend is gone" in note
    assert str(tmp_path / "run") in note
    whole = Levels()
    found = finished(tmp_path, whole)
    assert found.gepa.best_candidate["p"].count("x") >= 2
    # What was evaluated before was not evaluated again: but for what the exception cut.
    assert broken.n_examples + whole.n_examples <= 200 + 16 + 3


def test_without_raise_on_exception_a_step_fails_and_a_streak_ends_the_run(tmp_path: Path) -> None:
    class Now(Levels):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            if traces and len(self.calls) % 3 == 0:
                raise OSError("now and then")
            return super().scored(batch, candidate, traces)

    found = finished(tmp_path / "a", Now(), raise_on_exception=False)
    assert found.flashevolve.counters["failed"] > 0
    assert found.gepa.best_candidate["p"].count("x") >= 1
    with pytest.raises(RunStopped, match="the last 5 steps failed the same way, in stage") as error:
        finished(tmp_path / "b", Broken(after=9), raise_on_exception=False)
    assert "evaluate raised OSError: the backend is gone" in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [1.0]}, "evaluate: expected 11 scores, one for each example, found 1"),
        ({"outputs": []}, "evaluate: expected 11 outputs, one for each example, found 0"),
        ({"objective_scores": [{}]}, "evaluate: expected 11 objective_scores, .* found 1"),
        ({"scores": [float("nan")] * 11}, "expected finite numbers as scores, found nan at"),
    ],
)
def test_a_wrong_number_of_results_is_one_line_that_names_the_method(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    class Wrong(Levels):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            found = super().scored(batch, candidate, traces)
            if len(batch) == 11:  # The first example of all is evaluated alone.
                for name, value in change.items():
                    setattr(found, name, value)
            return found

    with pytest.raises(TaskError, match=message):
        finished(tmp_path, Wrong())


def test_what_is_no_batch_at_all_is_one_line_too(tmp_path: Path) -> None:
    class Wrong(Levels):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            return [1.0] * len(batch)

    with pytest.raises(TaskError, match="expected an EvaluationBatch with outputs and scores, fou"):
        finished(tmp_path / "a", Wrong())

    class Few(OldBatches):
        def batch_evaluate(self, items: list[Any]) -> list[Any]:
            return []

    with pytest.raises(
        TaskError, match=r"batch_evaluate: expected 1 EvaluationBatches, .* found 0"
    ):
        finished(tmp_path / "b", Few())


def test_an_adapter_without_a_method_is_refused_before_anything_is_called(tmp_path: Path) -> None:
    class Half:
        def evaluate(self, batch: Any, candidate: Any, capture_traces: bool = False) -> Any:
            raise AssertionError

    with pytest.raises(ConfigError, match=r"expected a method make_reflective_dataset.* in Half"):
        finished(tmp_path, Half())
    assert not (tmp_path / "run").exists()


def test_a_dataset_that_cannot_be_made_skips_the_step_as_in_gepa(tmp_path: Path) -> None:
    class Picky(Levels):
        n = 0

        def make_reflective_dataset(self, candidate: Any, batch: Any, names: Any) -> Any:
            self.n += 1
            if self.n % 2:
                raise ValueError("no valid predictions")
            return super().make_reflective_dataset(candidate, batch, names)

    lines = Lines()
    found = finished(tmp_path, Picky(), logger=lines)
    assert found.flashevolve.counters["skipped"] > 0
    assert found.gepa.best_candidate["p"].count("x") >= 1
    assert any("make_reflective_dataset raised ValueError" in line for line in lines.lines)


def test_a_reflecting_model_that_always_raises_ends_the_run_at_once(tmp_path: Path) -> None:
    n_asked = 0

    def denied(prompt: Any) -> str:
        nonlocal n_asked
        n_asked += 1
        raise PermissionError("401: wrong key")

    adapter = Levels()
    with pytest.raises(RunStopped, match="reflection_lm raised PermissionError: 401: wrong key"):
        finished(tmp_path, adapter, reflection_lm=denied)
    assert n_asked <= 6
    assert adapter.n_examples < 60


def test_texts_of_a_component_that_there_is_not_are_refused(tmp_path: Path) -> None:
    class Other(Levels):
        def propose_new_texts(self, candidate: Any, dataset: Any, components: Any) -> Any:
            return {"q": "x"}

    with pytest.raises(TaskError, match="propose_new_texts: expected components of the candidate"):
        finished(tmp_path, Other())


# -- the user's own objects ----------------------------------------------------------------------


def test_a_proposer_of_ones_own_is_told_for_which_proposal_it_writes(tmp_path: Path) -> None:
    told: list[Any] = []

    def propose(candidate: Any, dataset: Any, names: Any, metadata: Any = None) -> Any:
        told.append(metadata)
        return {name: candidate[name] + "x" for name in names}

    found = finished(tmp_path, Levels(), custom_candidate_proposer=propose)
    assert found.gepa.best_candidate["p"].count("x") >= 2
    assert len({one["proposal_id"] for one in told}) == len(told)


def test_gepas_own_selectors_samplers_and_criteria_are_asked(tmp_path: Path) -> None:
    from gepa.strategies.acceptance import ImprovementOrEqualAcceptance
    from gepa.strategies.batch_sampler import EpochShuffledBatchSampler
    from gepa.strategies.candidate_selector import ParetoCandidateSelector
    from gepa.strategies.component_selector import RoundRobinReflectionComponentSelector
    from gepa.strategies.eval_policy import FullEvaluationPolicy

    seen: list[Any] = []

    class Criterion(ImprovementOrEqualAcceptance):  # type: ignore[misc]
        def should_accept(self, proposal: Any, state: Any) -> bool:
            seen.append(proposal)
            assert state.is_consistent()
            return bool(super().should_accept(proposal, state))

    found = finished(
        tmp_path,
        Levels(),
        candidate_selection_strategy=ParetoCandidateSelector(None),
        batch_sampler=EpochShuffledBatchSampler(2),
        module_selector=RoundRobinReflectionComponentSelector(),
        acceptance_criterion=Criterion(),
        val_evaluation_policy=FullEvaluationPolicy(),
    )
    assert found.gepa.best_candidate["p"].count("x") >= 2
    assert seen
    for proposal in seen:
        assert len(proposal.subsample_indices) == 2
        assert len(proposal.subsample_scores_before) == len(proposal.subsample_scores_after) == 2
        assert proposal.eval_after.trajectories
    assert found.gepa.total_metric_calls <= 200


def test_a_policy_of_validation_may_choose_a_part_of_the_set(tmp_path: Path) -> None:
    from gepa.strategies.eval_policy import FullEvaluationPolicy

    class Half(FullEvaluationPolicy):  # type: ignore[misc]
        def get_eval_batch(self, loader: Any, state: Any, target_program_idx: Any = None) -> Any:
            return list(loader.all_ids())[:6]

    found = finished(tmp_path, Levels(), val_evaluation_policy=Half())
    sizes = [len(scores) for scores in found.gepa.val_subscores]
    assert sizes[0] == 12
    assert set(sizes[1:]) == {6}


def test_a_reflection_strategy_is_handed_on_from_one_reflection_to_the_next(tmp_path: Path) -> None:
    from gepa.proposer.reflective_mutation.reflection_lm import ReflectionProposal

    class Session:
        def __init__(self, n: int) -> None:
            self.n = n

        def reflect(self, candidate: Any, dataset: Any, names: Any) -> Any:
            new = {name: candidate[name] + "x" for name in names}
            counts.append(self.n)
            return ReflectionProposal(new_texts=new), Session(self.n + 1)

    counts: list[int] = []
    finished(tmp_path, Levels(), reflection_strategy=Session(0), reflection_lm=None)
    assert counts == list(range(len(counts)))
    assert len(counts) > 2


def test_stoppers_see_the_state_and_end_the_run_without_an_error(tmp_path: Path) -> None:
    from gepa.utils import ScoreThresholdStopper

    found = finished(
        tmp_path, Levels(), max_metric_calls=None, stop_callbacks=ScoreThresholdStopper(0.6)
    )
    assert found.flashevolve.reason == "stop"
    assert max(found.gepa.val_aggregate_scores) >= 0.6


def test_the_file_gepa_stop_ends_a_run_and_without_it_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "gepa.stop").touch()
    first = finished(tmp_path, Levels())
    assert first.flashevolve.reason == "stop"
    (tmp_path / "run" / "gepa.stop").unlink()
    second = finished(tmp_path, Levels())
    assert second.flashevolve.reason == "metric_calls"
    assert second.gepa.num_candidates > first.gepa.num_candidates


def test_two_components_are_merged_and_keep_the_users_order(tmp_path: Path) -> None:
    class Two(Levels):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            assert list(candidate) == ["z", "a"]
            scores = [float(candidate[d["part"]].count("x") >= d["wants"]) for d in batch]
            return EvaluationBatch(
                outputs=list(scores), scores=scores, trajectories=list(batch) if traces else None
            )

    data = [{"part": part, "wants": n} for n in range(1, 6) for part in ("z", "a")]
    found = run(
        {"z": "s", "a": "s"}, data, data, adapter=Two(), reflection_lm=add_x, use_merge=True,
        max_metric_calls=600, run_dir=str(tmp_path), logger=Lines(),
    )  # fmt: skip
    assert list(found.gepa.best_candidate) == ["z", "a"]
    assert sum(text.count("x") for text in found.gepa.best_candidate.values()) >= 4
    assert any(len(parents) == 2 for parents in found.gepa.parents)


# -- models --------------------------------------------------------------------------------------


def test_a_task_model_by_name_is_asked_through_our_limiter_in_virtual_time(tmp_path: Path) -> None:
    data = [{"input": f"question {i}", "answer": "e", "additional_context": {}} for i in range(8)]
    found = run(
        {"system_prompt": "Answer."}, data, data,
        task_lm="sim/hosted-api", reflection_lm="sim/hosted-api",
        max_metric_calls=60, run_dir=str(tmp_path), logger=Lines(),
    )  # fmt: skip
    assert found.flashevolve.simulated
    assert found.flashevolve.usage_by_role["task"].calls >= found.gepa.total_metric_calls
    assert found.flashevolve.usage_by_role["task"].tokens_in > 0
    assert found.flashevolve.virtual_s is not None
    assert found.gepa.best_outputs_valset is not None


def test_an_adapter_runs_in_virtual_time_beside_simulated_models(tmp_path: Path) -> None:
    adapter = Levels()
    found = finished(tmp_path, adapter, reflection_lm="sim/hosted-api", max_metric_calls=100)
    assert adapter.most_inside == 1
    assert found.flashevolve.simulated
    assert found.gepa.total_metric_calls == adapter.n_examples


def test_a_run_in_virtual_time_is_the_same_twice(tmp_path: Path) -> None:
    first, second = (
        finished(tmp_path / name, Levels(), reflection_lm="sim/hosted-api", adapter_concurrency=3)
        for name in "ab"
    )
    assert first.gepa.candidates == second.gepa.candidates
    assert first.gepa.val_subscores == second.gepa.val_subscores
    assert first.flashevolve.virtual_s == second.flashevolve.virtual_s


def test_a_limit_in_tokens_is_refused_where_nobody_counts_them(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="expected no limit on tokens or dollars with a reflectio"
    ):
        finished(tmp_path, Levels(), budget=fe.Budget(tokens=1000))
    with pytest.raises(ConfigError, match="expected a task whose model calls can be counted"):
        finished(tmp_path, Levels(), reflection_lm="sim/hosted-api", budget=fe.Budget(tokens=10**9))


# -- objectives ------------------------------------------------------------------------------------


class Objectives(Levels):
    """Names two objectives."""

    def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
        found = super().scored(batch, candidate, traces)
        short = 1 / (1 + candidate["p"].count("x"))
        found.objective_scores = [{"right": score, "short": short} for score in found.scores]
        return found


@pytest.mark.parametrize("frontier", ["instance", "objective", "hybrid", "cartesian"])
def test_every_type_of_frontier_is_kept_as_in_gepa(frontier: str, tmp_path: Path) -> None:
    found = finished(tmp_path, Objectives(), frontier_type=frontier)
    result = found.gepa
    assert result.best_candidate["p"].count("x") >= 2
    assert result.val_aggregate_subscores[0]["short"] == 1.0
    assert result.per_objective_best_candidates["short"] == {0}
    assert result.objective_pareto_front["right"] == max(result.val_aggregate_scores)


@pytest.mark.parametrize("selection", ["current_best", "epsilon_greedy", "top_k_pareto"])
def test_parents_are_selected_by_any_of_gepas_rules(selection: str, tmp_path: Path) -> None:
    found = finished(tmp_path, Levels(), candidate_selection_strategy=selection)
    assert found.gepa.best_candidate["p"].count("x") >= 2


def test_a_frontier_of_objectives_needs_an_adapter_that_names_them(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="frontier = 'objective' needs objectives, found none"):
        finished(tmp_path, Levels(), frontier_type="objective")


# -- going on --------------------------------------------------------------------------------------


def test_a_rollout_whose_traces_were_lost_is_run_again_uncharged(tmp_path: Path) -> None:
    class Unable(Levels):
        def make_reflective_dataset(self, candidate: Any, batch: Any, names: Any) -> Any:
            return 7

    first, second = Unable(), Levels()
    with pytest.raises(
        TaskError, match=r"make_reflective_dataset: expected a mapping .* found int"
    ):
        finished(tmp_path, first)
    found = finished(tmp_path, second)
    n_again = first.n_examples + second.n_examples - found.gepa.total_metric_calls
    assert 3 <= n_again <= first.n_examples - 12
    assert n_again % 3 == 0
    assert found.gepa.best_candidate["p"].count("x") >= 2


def test_a_run_that_has_ended_gives_the_same_result_again(tmp_path: Path) -> None:
    first, again = finished(tmp_path, Levels()), Levels()
    second = finished(tmp_path, again)
    assert again.calls == []
    for name in ("candidates", "parents", "val_subscores", "total_metric_calls"):
        assert getattr(second.gepa, name) == getattr(first.gepa, name), name
    assert second.gepa.best_outputs_valset == first.gepa.best_outputs_valset


def test_a_resume_with_other_data_is_refused(tmp_path: Path) -> None:
    finished(tmp_path, Levels())
    other = [{"wants": 9}, *DATA[1:]]
    with pytest.raises(ConfigError, match=r"contents of data\.train, contents of data\.val"):
        optimize(
            SEED, other, other, Levels(), reflection_lm=add_x, max_metric_calls=200,
            run_dir=str(tmp_path / "run"), logger=Lines(),
        )  # fmt: skip


def test_optimize_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def main() -> int:
        return int(finished(tmp_path, Levels()).gepa.num_candidates)

    assert asyncio.run(main()) > 1


@pytest.mark.parametrize(
    "settings",
    [{"speculation": {"rollout": 0.5, "evaluate": 0.5}}, {"replicas": 2}],
    ids=["speculation", "replicas"],
)
def test_what_else_a_run_can_do_works_through_an_adapter(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    adapter = Levels()
    found = finished(
        tmp_path, adapter, settings=settings, adapter_concurrency=2, max_metric_calls=400
    )
    assert found.gepa.best_candidate["p"].count("x") >= 2
    assert found.gepa.total_metric_calls == adapter.n_examples


# -- user code that does odd things ------------------------------------------------------------


class Interrupting(Levels):
    """Raises what is no `Exception`, once the seed has its scores."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
        if traces:
            raise self.error
        return super().scored(batch, candidate, traces)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()], ids=repr
)
def test_what_is_no_exception_is_told_as_the_adapters(error: BaseException, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=type(error).__name__) as caught:
        finished(tmp_path, Interrupting(error))
    (note,) = caught.value.__notes__
    assert note.startswith("the adapter's evaluate raised RuntimeError: ")
    assert f"Mend it. The run is in {tmp_path / 'run'}; call optimize again with the sam" in note
    assert ".." not in note


def test_arrays_are_taken_for_lists_of_scores_and_outputs(tmp_path: Path) -> None:
    import numpy as np

    class Arrays(Levels):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            found = super().scored(batch, candidate, traces)
            found.scores = np.array(found.scores)
            found.outputs = np.array([o["level"] for o in found.outputs])
            return found

    found = finished(tmp_path, Arrays())
    assert found.gepa.best_candidate["p"].count("x") >= 1
    assert type(found.gepa.val_subscores[0][0]) is float


def test_a_method_that_always_raises_is_named_when_the_run_stops(tmp_path: Path) -> None:
    class Unable(Levels):
        def make_reflective_dataset(self, candidate: Any, batch: Any, names: Any) -> Any:
            raise KeyError("feedback")

    lines = Lines()
    with pytest.raises(RunStopped, match=r"make_reflective_dataset raised KeyError.*Mend the ad"):
        finished(tmp_path, Unable(), logger=lines)
    assert sum("Traceback" in line for line in lines.lines) >= 10


def test_the_objectives_hint_is_in_the_words_of_gepas_users(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"EvaluationBatch\(objective_scores=.*frontier_type='ins"):
        finished(tmp_path, Levels(), frontier_type="objective")


class TakesAll:
    """Takes every proposal."""

    def should_accept(self, proposal: Any, state: Any) -> bool:
        assert state is not None
        return True


def test_a_resume_asks_a_criterion_before_any_event_was_told(tmp_path: Path) -> None:
    class Stop(Levels):
        def __init__(self, on: int) -> None:
            super().__init__()
            self.on = on

        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            if len(self.calls) > self.on:
                raise OSError("gone")
            return super().scored(batch, candidate, traces)

    # Cut again and again, wherever it is: some cut lies between a rollout and its screening.
    for on in range(3, 9):
        with pytest.raises(OSError, match="gone"):
            finished(tmp_path, Stop(on), acceptance_criterion=TakesAll(), schedule="sync")
    found = finished(tmp_path, Levels(), acceptance_criterion=TakesAll(), schedule="sync")
    assert found.gepa.best_candidate["p"].count("x") >= 2


def test_a_policy_of_validation_is_asked_once_for_a_child_that_is_evaluated_after_a_resume(
    tmp_path: Path,
) -> None:
    from gepa.strategies.eval_policy import FullEvaluationPolicy

    n_asked = 0

    class Half(FullEvaluationPolicy):  # type: ignore[misc]
        def get_eval_batch(self, loader: Any, state: Any, target_program_idx: Any = None) -> Any:
            nonlocal n_asked
            n_asked += 1
            return list(loader.all_ids())[:6]

    class Cut(Levels):
        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            if n_asked:
                raise OSError("cut")
            return super().scored(batch, candidate, traces)

    with pytest.raises(OSError, match="cut"):
        finished(tmp_path, Cut(), val_evaluation_policy=Half(), schedule="sync")
    assert n_asked == 1
    found = finished(tmp_path, Levels(), val_evaluation_policy=Half(), schedule="sync")
    assert n_asked == found.gepa.num_candidates - 1


def test_an_adapter_may_be_made_of_coroutines(tmp_path: Path) -> None:
    class Async(Levels):
        async def evaluate(self, batch: Any, candidate: Any, capture_traces: bool = False) -> Any:
            await asyncio.sleep(0)
            return super().evaluate(batch, candidate, capture_traces)

        async def make_reflective_dataset(self, candidate: Any, batch: Any, names: Any) -> Any:
            return super().make_reflective_dataset(candidate, batch, names)

    adapter = Async()
    found = finished(tmp_path, adapter)
    assert found.gepa.best_candidate["p"].count("x") >= 2
    assert adapter.most_inside == 1


def test_an_adapter_finds_its_state_again_after_a_resume(tmp_path: Path) -> None:
    class Counting(Levels):
        n = 0
        given: Any = None

        def get_adapter_state(self) -> dict[str, int]:
            return {"n": self.n}

        def set_adapter_state(self, state: dict[str, int]) -> None:
            assert self.calls == []
            self.given, self.n = state, state["n"]

        def scored(self, batch: Any, candidate: Any, traces: bool) -> Any:
            self.n += 1
            if self.n == 9:
                raise OSError("gone")
            return super().scored(batch, candidate, traces)

    first, second = Counting(), Counting()
    with pytest.raises(OSError, match="gone"):
        finished(tmp_path, first, schedule="sync")
    assert first.given is None
    second.n = 100
    with pytest.raises(OSError, match="gone"):  # Counted on, up to 9 again.
        finished(tmp_path, second, schedule="sync")
    assert second.given is not None
    assert 2 <= second.given["n"] <= 8


def test_a_state_that_is_no_json_is_refused(tmp_path: Path) -> None:
    class Odd(Levels):
        def get_adapter_state(self) -> Any:
            return {"seen": {1, 2}}

    with pytest.raises(TaskError, match="get_adapter_state: expected what JSON can hold"):
        finished(tmp_path, Odd())
