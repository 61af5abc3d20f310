import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashevolve import events as ev
from flashevolve.algorithms.gepa import GEPA
from flashevolve.artifact import Artifact
from flashevolve.engine.gathering import Gathering, batch_prompt, read_verdicts
from flashevolve.engine.history import History, Told
from flashevolve.engine.item import Item
from flashevolve.engine.repair import Repairer, Verdict
from flashevolve.llm.errors import Empty, LLMError, Refused, Transient, Truncated
from flashevolve.llm.messages import Message, Reply, Request
from flashevolve.policies.staleness import Update
from flashevolve.pools.head import HeadPool
from flashevolve.replies.errors import ReplyError
from tests.engine.test_resume import check_everything, cut
from tests.fakes.audit import Audit
from tests.fakes.runs import NUMBERS, SEED, Bench, echo
from tests.fakes.workflows import Note, Reduction

CURRENT = Artifact({"text": "now"})
DISCARD = {"verdict": "discard", "reason": "known"}
ACCEPT = {"verdict": "accept", "reason": "new"}


# -- the form ----------------------------------------------------------------------------------


def test_each_stale_text_stands_under_its_number_and_the_rest_is_shown_once() -> None:
    told = Told([Update(3, ("a",), "better")], n_missed=1)
    asked = batch_prompt({12: Artifact({"a": "one"}), 7: Artifact({"a": "two"})}, CURRENT, told)
    assert "## Stale text 12\n### a\n```\none\n```\n\n## Stale text 7\n### a\n```\ntwo" in asked
    assert asked.count("Version 3: better") == asked.count("## Current text") == 1


@given(st.permutations([3, 12, 31]))
def test_verdicts_are_matched_by_number_in_whatever_order(order: list[int]) -> None:
    said: dict[int, dict[str, Any]] = {
        3: ACCEPT,
        12: DISCARD,
        31: {"verdict": "patch", "components": {"text": "mix"}},
    }
    expected = {3: "accept", 12: "discard", 31: "patch"}
    as_mapping = json.dumps({"verdicts": {str(n): said[n] for n in order}})
    as_list = json.dumps({"verdicts": [{"id": n, **said[n]} for n in order]})
    for text in (as_mapping, as_list):
        found = read_verdicts(text, [12, 31, 3], CURRENT)
        assert {n: decided[0] for n, decided in found.items()} == expected
        assert found[31][2] == Artifact({"text": "mix"})


def test_what_cannot_be_read_or_belongs_to_nobody_is_left_out() -> None:
    said = {
        "1": {"verdict": "perhaps"},
        "2": {"verdict": "patch", "components": {"other": "x"}},
        "3": "accept",
        "4": ACCEPT,
        "99": ACCEPT,
    }
    found = read_verdicts(json.dumps({"verdicts": said}), [1, 2, 3, 4, 5], CURRENT)
    assert list(found) == [4]


def test_two_verdicts_on_one_text_count_as_none() -> None:
    text = json.dumps({"verdicts": [{"id": 1, **ACCEPT}, {"id": "1", **DISCARD}]})
    assert read_verdicts(text, [1], CURRENT) == {}


def test_an_answer_without_verdicts_is_refused() -> None:
    with pytest.raises(ReplyError, match="expected 'verdicts', a mapping from the number"):
        read_verdicts(json.dumps(ACCEPT), [1], CURRENT)


# -- sharing a call ----------------------------------------------------------------------------


@dataclass
class Desk:
    """Items at one gathering; each call waits until the test answers it."""

    size: int = 4
    alone: tuple[int, ...] = ()
    asked: list[tuple[int, str, str]] = field(default_factory=list)
    """Ticket, name and question of each call."""
    open: list["asyncio.Future[str]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        bench = Bench(Reduction)
        self.workflow = bench.fresh_workflow()
        self.pool = self.workflow.new_pool()
        assert isinstance(self.pool, HeadPool)
        updates = [Update(1, ("component:text",), "changed")]
        history = History(lambda: updates, "scoped", 100)
        repairer = Repairer(workflow=self.workflow, history=history)
        self.gathering = Gathering(repairer, self.size, self.alone)

    def begin(self, ticket: int) -> "asyncio.Task[Verdict]":
        item = Item(
            ticket=ticket,
            source="step",
            payload=Note(text=f"text {ticket}"),
            version=0,
            reads=("component:text",),
        )
        ctx: Any = Seat(self, ticket)
        return asyncio.ensure_future(self.gathering.judge(item, ctx))

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def answer(self, call: int, *, leave_out: Sequence[int] = (), text: str = "") -> None:
        numbers = [int(n) for n in NUMBERS.findall(self.asked[call][2])]
        told = {n: {**ACCEPT, "reason": f"about {n}"} for n in numbers if n not in leave_out}
        reply: Mapping[str, Any] = {"verdicts": told} if numbers else ACCEPT
        self.open[call].set_result(text or json.dumps(reply))
        await self.settle()

    def shown(self, call: int) -> list[int]:
        return [int(n) for n in NUMBERS.findall(self.asked[call][2])]


@dataclass
class Seat:
    """One item's context."""

    desk: Desk
    ticket: int

    @property
    def pool(self) -> Any:
        return self.desk.pool

    def rng(self, purpose: str = "") -> Random:
        return Random(purpose)

    async def chat(self, role: str, messages: Sequence[Message], *, name: str = "") -> Reply:
        self.desk.asked.append((self.ticket, name, messages[-1].text))
        reply: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.desk.open.append(reply)
        return Reply(text=await reply)


async def three_behind_one(desk: Desk) -> list["asyncio.Task[Verdict]"]:
    """One item is asked about; three more gather, and then share a call."""
    tasks = [desk.begin(ticket) for ticket in (1, 2, 3, 4)]
    await desk.settle()
    assert [(ticket, name) for ticket, name, _ in desk.asked] == [(1, "")]
    await desk.answer(0)
    assert [(ticket, name) for ticket, name, _ in desk.asked[1:]] == [(2, "batch")]
    return tasks


def test_items_gather_while_a_call_is_under_way_and_share_the_next() -> None:
    async def main() -> None:
        desk = Desk()
        tasks = await three_behind_one(desk)
        late = desk.begin(5)
        assert desk.shown(1) == [2, 3, 4]
        await desk.answer(1)
        assert [task.result().reason for task in tasks] == ["new", "about 2", "about 3", "about 4"]
        assert desk.asked[2][:2] == (5, "")
        await desk.answer(2)
        assert late.result().verdict == "accept"

    asyncio.run(main())


def test_a_full_batch_goes_beside_the_calls_under_way_and_an_incomplete_one_waits() -> None:
    async def main() -> None:
        desk = Desk(size=2)
        tasks = [desk.begin(ticket) for ticket in (1, 2, 3, 4, 5, 6)]
        await desk.settle()
        assert [asked[0] for asked in desk.asked] == [1, 3, 5]
        assert [desk.shown(call) for call in (1, 2)] == [[2, 3], [4, 5]]
        await desk.answer(1)
        assert [task.done() for task in tasks] == [False, True, True, False, False, False]
        assert len(desk.asked) == 3
        await desk.answer(0)
        assert desk.asked[3][:2] == (6, "")
        for call in (2, 3):
            await desk.answer(call)
        assert all(task.done() for task in tasks)

    asyncio.run(main())


@pytest.mark.parametrize("failure", [Transient("down"), None], ids=["fails", "is cancelled"])
def test_where_the_leader_of_a_full_batch_is_lost_those_that_wait_still_get_their_turn(
    failure: LLMError | None,
) -> None:
    async def main() -> None:
        desk = Desk(size=2)
        tasks = [desk.begin(ticket) for ticket in (1, 2, 3, 4)]
        await desk.settle()
        if failure is None:
            tasks[2].cancel()
        else:
            desk.open[1].set_exception(failure)
        await desk.settle()
        assert [asked[:2] for asked in desk.asked[2:]] == [(2, "")]
        await desk.answer(2)
        assert not tasks[3].done()
        await desk.answer(0)
        await desk.answer(3)
        assert [tasks[i].result().verdict for i in (0, 1, 3)] == ["accept"] * 3
        with pytest.raises((Transient, asyncio.CancelledError)):
            await tasks[2]

    asyncio.run(main())


def test_whoever_got_no_verdict_is_asked_about_alone_once_and_then_discarded() -> None:
    async def main() -> None:
        desk = Desk()
        tasks = await three_behind_one(desk)
        await desk.answer(1, leave_out=(2, 4))
        assert tasks[2].result().reason == "about 3"
        assert sorted(asked[:2] for asked in desk.asked[2:]) == [(2, "alone"), (4, "alone")]
        second = {asked[0]: call for call, asked in enumerate(desk.asked)}
        await desk.answer(second[2])
        await desk.answer(second[4], text="I cannot say.")
        assert tasks[1].result().verdict == "accept"
        last = tasks[3].result()
        assert (last.verdict, last.useless) == ("discard", True)
        assert len(desk.asked) == 4

    asyncio.run(main())


@pytest.mark.parametrize("failure", [Transient("down"), None], ids=["fails", "is cancelled"])
def test_where_the_leader_is_lost_each_of_the_others_asks_for_itself(
    failure: LLMError | None,
) -> None:
    async def main() -> None:
        desk = Desk()
        tasks = await three_behind_one(desk)
        if failure is None:
            tasks[1].cancel()
        else:
            desk.open[1].set_exception(failure)
        await desk.settle()
        assert sorted(asked[:2] for asked in desk.asked[2:]) == [(3, ""), (4, "")]
        await desk.answer(2)
        await desk.answer(3)
        assert [task.result().verdict for task in tasks[2:]] == ["accept", "accept"]
        with pytest.raises((Transient, asyncio.CancelledError)):
            await tasks[1]

    asyncio.run(main())


def test_a_refused_batch_is_asked_about_one_by_one() -> None:
    async def main() -> None:
        desk = Desk()
        tasks = await three_behind_one(desk)
        desk.open[1].set_exception(Refused("no"))
        await desk.settle()
        assert sorted(asked[:2] for asked in desk.asked[2:]) == [(t, "alone") for t in (2, 3, 4)]
        for call in (2, 3, 4):
            await desk.answer(call)
        assert all(task.result().verdict == "accept" for task in tasks)

    asyncio.run(main())


def test_who_is_cancelled_while_waiting_is_not_missed_by_the_others() -> None:
    async def main() -> None:
        desk = Desk()
        tasks = [desk.begin(ticket) for ticket in (1, 2, 3)]
        await desk.settle()
        desk.open[0].set_result(json.dumps(ACCEPT))
        await asyncio.sleep(0)
        assert tasks[0].done()
        assert len(desk.asked) == 1
        tasks[1].cancel()  # It has been told to lead, and has not begun.
        await desk.settle()
        assert desk.asked[1][:2] == (3, "")
        await desk.answer(1)
        assert tasks[2].result().verdict == "accept"

    asyncio.run(main())


def test_whoever_was_here_when_a_process_died_is_asked_about_alone() -> None:
    async def main() -> None:
        desk = Desk(alone=(1, 2))
        tasks = [desk.begin(ticket) for ticket in (1, 2)]
        await desk.settle()
        assert [asked[:2] for asked in desk.asked] == [(1, ""), (2, "")]
        for call in (0, 1):
            await desk.answer(call)
        assert all(task.done() for task in tasks)

    asyncio.run(main())


def test_full_batches_do_not_make_the_items_of_a_run_wait_for_one_another() -> None:
    def answer(request: Request, rng: Random) -> str | LLMError:
        asked = request.messages[-1].text
        about_stale = "Choose one verdict" in asked or "Stale text" in asked
        return echo(request, rng) if about_stale else f"```\nnew {rng.randrange(10**9)}\n```"

    def mean_repair_s(repair_batch: int) -> float:
        bench = Bench(
            lambda setup: GEPA(merge=False).workflow(setup),
            policy="reflective",
            repair_batch=repair_batch,
            answer=answer,
            latency_s=lambda rng: 5.0 * rng.lognormvariate(0, 0.5),
            in_flight=48,
            workers=48,
            queue=96,
            concurrency=96,
            n_val=4,
            max_output_tokens=1000,
            deadline_s=150.0,
            grace_s=60.0,
        )
        bench.run()
        took_s: dict[int, float] = {}
        for record in bench.store.records:
            e = record.event
            if isinstance(e, ev.StageTaken) and e.stage == "repair":
                took_s[e.ticket] = -record.t_s
            elif isinstance(e, ev.StageEnded) and e.stage == "repair":
                took_s[e.ticket] += record.t_s
        assert len(took_s) > 20
        return fmean(took_s.values())

    assert mean_repair_s(2) < 1.5 * mean_repair_s(1)


# -- in a run ----------------------------------------------------------------------------------


def some_missing(request: Request, rng: Random) -> str | LLMError:
    """Leaves a verdict out of most batches."""
    reply = echo(request, rng)
    if isinstance(reply, str) and '"verdicts"' in reply:
        verdicts = json.loads(reply)["verdicts"]
        kept = {n: v for n, v in verdicts.items() if rng.random() < 0.7}
        return json.dumps({"verdicts": kept})
    return reply


def new_bench(**changes: Any) -> Bench:
    crowd: dict[str, Any] = {"in_flight": 24, "workers": 24, "concurrency": 24, "n_val": 5}
    options = {"policy": "reflective", "repair_batch": 3, "answer": some_missing, **changes}
    return Bench(partial(Reduction, n=40), **{**crowd, **options})


def check(bench: Bench, n_records: int = 0) -> None:
    book = Audit(bench, ["reduce", "check"], "check")
    book.writes = False
    check_everything(bench, book, n_records)
    book.finished(resumable=False)
    repaired = [e.ticket for e in bench.store.events(ev.ItemRepaired)]
    assert len(repaired) == len(set(repaired))


def calls_of_repair(bench: Bench) -> list[ev.CallReserved]:
    return [e for e in bench.store.events(ev.CallReserved) if e.stage == "repair"]


def test_a_run_gives_each_item_the_verdict_under_its_own_number() -> None:
    bench = new_bench()
    bench.run()
    check(bench)
    settled = {e.call: e for e in bench.store.events(ev.CallSettled)}
    repaired = {e.ticket: e for e in bench.store.events(ev.ItemRepaired)}
    batches = [call for call in calls_of_repair(bench) if call.name == "batch"]
    n_shared = 0
    for call in batches:
        reply = settled[call.call].reply
        assert reply is not None
        for number, said in json.loads(reply["text"])["verdicts"].items():
            assert repaired[int(number)].verdict == said["verdict"]
            n_shared += 1
    assert n_shared > len(batches) > 0


def test_batches_save_calls_and_the_same_seed_gives_the_same_log() -> None:
    first, second = new_bench(answer=echo), new_bench(answer=echo)
    first.run()
    second.run()
    assert first.store.records == second.store.records
    assert len(calls_of_repair(first)) < len(first.store.events(ev.ItemRepaired))


def test_without_batches_each_item_has_a_call_of_its_own() -> None:
    one = new_bench(repair_batch=1)
    one.run()
    assert {call.name for call in calls_of_repair(one)} == {""}


def test_a_run_killed_inside_a_batch_loses_nothing_and_judges_nobody_twice() -> None:
    whole = new_bench()
    whole.run()
    batches = {e.call for e in calls_of_repair(whole) if e.name == "batch"}
    places = [
        i
        for i, record in enumerate(whole.store.records, 1)
        if isinstance(e := record.event, ev.CallReserved | ev.CallSettled) and e.call in batches
    ]
    for n_records in (b for b in whole.store.boundaries if any(p <= b <= p + 3 for p in places)):
        bench = new_bench()
        bench.store = cut(whole, n_records)
        inside = {t for t, f in bench.folded().in_flight.items() if f.stage == "repair"}
        bench.run()
        check(bench, n_records)
        later = [r.event for r in bench.store.records[n_records:]]
        shown = [
            int(n)
            for e in later
            if isinstance(e, ev.CallReserved) and e.name == "batch"
            for n in NUMBERS.findall(str(e.request["messages"][0]["content"]).replace("\\n", "\n"))
        ]
        assert inside.isdisjoint(shown)


@pytest.mark.parametrize("tokens", [3000, 6000])
def test_the_budget_holds_with_batches(tokens: int) -> None:
    bench = new_bench(budget={"tokens": tokens}, seed=SEED)
    bench.run()
    check(bench)


def troubled(request: Request, rng: Random) -> str | LLMError:
    """Fails one call for repair in four, in one way or another, and forgets verdicts."""
    if "Stale text" in request.messages[0].text and rng.random() < 0.25:
        return rng.choice([Transient("down"), Refused("no"), Truncated("long"), Empty("none")])
    return some_missing(request, rng)


@st.composite
def crowds(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "answer": troubled,
        "repair_batch": draw(st.integers(2, 6)),
        "run_seed": draw(st.integers(0, 99)),
        "workers": draw(st.sampled_from([3, 24])),
        "when": draw(st.sampled_from(["stale", "always"])),
        "history": draw(st.sampled_from(["full", "none", "shuffled"])),
        "budget": draw(st.sampled_from([{}, {}, {"tokens": 9000}, {"metric_calls": 60}])),
        "deadline_s": draw(st.sampled_from([None, None, 8.0])),
    }


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(crowds(), st.lists(st.floats(0, 1), min_size=1, max_size=2))
def test_nothing_is_lost_or_judged_twice_whatever_the_trouble_and_the_kills(
    options: dict[str, Any], places: list[float]
) -> None:
    bench = new_bench(**options)
    bench.run()
    check(bench)
    for at in places:
        n_records = bench.store.boundaries[int(at * (len(bench.store.boundaries) - 1))]
        again = new_bench(**options)
        again.store = cut(bench, n_records)
        again.run()
        check(again, n_records)
        bench = again
