import asyncio
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import flashevolve as fe
from flashevolve import events as ev
from flashevolve.rundir import open_run, read_records
from flashevolve.task import RunFunction, ScoreFunction
from tests.fakes.endpoint import Endpoint
from tests.fakes.small import evolution, read_and_answer

TRAIN = [{"id": f"t{i}", "input": f"question {i}"} for i in range(6)]
VAL = [{"id": f"v{i}", "input": f"other question {i}"} for i in range(4)]


def simulated(run_dir: Path, **options: Any) -> dict[str, Any]:
    return {
        "seed": {"system": "Answer."},
        "train": TRAIN,
        "val": VAL,
        "score": lambda example, output: len(output) % 7 / 7,
        "models": "sim/h100-qwen3-8b",
        "budget": fe.Budget(metric_calls=50),
        "concurrency": 4,
        "run_dir": run_dir,
        **options,
    }


def outcomes(run_dir: Path) -> list[ev.OutcomeRecorded]:
    return [r.event for r in read_records(run_dir) if isinstance(r.event, ev.OutcomeRecorded)]


# -- where it runs -----------------------------------------------------------------------------


def test_optimize_evolves_against_an_endpoint_and_scores_test_once(tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as endpoint:
        result = fe.optimize(**evolution(endpoint, tmp_path / "run"))
    assert result.reason == "metric_calls"
    assert not result.resumable
    assert result.seed_score is not None
    assert result.test_score is not None
    assert result.spent["metric_calls"] <= 40
    assert result.usage.calls == len(endpoint.received)
    assert result.virtual_s is None
    tests = [r.event for r in read_records(result.run_dir) if isinstance(r.event, ev.TestScored)]
    assert [t.which for t in tests] == ["seed", "best"]


@pytest.mark.parametrize("policy", ["full", "guarded", "reflective"])
def test_nothing_is_created_or_lost_under_any_policy(policy: str, tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as endpoint:
        fe.optimize(**evolution(endpoint, tmp_path / "run", policy=policy))
    counts = open_run(tmp_path / "run").state.conservation()
    created = counts.pop("created")
    assert created == sum(counts.values()) > 3
    assert counts["in_flight"] == 0


def test_optimize_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook() -> fe.Result:
        return fe.optimize(**simulated(tmp_path / "run"))

    assert asyncio.run(notebook()).reason == "metric_calls"


async def evolved_on(endpoint: Endpoint, run_dir: Path, seen: set[object]) -> fe.Result:
    async def agent(artifact: fe.Artifact, example: Mapping[str, Any], ctx: Any) -> str:
        seen.add(asyncio.get_running_loop())
        return str((await ctx.chat("task", example["prompt"])).text)

    return await fe.aoptimize(**evolution(endpoint, run_dir, run=agent))


def test_aoptimize_runs_on_the_callers_loop(tmp_path: Path) -> None:
    seen: set[object] = set()

    async def main() -> object:
        async with Endpoint(read_and_answer) as endpoint:
            result = await evolved_on(endpoint, tmp_path / "run", seen)
        assert result.reason == "metric_calls"
        return asyncio.get_running_loop()

    assert seen == {asyncio.run(main())}


def test_aoptimize_leaves_the_callers_loop_free_while_it_simulates(tmp_path: Path) -> None:
    threads: set[str] = set()

    def score(example: Mapping[str, Any], output: str) -> float:
        threads.add(threading.current_thread().name)
        return 0.5

    async def main() -> tuple[fe.Result, float]:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        result = await fe.aoptimize(**simulated(tmp_path / "run", score=score))
        return result, loop.time() - began_s

    result, real_s = asyncio.run(main())
    assert result.virtual_s is not None
    assert real_s < result.virtual_s
    assert threading.main_thread().name not in threads


def test_two_runs_at_once_in_two_threads_do_not_meet(tmp_path: Path) -> None:
    results: dict[str, fe.Result] = {}
    with Endpoint(read_and_answer) as endpoint:

        def evolve(name: str) -> None:
            results[name] = fe.optimize(**evolution(endpoint, tmp_path / name))

        threads = [threading.Thread(target=evolve, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sum(r.usage.calls for r in results.values()) == len(endpoint.received)
    assert {r.reason for r in results.values()} == {"metric_calls"}
    assert {r.run_dir for r in results.values()} == {tmp_path / "a", tmp_path / "b"}


def test_runs_that_begin_in_the_same_second_get_directories_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {**simulated(tmp_path), "run_dir": None}
    runs = [fe.start(**options) for _ in range(4)]
    assert len({run.result().run_dir for run in runs}) == 4
    assert len({open_run(run.dir).started.run_id for run in runs}) == 4


def test_a_finished_run_is_reported_and_not_run_again(tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as endpoint:
        first = fe.optimize(**evolution(endpoint, tmp_path / "run"))
        n_requests = len(endpoint.received)
        again = fe.optimize(**evolution(endpoint, tmp_path / "run"))
        assert len(endpoint.received) == n_requests
    assert again.best == first.best
    assert again.counters == first.counters


def test_a_finished_run_goes_on_with_a_larger_budget(tmp_path: Path) -> None:
    with Endpoint(read_and_answer) as endpoint:
        first = fe.optimize(**evolution(endpoint, tmp_path / "run"))
        budget = fe.Budget(metric_calls=80)
        more = fe.optimize(**evolution(endpoint, tmp_path / "run", budget=budget))
    assert first.spent["metric_calls"] < more.spent["metric_calls"] <= 80
    assert more.counters["proposed"] > first.counters["proposed"]


def test_a_directory_of_another_run_is_refused_in_one_line(tmp_path: Path) -> None:
    fe.optimize(**simulated(tmp_path / "run"))
    with pytest.raises(fe.FlashEvolveError, match=r"another: .*seed") as caught:
        fe.optimize(**simulated(tmp_path / "run", rng_seed=1))
    assert "\n" not in str(caught.value)


def test_a_run_with_python_functions_says_how_to_resume_it(tmp_path: Path) -> None:
    fe.optimize(**simulated(tmp_path / "run"))
    with pytest.raises(fe.FlashEvolveError, match="call optimize again with the same arguments"):
        fe.resume(tmp_path / "run")


def test_an_unknown_argument_is_named_with_the_nearest_known_one(tmp_path: Path) -> None:
    with pytest.raises(fe.FlashEvolveError, match=r"no argument 'meterd'.*'metered'"):
        fe.optimize(**simulated(tmp_path / "run", meterd=True))


# -- agents and metrics ------------------------------------------------------------------------


async def async_agent(artifact: fe.Artifact, example: Mapping[str, Any], ctx: Any) -> str:
    return str((await ctx.chat("task", example["input"])).text)


def sync_agent(artifact: fe.Artifact, example: Mapping[str, Any], ctx: Any) -> str:
    return str(ctx.chat("task", [{"role": "user", "content": example["input"]}]).text)


def agent_without_context(artifact: fe.Artifact, example: Mapping[str, Any]) -> str:
    return f"{artifact['system']} {example['input']}"


async def async_agent_without_context(artifact: fe.Artifact, example: Mapping[str, Any]) -> str:
    return agent_without_context(artifact, example)


class CallableAgent:
    def __call__(self, artifact: fe.Artifact, example: Mapping[str, Any]) -> str:
        return agent_without_context(artifact, example)


@pytest.mark.parametrize(
    "agent",
    [
        async_agent,
        sync_agent,
        agent_without_context,
        async_agent_without_context,
        CallableAgent(),
        lambda artifact, example: f"{artifact['system']} {example['input']}",
    ],
    ids=["async ctx", "sync ctx", "sync", "async", "object", "lambda"],
)
def test_agents_may_be_sync_or_async_with_or_without_context(
    agent: RunFunction, tmp_path: Path
) -> None:
    result = fe.optimize(**simulated(tmp_path / "run", run=agent))
    assert result.reason == "metric_calls"
    assert all(o.error is None for o in outcomes(tmp_path / "run"))
    asks_models = "task" in result.usage_by_role
    assert asks_models == (agent in (async_agent, sync_agent))


async def async_score(example: Mapping[str, Any], output: str) -> tuple[float, str]:
    await asyncio.sleep(0.01)
    return 0.25, "a quarter"


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (lambda e, o: 0.25, (0.25, "")),
        (lambda e, o: (0.25, "a quarter"), (0.25, "a quarter")),
        (lambda e, o: True, (1.0, "")),
        (async_score, (0.25, "a quarter")),
        (lambda e, o: fe.Outcome(score=0.25, feedback="why", trace=[1]), (0.25, "why")),
    ],
    ids=["float", "tuple", "bool", "async", "outcome"],
)
def test_a_metric_may_return_a_number_with_feedback_or_an_outcome(
    score: ScoreFunction, expected: tuple[float, str], tmp_path: Path
) -> None:
    fe.optimize(**simulated(tmp_path / "run", score=score, run=agent_without_context))
    recorded = outcomes(tmp_path / "run")
    assert {(o.score, o.feedback) for o in recorded} == {expected}
    assert all(o.output for o in recorded)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("good", "could not convert string to float: 'good'"),
        (None, "float.* not 'NoneType'"),
        ((0.5, 3), r"expected float, \(float, feedback\) or Outcome, got \(0.5, 3\)"),
        (float("nan"), "the score is nan; expected a finite number"),
        (float("inf"), "the score is inf; expected a finite number"),
        (fe.Outcome(score=float("nan")), "the score is nan; expected a finite number"),
    ],
)
def test_a_metric_that_returns_something_else_stops_the_run_at_its_first_output(
    returned: object, message: str, tmp_path: Path
) -> None:
    calls: list[str] = []

    def score(example: Mapping[str, Any], output: str) -> Any:
        calls.append(example["id"])
        return returned

    with pytest.raises(fe.FlashEvolveError, match=message) as caught:
        fe.optimize(**simulated(tmp_path / "run", score=score))
    assert len(calls) == 1
    assert "\n" not in str(caught.value)


def test_an_agent_may_return_its_own_outcome_and_is_then_not_scored(tmp_path: Path) -> None:
    def agent(artifact: fe.Artifact, example: Mapping[str, Any]) -> fe.Outcome:
        return fe.Outcome(score=0.75, output="mine", feedback="told by the agent")

    def score(example: Mapping[str, Any], output: object) -> float:
        raise AssertionError("an outcome is already scored")

    result = fe.optimize(**simulated(tmp_path / "run", run=agent, score=score))
    assert result.seed_score == 0.75


def test_an_output_that_json_does_not_know_is_kept_as_its_repr(tmp_path: Path) -> None:
    def agent(artifact: fe.Artifact, example: Mapping[str, Any]) -> object:
        return {"set": {1}}

    fe.optimize(**simulated(tmp_path / "run", run=agent, score=lambda e, o: 0.5))
    assert {o.output for o in outcomes(tmp_path / "run")} == {"{'set': {1}}"}


# -- user code that fails ----------------------------------------------------------------------


def failing_after(n: int, error: Callable[[int], Exception]) -> Callable[..., float]:
    calls: list[int] = []

    def score(example: Mapping[str, Any], output: str) -> float:
        calls.append(1)
        if len(calls) > n:
            raise error(len(calls))
        return 0.5

    score.calls = calls  # type: ignore[attr-defined]
    return score


@pytest.mark.parametrize(
    "error",
    [lambda n: ValueError("no"), lambda n: KeyError(f"field {n}")],
    ids=["alike", "each with a message of its own"],
)
def test_five_metric_exceptions_in_a_row_stop_the_run_with_one_line(
    error: Callable[[int], Exception], tmp_path: Path
) -> None:
    score = failing_after(7, error)
    with pytest.raises(fe.FlashEvolveError, match="the metric failed 5 times in a row") as caught:
        fe.optimize(**simulated(tmp_path / "run", score=score, concurrency=1))
    assert "\n" not in str(caught.value)
    assert len(score.calls) == 7 + 5  # type: ignore[attr-defined]
    assert open_run(tmp_path / "run").state.ended == ev.RunEnded(
        reason="failed",
        resumable=True,
        detail=f"TaskError: {caught.value}",
        counters=dict(sorted(open_run(tmp_path / "run").state.counters.items())),
    )


def test_a_stopped_run_goes_on_once_its_metric_is_mended(tmp_path: Path) -> None:
    with pytest.raises(fe.FlashEvolveError, match="5 times in a row"):
        fe.optimize(
            **simulated(tmp_path / "run", score=failing_after(7, lambda n: ValueError("no")))
        )
    result = fe.optimize(**simulated(tmp_path / "run", score=lambda e, o: 0.5))
    assert result.reason == "metric_calls"
    counts = open_run(tmp_path / "run").state.conservation()
    assert counts.pop("created") == sum(counts.values())


def test_fewer_failures_in_a_row_are_data_with_feedback(tmp_path: Path) -> None:
    n = 0

    def score(example: Mapping[str, Any], output: str) -> float:
        nonlocal n
        n += 1
        if n % 3 == 0:
            raise ValueError("two lines\nof trouble")
        return 0.5

    fe.optimize(**simulated(tmp_path / "run", score=score, failure_score=-1.0))
    failed = [o for o in outcomes(tmp_path / "run") if o.error]
    assert failed
    assert {o.score for o in failed} == {-1.0}
    assert all("ValueError" in o.feedback for o in failed)


def test_a_metric_that_fails_on_the_first_output_stops_before_the_sweep(tmp_path: Path) -> None:
    score = failing_after(0, lambda n: KeyError("answer"))
    first = pytest.raises(fe.FlashEvolveError, match="the metric failed on its first output")
    with Endpoint(read_and_answer) as endpoint, first:
        fe.optimize(**evolution(endpoint, tmp_path / "run", score=score))
    assert len(endpoint.received) == 1


def test_an_agent_that_raises_on_every_example_stops_at_the_probe(tmp_path: Path) -> None:
    seen: list[str] = []

    def agent(artifact: fe.Artifact, example: Mapping[str, Any]) -> str:
        seen.append(example["id"])
        raise RuntimeError("broken\nagent")

    with pytest.raises(fe.FlashEvolveError, match="failed on the first 3 examples") as caught:
        fe.optimize(**simulated(tmp_path / "run", run=agent))
    assert len(seen) == 3
    assert "\n" not in str(caught.value)


def test_what_an_agent_spends_by_itself_is_in_the_result_and_ends_the_run(tmp_path: Path) -> None:
    spent = fe.Usage(calls=1, tokens_in=60, tokens_out=40)

    def agent(artifact: Mapping[str, str], example: Mapping[str, Any]) -> fe.Outcome:
        return fe.Outcome(score=0.5, output="x", usage=spent)

    budget = fe.Budget(tokens=100_000, metric_calls=2000)
    options = simulated(tmp_path / "run", run=agent, metered=True, budget=budget)
    result = fe.optimize(**options)
    n = len(outcomes(tmp_path / "run"))
    assert result.reason == "tokens"
    assert result.usage_by_role["user code"] == fe.Usage(
        calls=n, tokens_in=60 * n, tokens_out=40 * n
    )
    assert result.spent["tokens"] == result.usage.tokens


def test_an_agent_that_costs_more_than_the_budget_ends_the_run_after_the_seed(
    tmp_path: Path,
) -> None:
    def agent(artifact: Mapping[str, str], example: Mapping[str, Any]) -> fe.Outcome:
        return fe.Outcome(score=0.5, output="x", usage=fe.Usage(tokens_in=1000))

    budget = fe.Budget(tokens=3000)
    result = fe.optimize(**simulated(tmp_path / "run", run=agent, metered=True, budget=budget))
    assert result.reason == "tokens"
    assert result.spent["tokens"] == 1000 * len(VAL)


# -- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("score", "exact", r"^score: expected a function, found 'exact'\. Built-in"),
        ("score", None, r"^score: expected a function, found None"),
        ("score", lambda output: 1.0, r"^score must take \(example, output\) or \(.*, ctx\), got"),
        ("run", "a:b", r"^run: expected a function or None, found 'a:b'"),
        (
            "run",
            lambda example: "x",
            r"^run must take \(artifact, example\) or .*got \(example\)",
        ),
        ("algorithm", fe.GEPA, r"^algorithm: expected a name or an instance.*Write GEPA\(\)"),
        ("seed", "Answer", r"^seed: expected component name -> text, .*found 'Answer'"),
        ("seed", {"system": 3}, r"artifact\.system"),
        ("seed", {"system": "\ud83d"}, r"^artifact\.system: expected text, found half a surr"),
        ("val", None, r"^val: expected a file or a sequence of mappings, found None"),
    ],
)
def test_a_wrong_argument_is_one_line_before_anything_runs(
    name: str, value: Any, expected: str, tmp_path: Path
) -> None:
    with pytest.raises(fe.FlashEvolveError, match=expected) as caught:
        fe.start(**simulated(tmp_path / "run", **{name: value}))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_metric_may_ask_a_model_for_its_judgement(tmp_path: Path) -> None:
    def score(example: Mapping[str, Any], output: str, ctx: Any) -> float:
        return len(ctx.chat("judge", f"How good is this? {output}").text) % 7 / 7

    result = fe.optimize(**simulated(tmp_path / "run", score=score))
    assert result.usage_by_role["judge"].calls >= len(VAL)


def test_an_agent_that_exits_is_data_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    n_run = 0

    def agent(artifact: Mapping[str, str], example: Mapping[str, Any]) -> str:
        nonlocal n_run
        n_run += 1
        if n_run == 2:
            sys.exit("no key")
        return str(example["key"])

    with Endpoint(read_and_answer) as endpoint:
        fe.optimize(**evolution(endpoint, tmp_path / "run", run=agent))
    errors = [o.error for o in outcomes(tmp_path / "run") if o.error]
    assert errors == ["run raised RuntimeError: SystemExit: no key"]
