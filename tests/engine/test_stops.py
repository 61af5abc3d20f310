"""How a run ends before its sources do: stop, cancel, deadline, repeated failure, exceptions."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.engine.item import End, Goto, Item
from flashevolve.engine.session import Session
from flashevolve.engine.usercode import AsyncContext
from flashevolve.engine.workflow import Setup, Stage, StageContext
from flashevolve.errors import ConfigError, RunStopped, TaskError
from flashevolve.llm.errors import Fatal, LLMError, Transient
from flashevolve.llm.messages import Request, user
from flashevolve.llm.retry import RetryPolicy
from flashevolve.task import Example
from tests.fakes.runs import Bench
from tests.fakes.workflows import Deltas, Every, Note, Reduction
from tests.fakes.writer import MemoryStore


def resumed(bench: Bench, **changes: Any) -> Bench:
    """Returns a bench that goes on where `bench` ended."""
    again = replace(bench, **{"stops_s": (), **changes})
    again.store = MemoryStore(bench.store.records)
    return again


def check_closed(bench: Bench) -> None:
    assert bench.model.closed
    assert bench.model.in_flight == 0
    assert bench.n_tasks_left == 0
    assert isinstance(bench.store.records[-1].event, ev.RunEnded)


def seconds(s: float) -> Any:
    return lambda rng: s


def test_stop_lets_stages_finish_and_leaves_queued_items_in_flight() -> None:
    bench = Bench(Deltas, in_flight=8, workers=2, latency_s=seconds(1.0), stops_s=(0.5,))
    state = bench.run()
    assert bench.reason == "stop"
    assert state.ended is not None
    assert state.ended.resumable
    assert len(state.in_flight) == len(bench.store.events(ev.ItemSelected)) > 2
    assert all(e.status == "ok" for e in bench.store.events(ev.CallSettled))
    assert len(bench.store.events(ev.StageEnded)) == 2
    assert bench.store.records[-1].t_s == 1.0
    check_closed(bench)


def test_a_stopped_run_goes_on_to_the_same_number_of_items() -> None:
    bench = Bench(Deltas, stops_s=(3.0,))
    bench.run()
    again = resumed(bench)
    state = again.run()
    assert again.reason == "finished"
    assert state.counters["committed"] + state.counters["skipped"] == 20
    check_closed(again)


def test_a_second_stop_cancels_and_settles_calls_as_orphaned() -> None:
    bench = Bench(Deltas, workers=3, latency_s=seconds(10.0), stops_s=(1.0, 2.0))
    state = bench.run()
    assert bench.reason == "stop"
    settled = bench.store.events(ev.CallSettled)
    assert [e.status for e in settled] == ["orphaned"] * 3
    assert state.ledger.reserved["tokens"] == 0
    assert bench.store.records[-1].t_s == 2.0
    check_closed(bench)


def test_stop_before_the_run_begins_starts_nothing() -> None:
    bench = Bench(Deltas, before=Session.stop)
    bench.run()
    assert bench.reason == "stop"
    assert not bench.store.events(ev.ItemSelected)
    check_closed(bench)


def test_cancelling_the_task_of_the_run_closes_everything_and_can_be_resumed() -> None:
    bench = Bench(Deltas)

    async def impatient(main: Any) -> str:
        task = asyncio.ensure_future(main)
        await asyncio.sleep(2.0)
        task.cancel()
        return str(await task)

    drive = bench.drive
    bench.drive = lambda main: drive(impatient(main))
    with pytest.raises(asyncio.CancelledError):
        bench.run()
    ended = bench.store.records[-1].event
    assert isinstance(ended, ev.RunEnded)
    assert (ended.reason, ended.resumable) == ("stop", True)
    assert bench.model.in_flight == 0
    again = resumed(bench, drive=drive)
    assert sum(again.run().conservation().values()) == 40


def test_a_second_stop_while_the_test_split_is_scored_cancels_that_too() -> None:
    latency: Any = seconds(1.0)
    whole = Bench(Deltas, n_test=40, concurrency=1, latency_s=latency)
    whole.run()
    first_test = next(
        r.t_s for r in whole.store.records
        if isinstance(r.event, ev.CallReserved) and r.event.stage == "test"
    )  # fmt: skip
    stops_s = (first_test + 2.5, first_test + 5.5)
    bench = Bench(Deltas, n_test=40, concurrency=1, latency_s=latency, stops_s=stops_s)
    state = bench.run()
    assert bench.reason == "stop"
    assert not state.tests
    assert bench.store.records[-1].t_s == stops_s[1]
    check_closed(bench)
    again = resumed(bench)
    assert again.run().tests.keys() == {"seed", "best"}


def test_at_the_deadline_what_waits_is_dropped_and_what_runs_gets_the_grace() -> None:
    bench = Bench(
        Reduction, workers=2, latency_s=seconds(2.0), deadline_s=3.0, grace_s=100.0, in_flight=6
    )
    state = bench.run()
    assert bench.reason == "deadline"
    at_s = {r.event.ticket: r.t_s for r in bench.store.records if isinstance(r.event, ev.ItemEnded)}
    reasons = {e.ticket: e.reason for e in bench.store.events(ev.ItemEnded)}
    dropped_at_once = [t for t, s in at_s.items() if s == 3.0]
    assert dropped_at_once
    assert {reasons[t] for t in dropped_at_once} == {"budget: deadline"}
    assert max(at_s.values()) > 3.0
    assert not state.in_flight
    check_closed(bench)


def test_at_the_end_of_the_grace_scores_are_kept_and_metric_calls_counted() -> None:
    async def slow(artifact: Any, example: Example, ctx: AsyncContext) -> str:
        await asyncio.sleep(1.0 if example.id == "val-0" else 50.0)
        return "x"

    bench = Bench(
        Reduction, in_flight=1, agent=slow, latency_s=seconds(1.0), deadline_s=3.0, grace_s=2.0
    )
    state = bench.run()
    (ended,) = bench.store.events(ev.ItemEnded)
    assert (ended.outcome, ended.stage) == ("dropped", "check")
    assert ended.reason == "deadline: cut at the end of the grace"
    (outcome,) = bench.store.events(ev.OutcomeRecorded)
    assert outcome.example == "val-0"
    assert state.ledger.spent["metric_calls"] == 2
    assert bench.store.records[-1].t_s == 5.0
    check_closed(bench)


def test_calls_cut_at_the_end_of_the_grace_are_settled_before_the_run_ends() -> None:
    bench = Bench(Deltas, latency_s=seconds(50.0), deadline_s=1.0, grace_s=1.0)
    state = bench.run()
    assert {e.status for e in bench.store.events(ev.CallSettled)} == {"orphaned"}
    assert not state.calls
    check_closed(bench)


def test_a_stage_that_swallows_its_cancellation_has_no_say_any_more() -> None:
    class Stubborn(Deltas):
        async def generate(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(50.0)
            return item.with_payload(text="late")

    bench = Bench(Stubborn, deadline_s=1.0, grace_s=1.0)
    state = bench.run()
    assert bench.reason == "deadline"
    assert state.counters["dropped"] == state.n_created
    check_closed(bench)


def test_an_error_met_while_being_cut_does_not_end_the_item_twice() -> None:
    class Translating(Deltas):
        async def generate(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
            try:
                await asyncio.sleep(50.0)
            except asyncio.CancelledError:
                raise Transient("lost") from None
            return item

    bench = Bench(Translating, deadline_s=1.0, grace_s=1.0)
    state = bench.run()
    assert state.counters["dropped"] == state.n_created
    check_closed(bench)


def test_a_bug_met_while_being_cut_is_not_lost() -> None:
    class Broken(Deltas):
        async def generate(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
            try:
                await asyncio.sleep(50.0)
            finally:
                raise ZeroDivisionError("in the clean-up")

    bench = Bench(Broken, deadline_s=1.0, grace_s=1.0)
    with pytest.raises(ZeroDivisionError, match="in the clean-up"):
        bench.run()
    check_closed(bench)


def test_the_deadline_holds_although_a_budget_had_started_the_drain() -> None:
    bench = Bench(
        Reduction, workers=1, queue=9, latency_s=seconds(1.0), deadline_s=30.0, grace_s=1.0,
        budget={"proposals": 8},
    )  # fmt: skip

    async def slow(artifact: Any, example: Example, ctx: AsyncContext) -> str:
        await asyncio.sleep(20.0)
        return "x"

    bench.agent = slow
    state = bench.run()
    assert bench.store.records[-1].t_s <= 31.0
    assert {e.reason for e in bench.store.events(ev.ItemEnded) if e.outcome == "dropped"} >= {
        "budget: deadline"
    }
    assert not state.in_flight


def failing(message: str) -> Any:
    def answer(request: Request, rng: Random) -> str | LLMError:
        return Transient(message)

    return answer


def test_five_steps_that_fail_alike_stop_the_run_with_one_line() -> None:
    bench = Bench(Deltas, answer=failing("HTTP 503"), retry=RetryPolicy(max_attempts=1))
    with pytest.raises(RunStopped, match=r"the last 5 steps failed the same way.*HTTP 503.*resume"):
        bench.run()
    ended = bench.store.events(ev.RunEnded)[0]
    assert (ended.reason, ended.resumable) == ("failed", True)
    assert "\n" not in ended.detail
    assert [e.outcome for e in bench.store.events(ev.ItemEnded)] == ["failed"] * 5
    check_closed(bench)


class Unreadable(Deltas):
    """Its curator never understands what the model says."""

    async def curate(self, item: Item[Note], ctx: StageContext) -> Item[Note] | End:  # type: ignore[override]
        await ctx.chat("reflect", [user("curate")])
        return End("skipped", "cannot read the answer", useless=item.ticket != self.n_readable)

    n_readable = 0


def test_ten_useless_replies_in_a_row_stop_the_run_with_one_line() -> None:
    bench = Bench(Unreadable)
    stops = r"last 10 replies in stage 'curate' were of no use: cannot read.*max_output_tokens"
    with pytest.raises(RunStopped, match=stops):
        bench.run()
    check_closed(bench)


def test_one_reply_of_use_among_useless_ones_lets_the_run_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Unreadable, "n_readable", 8)
    bench = Bench(lambda setup: Unreadable(setup, n=16), in_flight=1)
    state = bench.run()
    assert state.counters["skipped"] == 16


class Shortcut(Reduction):
    """Its gate lets every item past the last stage, straight to commit."""

    name = "shortcut"

    def __init__(self, setup: Setup, n: int = 20) -> None:
        super().__init__(setup, n)
        after = Stage[Note](name="after", run=self.never)
        gate = replace(self.stages[-1], run=self.past, routes=("commit",))
        self.stages = [*self.stages[:-1], gate, after]

    async def past(self, item: Item[Note], ctx: StageContext) -> Goto[Note]:
        return Goto("commit", item)

    async def never(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
        raise AssertionError("the gate leads past this stage")


def test_a_route_that_the_gate_chose_is_kept_through_a_repair() -> None:
    bench = Bench(Shortcut, policy="reflective", in_flight=10, workers=10)
    bench.run()
    assert any(e.verdict == "accept" for e in bench.store.events(ev.ItemRepaired))


def test_what_goes_wrong_at_the_deadline_is_what_the_run_raises() -> None:
    bench = Bench(Deltas, deadline_s=2.0)
    append = bench.store.append

    def full(events: list[ev.Event], t_s: float) -> int:
        if any(isinstance(e, ev.DrainStarted) for e in events):
            raise OSError("no space left")
        return append(events, t_s)

    bench.store.append = full  # type: ignore[method-assign]
    with pytest.raises(OSError, match="no space left"):
        bench.run()


def test_a_step_that_failed_leaves_its_proposal_to_another() -> None:
    n_asked = 0

    def first_fails(request: Request, rng: Random) -> str | LLMError:
        nonlocal n_asked
        n_asked += 1
        return Transient("once") if n_asked == 1 else "text"

    bench = Bench(
        Reduction,
        answer=first_fails,
        in_flight=1,
        budget={"proposals": 2},
        retry=RetryPolicy(max_attempts=1),
    )
    state = bench.run()
    assert bench.reason == "proposals"
    assert state.counters["failed"] == 1
    assert state.ledger.spent["proposals"] == 2


def test_a_fatal_error_stops_at_once_with_its_line() -> None:
    def answer(request: Request, rng: Random) -> str | LLMError:
        return Fatal("401: the key is wrong")

    bench = Bench(Deltas, answer=answer)
    with pytest.raises(RunStopped, match="401: the key is wrong"):
        bench.run()
    assert bench.model.n_requests <= bench.workers
    check_closed(bench)


class StageBugError(Exception):
    pass


def test_an_exception_in_stage_code_leaves_the_run_as_itself() -> None:
    class Broken(Deltas):
        async def curate(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
            raise StageBugError(f"item {item.ticket}")

    bench = Bench(Broken)
    with pytest.raises(StageBugError, match=r"item \d+"):
        bench.run()
    ended = bench.store.events(ev.RunEnded)[0]
    assert ended.detail.startswith("StageBugError: item ")
    assert ended.resumable
    check_closed(bench)
    state = resumed(bench, workflow=Deltas).run()
    assert state.counters["committed"] + state.counters["skipped"] == 20


def test_a_stage_that_cancels_itself_is_an_error_and_not_a_hang() -> None:
    class Quitting(Deltas):
        async def generate(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
            raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="stage 'generate' raised CancelledError by itself"):
        Bench(Quitting).run()


def test_a_budget_that_ends_inside_a_stages_own_task_group_drains_the_run() -> None:
    class Grouping(Deltas):
        async def generate(self, item: Item[Note], ctx: StageContext) -> Item[Note]:
            async def one(key: str, inner: StageContext) -> None:
                await super(Grouping, self).generate(item, inner)

            async with asyncio.TaskGroup() as group:
                group.create_task(ctx.map(one, ["a", "b", "c"]))
                group.create_task(ctx.map(one, ["d", "e"]))
            return item.with_payload(text="done")

    bench = Bench(Grouping, budget={"tokens": 1000})
    state = bench.run()
    assert bench.reason == "tokens"
    assert not state.in_flight
    assert state.ledger.spent["tokens"] <= 1000
    check_closed(bench)


def test_an_undeclared_route_is_named_with_what_to_do() -> None:
    class Astray(Deltas):
        async def generate(self, item: Item[Note], ctx: StageContext) -> Any:
            return Goto("generate", item)

    with pytest.raises(ConfigError, match=r"stage 'generate' went to 'generate'.*Add it"):
        Bench(Astray).run()


def test_a_source_that_enters_an_unknown_stage_is_told_the_nearest_one() -> None:
    bench = Bench(Deltas)
    workflow = Deltas(bench.setup())
    workflow.sources = [Every("sample", 1, enter="genrate")]
    bench.workflow = lambda setup: workflow
    with pytest.raises(ConfigError, match=r"unknown stage 'genrate'\. Did you mean 'generate'\?"):
        bench.run()


def test_an_exception_while_the_test_split_is_scored_closes_the_log() -> None:
    n_scored = 0

    def score(example: Any, output: Any) -> float:
        nonlocal n_scored
        if str(example["input"]) and example.id.startswith("test"):
            raise KeyError("gold")
        n_scored += 1
        return 1.0

    bench = Bench(Deltas, n_test=6, score=score)
    with pytest.raises(TaskError, match="metric"):
        bench.run()
    check_closed(bench)


def test_exactly_used_up_proposals_are_the_reason_of_the_end() -> None:
    bench = Bench(Reduction, budget={"proposals": 5})
    state = bench.run()
    assert bench.reason == "proposals"
    assert state.ledger.spent["proposals"] == 5
    assert not state.counters["dropped"]


def test_items_that_have_proposed_do_not_keep_others_from_proposing() -> None:
    """Eight proposals, eight credits: the second four start while the first are evaluated."""

    async def slow(artifact: Any, example: Example, ctx: AsyncContext) -> str:
        await asyncio.sleep(100.0)
        return "x"

    bench = Bench(
        Reduction, workers=8, in_flight=8, agent=slow, latency_s=seconds(1.0),
        budget={"proposals": 8},
    )  # fmt: skip
    bench.run()
    started_s = [r.t_s for r in bench.store.records if isinstance(r.event, ev.ItemSelected)]
    assert len(started_s) == 8
    assert max(started_s) < 100.0
