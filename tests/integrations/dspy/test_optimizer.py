"""`GEPA.compile` over real HTTP, with real modules of DSPy."""

import inspect
import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest

import flashevolve as fe
from flashevolve import events as ev
from flashevolve.errors import ConfigError, DataError, FlashEvolveError
from flashevolve.integrations.dspy import GEPA
from flashevolve.rundir import open_run, read_records
from tests.fakes.endpoint import Endpoint, Received, Step, status
from tests.integrations.dspy import fakes
from tests.integrations.dspy.fakes import TRAIN, VAL, Failing, compiled, metric


def test_it_takes_all_that_dspys_own_takes() -> None:
    theirs = inspect.signature(dspy.GEPA.__init__).parameters
    ours = inspect.signature(GEPA).parameters
    for name, parameter in theirs.items():
        if name != "self":
            assert (ours[name].default, ours[name].kind) == (parameter.default, parameter.kind)
    assert inspect.signature(GEPA.compile).parameters.keys() == (
        inspect.signature(dspy.GEPA.compile).parameters.keys()
    )
    assert issubclass(GEPA, dspy.teleprompt.Teleprompter)


@pytest.mark.parametrize("name", ["predict", "chain of thought", "multi-hop", "react"])
def test_a_program_of_dspy_learns_its_lesson(name: str, endpoint: Endpoint, tmp_path: Path) -> None:
    student = fakes.programs()[name]
    before = {n: p.signature.instructions for n, p in student.named_predictors()}
    optimizer, best = compiled(
        endpoint, tmp_path / "run", student, max_metric_calls=150, component_selector="all"
    )
    after = {n: p.signature.instructions for n, p in best.named_predictors()}
    assert after.keys() == before.keys()
    assert any(fakes.LESSON in text for text in after.values())
    assert {n: p.signature.instructions for n, p in student.named_predictors()} == before
    assert optimizer.result.best_score > optimizer.result.seed_score
    assert optimizer.result.spent["metric_calls"] <= 150


def test_the_ledger_counts_what_the_endpoint_counted(endpoint: Endpoint, tmp_path: Path) -> None:
    optimizer, _ = compiled(endpoint, tmp_path / "run")
    usage = optimizer.result.usage
    assert usage.calls == len(endpoint.received)
    n_in = sum(len(r.body["messages"][0]["content"]) // 4 for r in endpoint.received)
    assert (usage.tokens_in, usage.tokens_out) == (n_in, 7 * len(endpoint.received))
    by_model = {r.body["model"] for r in endpoint.received}
    assert by_model == {"fake-1", "reflect-1"}
    assert set(optimizer.result.usage_by_role) >= {"task", "reflect"}
    counts = open_run(tmp_path / "run").state.conservation()
    assert counts["in_flight"] == 0


def test_the_key_is_in_no_file_of_the_run(endpoint: Endpoint, tmp_path: Path) -> None:
    compiled(endpoint, tmp_path / "run")
    assert any(fakes.KEY in r.headers.get("authorization", "") for r in endpoint.received)
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if fakes.KEY.encode() in path.read_bytes()]


def test_a_finished_compile_is_not_paid_for_again(endpoint: Endpoint, tmp_path: Path) -> None:
    _, first = compiled(endpoint, tmp_path / "run")
    n_asked = len(endpoint.received)
    _, again = compiled(endpoint, tmp_path / "run")
    assert len(endpoint.received) == n_asked
    assert again.signature.instructions == first.signature.instructions


def test_without_a_valset_the_trainset_ranks(endpoint: Endpoint, tmp_path: Path) -> None:
    optimizer, _ = compiled(endpoint, tmp_path / "run", valset=None)
    validated = {
        r.event.example
        for r in read_records(tmp_path / "run")
        if isinstance(r.event, ev.OutcomeRecorded) and r.event.split == "val"
    }
    assert len(validated) == len(TRAIN)
    assert optimizer.result.seed_score is not None


@pytest.mark.parametrize("budget", [{"auto": "light"}, {"max_full_evals": 2}])
def test_budgets_are_those_of_dspy(
    budget: dict[str, Any], endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(GEPA, "_run", lambda self, *_: asked.append(self.max_metric_calls))
    with pytest.raises(TypeError, match="NoneType"):  # Nothing is run.
        compiled(endpoint, tmp_path / "run", max_metric_calls=None, **budget)
    theirs = dspy.GEPA(metric=metric, reflection_lm=fakes.lm(endpoint), **budget)
    expected = (
        theirs.auto_budget(num_preds=1, num_candidates=6, valset_size=len(VAL))
        if "auto" in budget
        else 2 * (len(TRAIN) + len(VAL))
    )
    assert asked == [expected]


def test_an_lm_of_a_predictors_own_has_a_role_of_its_own(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    student = fakes.MultiHop()
    own = fakes.lm(endpoint, "query-1")
    student.first.lm = own
    optimizer, best = compiled(endpoint, tmp_path / "run", student)
    assert optimizer.result.usage_by_role["task-2"].calls > 0
    assert optimizer.result.usage.calls == len(endpoint.received)
    assert type(best.first.lm) is dspy.LM
    assert best.first.lm.model == own.model


def test_the_metric_is_asked_about_each_predictor(endpoint: Endpoint, tmp_path: Path) -> None:
    asked: set[str] = set()

    def about(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        if pred_name is not None:
            asked.add(pred_name)
            assert len(pred_trace) == 1
        return metric(gold, pred)

    compiled(
        endpoint, tmp_path / "run", fakes.MultiHop(), metric=about, component_selector="all",
        warn_on_score_mismatch=False,
    )  # fmt: skip
    assert asked == {"first", "second", "answer.predict"}


def test_a_metric_without_feedback_teaches_by_its_score(endpoint: Endpoint, tmp_path: Path) -> None:
    def bare(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> float:
        return float("blue" in pred.answer)

    optimizer, _ = compiled(endpoint, tmp_path / "run", metric=bare)
    reflected = [r for r in endpoint.received if r.body["model"] == "reflect-1"]
    assert any("got a score of 0.0." in str(r.body["messages"]) for r in reflected)
    assert optimizer.result.seed_score is not None


def test_a_program_that_fails_on_some_examples_scores_nothing_there(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    optimizer, _ = compiled(endpoint, tmp_path / "run", Failing(r"[13]$"), failure_score=-1.0)
    failed = [
        r.event
        for r in read_records(tmp_path / "run")
        if isinstance(r.event, ev.OutcomeRecorded) and r.event.error
    ]
    assert {e.score for e in failed} == {-1.0}
    assert all("ValueError: cannot answer" in str(e.error) for e in failed)
    assert optimizer.result.counters["proposed"] > 0


def test_a_program_that_always_fails_stops_at_once(endpoint: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(FlashEvolveError, match=r"failed on the first 3 .*ValueError: cannot answ"):
        compiled(endpoint, tmp_path / "run", Failing("."))
    assert len(endpoint.received) == 0


class Remembering(dspy.Module):  # type: ignore[misc]
    """Keeps what it was asked, as programs should not."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.answer = dspy.Predict("question -> answer")

    def forward(self, question: str) -> Any:
        self.seen.append(question)
        return self.answer(question=question)


def test_a_program_with_state_is_copied_for_each_step(endpoint: Endpoint, tmp_path: Path) -> None:
    student = Remembering()
    _, best = compiled(endpoint, tmp_path / "run", student)
    assert student.seen == best.seen == []


def test_what_cannot_run_is_one_line_and_costs_nothing(endpoint: Endpoint, tmp_path: Path) -> None:
    class Empty(dspy.Module):  # type: ignore[misc]
        def forward(self, question: str) -> Any:
            return dspy.Prediction(answer=question)

    with pytest.raises(ConfigError, match=r"expected a program with predictors, found none in Em"):
        compiled(endpoint, tmp_path / "run", Empty())
    with pytest.raises(DataError, match=r"^trainset: expected at least one dspy.Example, found no"):
        compiled(endpoint, tmp_path / "run", trainset=[])
    unsaid = [dspy.Example(question="q", answer="a")]
    with pytest.raises(DataError, match=r"^trainset\[6\]: expected inputs, found none\. Call \.wi"):
        compiled(endpoint, tmp_path / "run", trainset=[*TRAIN, *unsaid])
    with pytest.raises(DataError, match=r"^valset\[0\]: .* Call \.with_inputs\('question'\)"):
        compiled(endpoint, tmp_path / "run", valset=unsaid)
    with pytest.raises(DataError, match=r"^trainset\[0\]: expected a dspy\.Example, found dict\."):
        compiled(endpoint, tmp_path / "run", trainset=[{"question": "q"}])
    with pytest.raises(TypeError, match=r"no argument 'num_thread'\. Did you mean 'num_threads'"):
        GEPA(metric=metric, max_metric_calls=1, num_thread=3)
    with pytest.raises(ConfigError, match=r"gepa_kwargs: expected .*, found 'batch_samples'\. Did"):
        compiled(endpoint, tmp_path / "run", gepa_kwargs={"batch_samples": 1})
    with pytest.raises(ConfigError, match=r"expected an LM for the program, found none"):
        GEPA(metric=metric, max_metric_calls=9, reflection_lm=fakes.lm(endpoint)).compile(
            dspy.Predict("question -> answer"), trainset=TRAIN
        )
    assert not endpoint.received
    assert not (tmp_path / "run").exists()


def test_a_wrong_key_stops_the_compile_in_one_line(tmp_path: Path) -> None:
    with Endpoint([status(401, "no such key")]) as endpoint:
        with pytest.raises(FlashEvolveError, match=r"fake-1 .dspy.*check the key") as caught:
            compiled(endpoint, tmp_path / "run")
        assert len(endpoint.received) < 10
    assert fakes.KEY not in str(caught.value)


def test_a_reflection_lm_with_a_wrong_key_does_not_use_up_the_budget(tmp_path: Path) -> None:
    def script(received: Received) -> Step:
        if received.body["model"] == "reflect-1":
            return status(401, "no such key")
        return fakes.replying(received)

    with Endpoint(script) as endpoint:
        with pytest.raises(FlashEvolveError, match=r"reflect-1 .dspy"):
            compiled(endpoint, tmp_path / "run", max_metric_calls=500)
        assert len(endpoint.received) < 100


def test_a_budget_in_tokens_holds(endpoint: Endpoint, tmp_path: Path) -> None:
    budget = fe.Budget(tokens=40_000)
    optimizer, _ = compiled(endpoint, tmp_path / "run", budget=budget, max_metric_calls=10_000)
    assert optimizer.result.reason == "tokens"
    assert optimizer.result.usage.tokens <= 40_000


def test_an_ended_compile_leaves_no_thread(endpoint: Endpoint, tmp_path: Path) -> None:
    compiled(endpoint, tmp_path / "run")
    deadline = time.monotonic() + 5

    def left() -> list[str]:
        names = [thread.name for thread in threading.enumerate()]
        return [name for name in names if name.startswith("flashevolve")]

    while left() and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert left() == []


def test_it_compiles_in_virtual_time(tmp_path: Path) -> None:
    optimizer = GEPA(
        metric=metric,
        max_metric_calls=40,
        log_dir=str(tmp_path / "run"),
        reflection_lm=dspy.LM("openai/nobody", max_tokens=4000),
        models={"task": "sim/h100-qwen3-8b", "reflect": "sim/h100-qwen3-8b"},
    )
    optimizer.compile(dspy.ChainOfThought("question -> answer"), trainset=TRAIN, valset=VAL)
    result = optimizer.result
    assert result is not None
    assert result.simulated
    assert result.virtual_s
    assert result.usage.calls > 40


def test_a_component_selector_of_ones_own_sees_gepas_state(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    seen: list[Any] = []

    def second(
        state: Any, trajectories: Any, scores: Any, candidate_idx: int, candidate: Any
    ) -> list[str]:
        seen.append((type(state).__name__, len(trajectories), len(scores), sorted(candidate)))
        assert state.program_candidates[candidate_idx] == candidate
        return ["second"]

    student = fakes.MultiHop()
    _, best = compiled(
        endpoint, tmp_path / "run", student, component_selector=second, max_metric_calls=40
    )
    assert seen
    assert all(entry[0] == "GEPAState" and entry[1] == entry[2] == 3 for entry in seen)
    texts = {n: p.signature.instructions for n, p in best.named_predictors()}
    own = {n: p.signature.instructions for n, p in student.named_predictors()}
    assert {n for n in own if texts[n] != own[n]} <= {"second"}


def test_a_stop_callback_of_gepas_ends_the_compile(endpoint: Endpoint, tmp_path: Path) -> None:
    optimizer, _ = compiled(
        endpoint,
        tmp_path / "run",
        max_metric_calls=5000,
        gepa_kwargs={"stop_callbacks": lambda state: state.total_num_evals > 30},
    )
    assert optimizer.result.reason == "stop"
    assert 30 < optimizer.result.spent["metric_calls"] < 500


def test_objectives_of_the_metric_reach_a_frontier_of_objectives(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    def two(
        gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        said = metric(gold, pred)
        objectives = {"right": said.score, "short": 1.0}
        return dspy.Prediction(
            score=said.score, feedback=said.feedback, objective_scores=objectives
        )

    compiled(endpoint, tmp_path / "run", metric=two, gepa_kwargs={"frontier_type": "objective"})
    pool = open_run(tmp_path / "run").state.pool
    seed = pool.candidates[0]
    assert {frozenset(found) for found in seed.objectives.values()} == {
        frozenset({"right", "short"})
    }


def test_a_proposer_of_ones_own_writes_all_components_in_one_call(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    asked: list[list[str]] = []

    def propose(
        candidate: dict[str, str], reflective_dataset: Any, components_to_update: list[str]
    ) -> dict[str, str]:
        asked.append(sorted(components_to_update))
        assert fe.current().base_url.startswith("http://127.0.0.1:")
        said = dspy.settings.lm("Write something.")[0]
        return dict.fromkeys(components_to_update, f"{fakes.LESSON} {said}")

    optimizer, best = compiled(
        endpoint, tmp_path / "run", fakes.MultiHop(), component_selector="all",
        instruction_proposer=propose,
    )  # fmt: skip
    assert {tuple(names) for names in asked} == {("answer.predict", "first", "second")}
    assert fakes.LESSON in best.answer.predict.signature.instructions
    assert optimizer.result.usage_by_role["reflect"].calls == len(asked)


def test_a_compile_that_is_cut_goes_on_without_asking_again(tmp_path: Path) -> None:
    current: list[GEPA] = []

    def script(received: Received) -> Step:
        if len(serving.received) in (40, 70) and current[-1].run is not None:
            for _ in range(2):  # The second cancels what is under way.
                current[-1].run.stop()
        return fakes.replying(received)

    def go_on(endpoint: Endpoint) -> GEPA:
        current.append(
            GEPA(
                metric=metric, max_metric_calls=90, num_threads=8, log_dir=str(tmp_path / "run"),
                reflection_lm=fakes.lm(endpoint, "reflect-1"),
            )
        )  # fmt: skip
        with dspy.context(lm=fakes.lm(endpoint)):
            current[-1].compile(fakes.MultiHop(), trainset=TRAIN, valset=VAL)
        return current[-1]

    serving = Endpoint(script)
    with serving:
        results = [go_on(serving).result for _ in range(3)]
        assert [r.reason for r in results if r] == ["stop", "stop", "metric_calls"]
        records = list(read_records(tmp_path / "run"))
    settled = [r.event for r in records if isinstance(r.event, ev.CallSettled)]
    answered = [e for e in settled if e.status == "ok"]
    asked = {r.event.call: r.event for r in records if isinstance(r.event, ev.CallReserved)}
    # What was answered was asked once, however often the process began.
    keys = [
        (a.ticket, a.stage, a.visit, a.map_key, a.name, a.request_hash, a.occurrence)
        for a in (asked[e.call] for e in answered)
    ]
    assert len(set(keys)) == len(keys) > 70
    counts = open_run(tmp_path / "run").state.conservation()
    assert counts["in_flight"] == 0


def test_a_rollout_whose_traces_a_kill_has_lost_is_reflected_on_as_a_whole(tmp_path: Path) -> None:
    compiling: list[GEPA] = []

    def stop() -> None:
        run = compiling[-1].run
        assert run is not None
        for _ in range(2):  # The second cancels what is under way.
            run.stop()

    def script(received: Received) -> Step:
        step = fakes.replying(received)
        n = len(serving.received)
        if len(compiling) == 1 and n in (6, 7):
            # One example of the first rollout is recorded; the others are cut.
            if n == 7:
                threading.Timer(0.3, stop).start()
            return replace(step, latency_s=30.0)
        return step

    serving = Endpoint(script)
    with serving:
        for _ in range(2):
            compiling.append(
                GEPA(
                    metric=metric, max_metric_calls=20, num_threads=8, schedule="sync",
                    log_dir=str(tmp_path / "run"), reflection_lm=fakes.lm(serving, "reflect-1"),
                )
            )  # fmt: skip
            with dspy.context(lm=fakes.lm(serving)):
                compiling[-1].compile(
                    dspy.Predict("question -> answer"), trainset=TRAIN, valset=VAL
                )
    first, cut = serving.bodies[4], serving.bodies[5:7]
    assert serving.bodies.count(first) == 1
    assert [serving.bodies.count(body) for body in cut] == [2, 2]
    reflected = next(b for b in serving.bodies if b["model"] == "reflect-1")
    for body in (first, *cut):
        (question,) = re.findall(r"question \d", body["messages"][1]["content"])
        assert question in str(reflected["messages"])


def test_callbacks_of_gepas_are_told(endpoint: Endpoint, tmp_path: Path) -> None:
    class Noting:
        def __init__(self) -> None:
            self.heard: list[str] = []

        def on_optimization_start(self, event: Any) -> None:
            self.heard.append("start")

        def on_candidate_accepted(self, event: Any) -> None:
            self.heard.append("accepted")

        def on_optimization_end(self, event: Any) -> None:
            self.heard.append("end")

    noting = Noting()
    optimizer, _ = compiled(endpoint, tmp_path / "run", gepa_kwargs={"callbacks": [noting]})
    assert noting.heard[0] == "start"
    assert noting.heard[-1] == "end"
    assert noting.heard.count("accepted") == optimizer.result.counters["admitted"] - 1
