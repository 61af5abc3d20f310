from pathlib import Path

import pytest

from flashevolve import events as ev
from flashevolve.cli.progress import Progress, View
from flashevolve.rundir import open_run, read_records


@pytest.fixture(scope="module")
def records(finished: Path) -> list[ev.Record]:
    return list(read_records(finished))


def view_of(progress: Progress) -> View:
    view = progress.view()
    assert view is not None
    return view


def test_there_is_nothing_to_see_before_the_first_event() -> None:
    assert Progress().view() is None


def test_at_every_event_the_stages_hold_exactly_what_is_in_flight(
    records: list[ev.Record],
) -> None:
    progress = Progress(limits={"metric_calls": 120})
    for record in records:
        progress.apply(record)
        view = view_of(progress)
        assert sum(s.queued + s.running for s in view.stages) == view.in_flight
        (budget,) = view.budgets
        assert budget.spent + budget.reserved <= budget.limit
        assert 0 <= view.requests <= 4


def test_the_end_agrees_with_the_folded_run(finished: Path, records: list[ev.Record]) -> None:
    progress = Progress()
    for record in records:
        progress.apply(record)
    state, view = open_run(finished).state, view_of(progress)
    best = state.pool.best()
    assert best is not None
    assert (view.best_id, view.best_score) == (best.id, best.mean)
    assert view.counters == dict(state.counters)
    assert view.in_flight == view.requests == 0
    assert view.phase == "ended: metric_calls"
    assert sum(progress.ends.values()) == state.n_created


def test_records_seen_before_change_nothing(records: list[ev.Record]) -> None:
    once, twice = Progress(), Progress()
    for record in records:
        once.apply(record)
        twice.apply(record)
        twice.apply(record)
    assert once.view() == twice.view()


def test_time_in_stages_is_what_the_events_say(records: list[ev.Record]) -> None:
    progress = Progress()
    taken: dict[tuple[int, str], float] = {}
    busy_s = 0.0
    for record in records:
        progress.apply(record)
        if isinstance(record.event, ev.StageTaken):
            taken[record.event.ticket, record.event.stage] = record.t_s
        elif isinstance(record.event, ev.StageEnded):
            busy_s += record.t_s - taken[record.event.ticket, record.event.stage]
    stages = progress.stages()
    assert sum(stage.busy_s for stage in stages) == pytest.approx(busy_s)
    assert {stage.name for stage in stages} >= {"rollout", "propose", "screen", "evaluate"}
    assert all(stage.mean_s is None or stage.mean_s >= 0 for stage in stages)


def test_the_time_between_two_processes_belongs_to_no_stage() -> None:
    started = ev.RunStarted(
        run_id="r",
        algorithm="a",
        policy="full",
        schedule="async",
        rng_seed=0,
        artifact={"x": "y"},
        config={},
        data={},
        pool_state={},
        prices={},
        pool="flashevolve.pools.pareto:ParetoPool",
        stages=["work"],
        simulated=False,
        package="0",
    )
    selected = ev.ItemSelected(
        ticket=1,
        source="s",
        ordinal=0,
        version=0,
        reads=[],
        lineage=[],
        enter="work",
        payload={},
        ops=[],
    )
    taken = ev.StageTaken(ticket=1, stage="work", visit=1)
    ended = ev.StageEnded(ticket=1, stage="work", visit=1, to=None, payload={})
    log: list[tuple[float, ev.Event]] = [
        (0, started),
        (0, selected),
        (1, taken),
        (100, ev.RunResumed(changes={}, orphans=[])),
        (101, taken),
        (103, ended),
    ]
    progress = Progress(deadline_s=200.0)
    for seq, (t_s, event) in enumerate(log, 1):
        progress.apply(ev.Record(seq=seq, t_s=t_s, event=event))
    (stage,) = progress.stages()
    assert (stage.busy_s, stage.waited_s, stage.done) == (2.0, 2.0, 1)
    (seconds,) = view_of(progress).budgets
    assert (seconds.name, seconds.spent, seconds.limit) == ("seconds", 103, 200.0)
