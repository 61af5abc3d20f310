"""The engine's promises, on random workflows with random trouble; judged from the records alone."""

from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashevolve.errors import RunStopped, TaskError
from flashevolve.llm.retry import RetryPolicy
from flashevolve.policies.control import Control
from flashevolve.policies.speculation import Speculation
from flashevolve.policies.staleness import History, Policy
from tests.fakes import time_travel
from tests.fakes.anything import (
    ANYTHING_SEED,
    COMPONENTS,
    AnyAgent,
    AnyMetric,
    AnyModel,
    Anything,
    Shape,
    SourceShape,
    StageBugError,
    StageShape,
)
from tests.fakes.audit import Audit
from tests.fakes.runs import Bench

EXPECTED_FAILURES = (RunStopped, TaskError, StageBugError)


def drive(main: Coroutine[Any, Any, str]) -> str:
    """A loop that raises where nothing is left to wake anybody: a deadlock fails at once."""
    return time_travel.run(main)


def rarely(value: Any, otherwise: Any) -> st.SearchStrategy[Any]:
    """One time in four `value`."""
    return st.sampled_from([otherwise, otherwise, otherwise, value])


@st.composite
def stage_shapes(draw: st.DrawFn, index: int, *, is_gate: bool) -> StageShape:
    n_calls = draw(st.sampled_from([1, 2, 0]))
    free = not is_gate
    return StageShape(
        n_calls=n_calls,
        mapped=draw(st.booleans()),
        n_evals=draw(st.integers(0, 3)),
        fresh=draw(st.booleans()),
        n_proposals=draw(st.integers(0, 1)),
        ends=draw(st.none() | st.sampled_from(["rejected", "skipped", "no-op", "absorbed"])),
        jumps=free and draw(st.booleans()),
        release=draw(st.sampled_from([None, "rollout"])),
        back_to=draw(st.integers(0, index)) if free and draw(st.integers(0, 3)) == 0 else None,
        bugs=draw(st.integers(0, 30)) == 30,
    )


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    n = draw(st.integers(1, 5))
    gate = draw(st.none() | st.integers(0, n - 1))
    is_gate = [i == (n - 1 if gate is None else gate) for i in range(n)]
    stages = [draw(stage_shapes(i, is_gate=is_gate[i])) for i in range(n)]
    everything = tuple(f"component:{c}" for c in COMPONENTS)
    some = st.lists(st.sampled_from(everything), max_size=2, unique=True).map(tuple)
    source = st.builds(
        SourceShape,
        n=st.sampled_from([1, 3, 8, 15]),
        enter=st.integers(0, n - 1),
        reads=st.just(everything) | some,
    )
    return Shape(
        stages=tuple(stages),
        sources=tuple(draw(st.lists(source, min_size=1, max_size=3))),
        gate=gate,
        writes=draw(st.booleans()),
        bumps=draw(rarely(False, True)),
        failing=draw(st.sampled_from([0.0, 0.0, 0.0, 0.2, 0.6])),
        agent_raises=draw(st.sampled_from([0.0, 0.0, 0.2])),
        metric_raises=draw(st.sampled_from([0.0, 0.0, 0.1])),
        salt=draw(st.integers(0, 99)),
    )


@st.composite
def budgets(draw: st.DrawFn) -> dict[str, Any]:
    limits = {
        "metric_calls": st.integers(0, 40),
        "proposals": st.integers(0, 12),
        "tokens": st.integers(1, 12_000),
        "usd": st.floats(0.0001, 0.01),
    }
    names = draw(st.just([]) | st.lists(st.sampled_from(sorted(limits)), max_size=2, unique=True))
    return {name: draw(limits[name]) for name in names}


CONTROLS = st.sampled_from(
    [
        Control(),
        Control(mode="adaptive", k_max=4, tick_s=1.0),
        Control(mode="adaptive", k_min=2, k_max=3, tick_s=0.1, workers={"s0": 2}),
        Control(mode="paper", k_max=4, tick_s=1.0, window_s=2.0),
        Control(mode="fixed", workers={"s0": 1, "repair": 2}),
    ]
)

ACCOUNTS = st.sampled_from([{}, {}, {"reflect": 1}, {"repair": 2}, {"task": 1, "repair": 1}])


@st.composite
def benches(draw: st.DrawFn) -> Bench:
    shape = draw(shapes())
    policies: list[Policy] = ["full", "guarded", "reflective", "regenerate"]
    histories: list[History] = ["full", "full", "none", "shuffled"]
    stops = st.lists(st.floats(0.0, 20.0), max_size=2).map(tuple)
    width = draw(st.sampled_from([0.1, 1.0, 2.0]))
    policy = draw(st.sampled_from(policies))
    return Bench(
        lambda setup: Anything(shape, setup),
        policy=policy,
        repair_batch=draw(st.sampled_from([1, 2, 4])) if policy == "reflective" else 1,
        when=draw(rarely("always", "stale")),
        history=draw(st.sampled_from(histories)),
        delta_max=draw(st.integers(0, 3)),
        in_flight=draw(st.sampled_from([1, 2, 5, 8])),
        workers=draw(st.integers(1, 4)),
        queue=draw(st.integers(1, 3)),
        control=draw(CONTROLS),
        concurrency=draw(st.sampled_from([1, 3, 8])),
        accounts=draw(ACCOUNTS),
        answer=AnyModel(shape),
        latency_s=lambda rng: rng.lognormvariate(0, width),
        run_seed=draw(st.integers(0, 9)),
        n_val=3,
        n_test=draw(st.sampled_from([0, 0, 2])),
        replicas=draw(st.sampled_from([1, 1, 2, 3])),
        agent=AnyAgent(shape) if draw(st.booleans()) else None,
        score=AnyMetric(shape),
        budget=draw(budgets()),
        deadline_s=draw(st.floats(0.0, 30.0)) if draw(rarely(True, False)) else None,
        grace_s=draw(st.sampled_from([0.0, 1.0, 10.0])),
        seed=ANYTHING_SEED,
        retry=RetryPolicy(max_attempts=2),
        speculation=Speculation(rollout=draw(st.sampled_from([1.0, 1.0, 0.5, 0.1]))),
        stops_s=draw(stops) if draw(rarely(True, False)) else (),
        drive=drive,
    )


def same(bench: Bench) -> Bench:
    """Returns a bench that will run the same again, with nothing run yet."""
    fields = {n: getattr(bench, n) for n in bench.__dataclass_fields__}
    assert isinstance(bench.answer, AnyModel)
    fields["answer"] = AnyModel(bench.answer.shape)
    return Bench(**fields)


def run(bench: Bench) -> str:
    """Runs; returns the reason, or the name of the expected exception."""
    try:
        bench.run()
    except EXPECTED_FAILURES as error:
        return type(error).__name__
    return bench.reason


def audit(bench: Bench) -> Audit:
    workflow = bench.fresh_workflow()
    assert isinstance(workflow, Anything)
    names = [stage.name for stage in workflow.stages]
    audit = Audit(bench, names, workflow.gate or names[-1])
    audit.writes = workflow.shape.writes
    return audit


def check_promises(bench: Bench) -> None:
    reason = run(bench)
    book = audit(bench)
    book.check(bench.store.records)
    book.finished(resumable=reason in ("stop", *(e.__name__ for e in EXPECTED_FAILURES)))
    ends = [r.event.kind for r in bench.store.records if r.event.kind == "run_ended"]
    assert len(ends) == 1
    reserved = [r for r in bench.store.records if r.event.kind == "call_reserved"]
    assert bench.model.n_requests <= len(reserved)
    assert bench.model.peak <= bench.concurrency + sum(bench.accounts.values())
    if isinstance(bench.agent, AnyAgent) and bench.n_test == 0:
        limit = bench.budget.get("metric_calls")
        assert limit is None or bench.agent.n_runs <= limit
    if bench.deadline_s is not None:
        # Whatever was under way at the end of the grace is cut there and then; scoring on test
        # follows, and alone may take longer.
        ended = [r.t_s for r in bench.store.records if r.event.kind == "item_ended"]
        over_s = bench.deadline_s + bench.grace_s + 1e-6
        assert max(ended, default=0.0) <= over_s
        assert bench.n_test or bench.store.records[-1].t_s <= over_s


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(benches())
def test_every_promise_holds_whatever_the_workflow_and_the_trouble(bench: Bench) -> None:
    check_promises(bench)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=20_000, deadline=None, suppress_health_check=SLOW)
@given(benches())
def test_every_promise_holds_over_many_more_examples(bench: Bench) -> None:
    check_promises(bench)


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(benches())
def test_the_same_seed_gives_the_same_records_whatever_the_trouble(bench: Bench) -> None:
    again = same(bench)
    assert run(bench) == run(again)
    assert bench.store.records == again.store.records
