from dataclasses import replace

import pytest

from flashevolve import events as ev
from flashevolve.bench.cell import Arm, Cell, Job
from flashevolve.bench.charged import Watch, run_charged
from flashevolve.bench.execute import settings_of
from flashevolve.bench.tasks import task_parts
from flashevolve.engine.state import RunState
from flashevolve.pools.pareto import ParetoPool
from flashevolve.prepare import prepare
from flashevolve.simulate.charged import ChargedLoop
from tests.bench.made import admit, call, count, gap, settle


class Cpu:
    """A CPU clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def watched(cpu: Cpu, timed: list[tuple[float, float, ev.Event]]) -> Watch:
    """Shows a watch events with (time, CPU seconds charged by then, event)."""
    state = RunState(ParetoPool(), {}, lambda payload: payload)
    loop = ChargedLoop(cpu_s=cpu)
    watch = Watch(state, loop)
    for seq, (t_s, charged_s, event) in enumerate(timed, 1):
        cpu.now_s = charged_s
        record = ev.Record(seq=seq, t_s=t_s, event=event)
        if isinstance(event, ev.PoolChanged):
            state.apply(record)
        watch(record)
        watch.read()
    loop.close()
    return watch


def test_a_window_counts_what_ended_in_it() -> None:
    _, proposed = count(1, "proposed")
    watch = watched(
        Cpu(),
        [
            (0.0, 0.0, call(1, 1)),
            (0.0, 0.0, call(2, 1)),
            (4.0, 1.0, settle(1, 1, 10, 4.0)),
            (8.0, 2.0, settle(2, 1, 30, 8.0)),
            (9.0, 2.0, proposed),
            (10.0, 4.0, ev.DrainStarted(reason="deadline")),
        ],
    )
    late = watch.window(5.0, 10.0)
    assert (late.calls, late.tokens_out, late.proposals, late.sweeps) == (1, 30, 1, 0)
    assert late.calls_per_s == 0.2
    assert late.in_flight == pytest.approx(8 / 5)
    # From 1.25 s charged at 5 s, in proportion, to 4 s at the end.
    assert late.busy_s == pytest.approx(2.75)
    assert late.utilisation == pytest.approx(0.55)
    assert watch.end_s == 10.0


def test_what_a_watch_computes_itself_is_not_charged() -> None:
    cpu = Cpu()
    watch = watched(cpu, [(1.0, 3.0, call(1, 1))])
    before_s = watch.window(0.0, 1.0).busy_s
    watch.read()
    assert watch.window(0.0, 1.0).busy_s == before_s == 3.0


def test_served_calls_come_in_order_of_reservation_and_only_those_before_the_deadline() -> None:
    refused = replace(settle(3, 1, 0, 0.0), status="rate_limited")
    watch = watched(
        Cpu(),
        [
            (0.0, 0.0, call(1, 1)),
            (0.0, 0.0, call(2, 1)),
            (0.0, 0.0, call(3, 1)),
            (1.0, 0.0, settle(2, 1, 20, 1.0)),
            (1.0, 0.0, refused),
            (2.0, 0.0, settle(1, 1, 10, 2.0)),
            (3.0, 0.0, call(4, 1)),
            (5.0, 0.0, ev.DrainStarted(reason="deadline")),
            (6.0, 0.0, settle(4, 1, 40, 1.0)),
        ],
    )
    assert [c.output_tokens for c in watch.served()] == [10, 20]
    assert [c.max_output_tokens for c in watch.served()] == [100, 100]


def test_bests_and_gaps_are_kept() -> None:
    watch = watched(
        Cpu(),
        [
            (1.0, 0.0, admit(1, "0.2", 0.2, ())),
            (2.0, 0.0, gap(2, 3)),
            (2.0, 0.0, gap(3, 3)),
            (3.0, 0.0, admit(2, "0.1", 0.1, (0,))),
            (4.0, 0.0, admit(3, "0.6", 0.6, (0,))),
        ],
    )
    assert [(best.t_s, best.val) for best in watch.bests] == [(1.0, 0.2), (4.0, 0.6)]
    assert watch.gaps == {3: 2}


def test_a_whole_run_is_charged_for_its_calls() -> None:
    per_call_s = 0.05
    cell = Cell(preset="h100-qwen3-8b*2", n_train=12, n_val=12, n_test=1, metric_calls=60)
    arm = Arm(name="full", settings={"policy": "full"})
    job = Job(suite="test", arm=arm, cell=cell, seed=0, measures=())
    parts = task_parts(cell, 0)
    splits = replace(parts.splits, test=())
    prepared = prepare(settings_of(job, parts), splits=splits, run=parts.run, score=parts.score)
    charged = run_charged(prepared, per_call_s)
    whole = charged.watch.window(-1.0, charged.end_s)
    assert whole.calls == charged.state.usage.calls == len(charged.watch.served()) > 30
    assert whole.busy_s > whole.calls * per_call_s
    assert whole.busy_s < charged.end_s
    assert charged.watch.bests
