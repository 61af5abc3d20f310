import asyncio
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from random import Random
from typing import Any

import pytest

from flashevolve import events as ev
from flashevolve.engine.funds import BudgetExhausted, Funds
from flashevolve.engine.log import EventLog
from flashevolve.engine.state import RunState
from flashevolve.errors import ConfigError
from flashevolve.llm.calls import CallService, Endpoint, Journal, Origin, journal_of
from flashevolve.llm.errors import (
    CutShort,
    Empty,
    Fatal,
    LLMError,
    RateLimited,
    Refused,
    Transient,
    Truncated,
)
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.messages import Reply, Request, ToolCall, user
from flashevolve.llm.model import Relay
from flashevolve.llm.prices import Price
from flashevolve.llm.retry import RetryPolicy
from flashevolve.policies.budget import Resource
from flashevolve.pools.head import HeadPool
from tests.fakes.model import ScriptedModel
from tests.fakes.time_travel import run
from tests.fakes.writer import MemoryStore

PRICE = Price(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)
Script = Callable[[Request, Random], str | LLMError]


def echo(request: Request, rng: Random) -> str | LLMError:
    return f"re {request.messages[-1].text}"


def scripted(*answers: str | LLMError) -> Script:
    left = iter(answers)
    return lambda request, rng: next(left)


class Rig:
    """A call service over scripted models, with its log and ledger."""

    def __init__(
        self,
        script: Script = echo,
        *,
        limits: Mapping[Resource, float] | None = None,
        concurrency: int = 4,
        attempts: int = 3,
        weights: Sequence[float] = (1.0,),
        max_output_tokens: int = 100,
    ) -> None:
        self.store = MemoryStore()
        self.state = RunState(HeadPool(), dict(limits or {}), lambda payload: payload)
        self.log = EventLog(self.store, self.state, lambda: 0.0, lambda payload: payload)
        self.funds = Funds(self.state.ledger)
        self.models = [ScriptedModel(script) for _ in weights]
        self.limiter = Limiter("fake", concurrency, concurrency)
        endpoints = [
            Endpoint(
                label=f"model-{i}",
                model=model,
                limiter=self.limiter,
                price=PRICE,
                parameters={"max_output_tokens": max_output_tokens},
                weight=weight,
            )
            for i, (model, weight) in enumerate(zip(self.models, weights, strict=True))
        ]
        retry = RetryPolicy(max_attempts=attempts)
        self.calls = CallService({"task": endpoints}, self.log, self.funds, retry, 5)

    def origin(
        self, ticket: int = 1, priority: int = 0, journal: Journal | None = None, visit: int = 1
    ) -> Origin:
        return Origin(
            ticket=ticket,
            stage="s",
            visit=visit,
            map_key="",
            priority=(priority, ticket),
            sample=(ticket, "s"),
            journal={} if journal is None else journal,
        )

    def ask(
        self, text: str, origin: Origin | None = None, **parameters: Any
    ) -> Coroutine[Any, Any, Reply]:
        return self.calls.chat(origin or self.origin(), "task", [user(text)], **parameters)

    @property
    def reserved(self) -> list[ev.CallReserved]:
        return self.store.events(ev.CallReserved)

    @property
    def settled(self) -> list[ev.CallSettled]:
        return self.store.events(ev.CallSettled)

    def journal(self) -> Journal:
        return journal_of(self.store.journal_calls(1))


def test_a_call_is_reserved_at_its_worst_case_and_settled_at_what_it_used() -> None:
    rig = Rig()
    assert run(rig.ask("hello")).text == "re hello"
    (reserved,), (settled,) = rig.reserved, rig.settled
    n_in = len("hello") + 2 * 16
    assert reserved.tokens == n_in + 100
    assert reserved.usd == pytest.approx((n_in + 2 * 100) / 1e6)
    assert (settled.usage.tokens_in, settled.usage.tokens_out) == (10, len("re hello"))
    assert rig.state.ledger.spent["tokens"] == 10 + len("re hello")
    assert rig.state.ledger.reserved["tokens"] == 0
    assert settled.latency_s == 1.0


def test_unknown_usage_settles_at_the_whole_reservation() -> None:
    rig = Rig()

    class Silent(ScriptedModel):
        async def complete(self, request: Request) -> Reply:
            return Reply(text="hi")

    object.__setattr__(rig.calls._endpoints["task"][0], "model", Silent(echo))
    run(rig.ask("hello"))
    assert not rig.settled[0].usage_known
    assert rig.state.ledger.spent["tokens"] == rig.reserved[0].tokens


def test_an_endpoint_that_counts_more_than_was_reserved_is_booked_and_named() -> None:
    rig = Rig(limits={"tokens": 1000}, max_output_tokens=5)
    run(rig.ask("hello"))
    assert rig.settled[0].error == ("model-0 counted 10 + 8 tokens, more than the 37 + 5 reserved")
    assert rig.settled[0].status == "ok"
    assert rig.state.ledger.spent["tokens"] == 18


def test_what_the_configured_extra_body_may_add_is_reserved() -> None:
    rig = Rig()
    object.__setattr__(rig.calls._endpoints["task"][0], "extra_input_tokens", 1000)
    run(rig.ask("hello"))
    assert rig.reserved[0].tokens == 1000 + 5 + 2 * 16 + 100


def test_a_resume_that_allows_longer_answers_finds_what_was_answered_before() -> None:
    rig = Rig()
    run(rig.ask("hello"))
    longer = Rig(max_output_tokens=500)
    assert run(longer.ask("hello", longer.origin(journal=rig.journal()))).text == "re hello"
    assert longer.reserved == []


def test_an_answer_of_another_run_is_taken_only_if_it_could_be_as_long() -> None:
    rig, longer = Rig(), Rig(max_output_tokens=500)
    for each in (rig, longer):
        run(each.ask("hello"))
    assert rig.reserved[0].content != longer.reserved[0].content
    assert rig.reserved[0].request_hash == longer.reserved[0].request_hash


def test_a_misspelt_role_is_not_answered_by_the_default_model() -> None:
    rig = Rig()
    endpoints = {"task": rig.calls._endpoints["task"], "": rig.calls._endpoints["task"]}

    def ask(role: str, endpoints: Mapping[str, Sequence[Endpoint]]) -> str:
        calls = CallService(endpoints, rig.log, rig.funds, RetryPolicy(), 5, roles=["planner"])
        return run(calls.chat(rig.origin(), role, [user("x")])).text

    for role, right in {"tsk": "task", "reflct": "reflect", "planer": "planner"}.items():
        expected = f"no model for role '{role}'. Did you mean '{right}'?"
        with pytest.raises(ConfigError, match=re.escape(expected)):
            ask(role, endpoints)
    for role in ("task", "reflect", "planner", "extract", "critic"):
        assert ask(role, endpoints) == "re x"
    assert ask("tsk", {"": endpoints[""]}) == "re x"


def test_every_attempt_is_reserved_and_settled_on_its_own() -> None:
    rig = Rig(scripted(RateLimited("429"), Transient("lost", billed_unknown=True), "fine"))
    assert run(rig.ask("hello")).text == "fine"
    assert [e.attempt for e in rig.reserved] == [1, 2, 3]
    assert [e.status for e in rig.settled] == ["rate_limited", "transient", "ok"]
    assert [e.usage.tokens for e in rig.settled] == [0, rig.reserved[1].tokens, 14]
    assert len({(e.request_hash, e.occurrence) for e in rig.reserved}) == 1


def test_the_last_error_is_raised_unchanged_after_the_last_attempt() -> None:
    rig = Rig(scripted(Transient("one"), Transient("two")), attempts=2)
    with pytest.raises(Transient, match="two"):
        run(rig.ask("hello"))
    assert rig.limiter.in_use == 0


def test_no_slot_is_held_between_attempts() -> None:
    rig = Rig(scripted(Transient("one"), "second", "first"), concurrency=1)

    async def main() -> tuple[str, str]:
        first = asyncio.create_task(rig.ask("a", rig.origin(1)))
        await asyncio.sleep(0.5)
        second = asyncio.create_task(rig.ask("b", rig.origin(2)))
        return (await first).text, (await second).text

    assert run(main()) == ("first", "second")


def test_a_cancelled_call_is_settled_as_orphaned_and_gives_its_slot_back() -> None:
    rig = Rig()

    async def main() -> None:
        task = asyncio.create_task(rig.ask("hello"))
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.wait([task])

    run(main())
    assert [e.status for e in rig.settled] == ["orphaned"]
    assert rig.state.ledger.spent["tokens"] == rig.reserved[0].tokens
    assert rig.limiter.in_use == 0


def test_a_call_cancelled_while_it_waits_for_a_slot_leaves_no_trace() -> None:
    rig = Rig(concurrency=1)

    async def main() -> None:
        first = asyncio.create_task(rig.ask("a", rig.origin(1)))
        second = asyncio.create_task(rig.ask("b", rig.origin(2)))
        third = asyncio.create_task(rig.ask("c", rig.origin(3)))
        # The second is cancelled in the very turn in which the first gives its slot back.
        asyncio.get_running_loop().call_later(1.0, second.cancel)
        await asyncio.wait([first, second, third])
        assert second.cancelled()
        assert third.result().text == "re c"

    run(main())
    assert [e.ticket for e in rig.reserved if e.ticket != 2] == [1, 3]
    assert rig.limiter.in_use == 0


@pytest.mark.parametrize("error", [Refused("filter"), Truncated("cut"), Empty("nothing")])
def test_a_final_error_is_replayed_from_the_journal_with_its_reply(error: LLMError) -> None:
    error.reply = Reply(text="half", tokens_in=3, tokens_out=4)
    rig = Rig(scripted(error))
    for _ in range(2):
        with pytest.raises(type(error), match=str(error)) as caught:
            run(rig.ask("hello", rig.origin(journal=rig.journal())))
        assert caught.value.reply is not None
        assert caught.value.reply.text == "half"
    assert rig.models[0].n_requests == 1
    assert rig.state.ledger.spent["tokens"] == 7


def test_an_answer_is_replayed_whole_and_without_asking() -> None:
    rig = Rig()
    whole = Reply(
        text="done",
        reasoning="because",
        tool_calls=(ToolCall(id="1", name="search", arguments="{}"),),
        finish="tool_calls",
        tokens_in=3,
        tokens_out=4,
        model="fake-1",
    )

    class Whole(ScriptedModel):
        async def complete(self, request: Request) -> Reply:
            return whole

    object.__setattr__(rig.calls._endpoints["task"][0], "model", Whole(echo))
    assert run(rig.ask("hello")) == whole
    assert run(rig.ask("hello", rig.origin(journal=rig.journal()))) == whole
    assert len(rig.reserved) == 1


@pytest.mark.parametrize("status", [RateLimited("429", retry_after_s=1e4), Transient("lost")])
def test_what_was_not_answered_is_asked_again_after_a_resume(status: LLMError) -> None:
    rig = Rig(scripted(status, "fine"), attempts=1)
    with pytest.raises(type(status)):
        run(rig.ask("hello"))
    assert run(rig.ask("hello", rig.origin(journal=rig.journal()))).text == "fine"


def test_the_same_question_asked_twice_in_a_visit_is_two_calls_in_the_journal() -> None:
    rig = Rig(scripted("first", "second"))

    async def both(origin: Origin) -> list[str]:
        return [(await rig.ask("same", origin)).text for _ in range(2)]

    assert run(both(rig.origin())) == ["first", "second"]
    assert run(both(rig.origin(journal=rig.journal()))) == ["first", "second"]
    assert [e.occurrence for e in rig.reserved] == [0, 1]


def test_equal_samples_get_equal_seeds_and_others_do_not() -> None:
    rig = Rig()

    async def main() -> None:
        for origin in (rig.origin(1), rig.origin(1), rig.origin(2)):
            await rig.ask("same", origin)
        origin = rig.origin(1)
        await rig.ask("same", origin)
        await rig.ask("same", origin)
        await rig.ask("same", rig.origin(1), name="other")

    run(main())
    a, b, other_ticket, first, second, named = [seed for _, seed in rig.models[0].seen]
    assert a == b == first
    assert len({a, other_ticket, second, named}) == 4


def test_weighted_models_are_drawn_by_weight_and_alike_on_replay() -> None:
    rig = Rig(weights=(3.0, 1.0), concurrency=400)

    async def main() -> None:
        await asyncio.gather(*(rig.ask("x", rig.origin(ticket)) for ticket in range(1, 401)))

    run(main())
    share = Counter(e.model for e in rig.reserved)["model-0"] / 400
    assert 0.68 < share < 0.82
    again = Rig(weights=(3.0, 1.0), concurrency=400)

    async def backwards() -> None:
        await asyncio.gather(*(again.ask("x", again.origin(t)) for t in range(400, 0, -1)))

    run(backwards())
    assert {e.ticket: e.model for e in rig.reserved} == {e.ticket: e.model for e in again.reserved}


def test_an_unknown_role_is_told_the_nearest_and_what_to_set() -> None:
    expected = (
        r"no model for role 'tsk'; known roles: task\. Did you mean 'task'\?.*\[models\.tsk\]"
    )
    rig = Rig()
    with pytest.raises(ConfigError, match=expected):
        run(rig.calls.chat(rig.origin(), "tsk", [user("hi")]))


def test_a_request_waits_for_money_and_is_sent_when_a_settlement_makes_room() -> None:
    worst = len("a") + 32 + 100
    rig = Rig(limits={"tokens": worst + 50})

    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        sent: list[float] = []

        async def one(ticket: int) -> None:
            await rig.ask("a", rig.origin(ticket))
            sent.append(loop.time())

        await asyncio.gather(one(1), one(2), one(3))
        return sent

    assert run(main()) == [1.0, 2.0, 3.0]
    assert [e.wait_s for e in rig.settled] == [0.0, 1.0, 2.0]
    assert rig.state.ledger.spent["tokens"] == 3 * 14


def test_a_request_that_waits_for_money_holds_no_slot() -> None:
    worst = len("a") + 32 + 100
    rig = Rig(limits={"tokens": worst + 50}, concurrency=2)

    async def main() -> None:
        tasks = [asyncio.create_task(rig.ask("a", rig.origin(t))) for t in (1, 2)]
        await asyncio.sleep(0.5)
        assert rig.limiter.in_use == 1
        await asyncio.gather(*tasks)

    run(main())


def test_a_request_that_can_never_be_paid_raises_and_gives_its_slot_back() -> None:
    rig = Rig(limits={"usd": 0.0001})
    with pytest.raises(BudgetExhausted, match="usd"):
        run(rig.ask("hello"))
    assert not rig.reserved
    assert rig.limiter.in_use == 0


def test_later_stages_are_served_first_whenever_they_asked() -> None:
    rig = Rig(concurrency=1)

    async def main() -> None:
        await asyncio.gather(
            *(rig.ask(str(t), rig.origin(t, priority)) for t, priority in
              [(1, 0), (2, 0), (3, -2), (4, -1), (5, -2)])
        )  # fmt: skip

    run(main())
    assert [e.ticket for e in rig.reserved] == [1, 3, 5, 4, 2]


def test_a_request_is_sent_only_after_its_reservation_is_durable() -> None:
    rig = Rig()
    order: list[str] = []

    class Slow(MemoryStore):
        async def durable(self) -> None:
            order.append(f"durable after {len(self.records)}")
            await asyncio.sleep(1.0)

    class Noting(ScriptedModel):
        async def complete(self, request: Request) -> Reply:
            order.append("sent")
            return await super().complete(request)

    rig.log._writer = Slow()
    object.__setattr__(rig.calls._endpoints["task"][0], "model", Noting(echo))
    run(rig.ask("hello"))
    assert order == ["durable after 1", "sent"]


def test_a_fatal_error_is_raised_at_once_and_costs_nothing() -> None:
    rig = Rig(scripted(Fatal("401")))
    with pytest.raises(Fatal, match="401"):
        run(rig.ask("hello"))
    assert [e.status for e in rig.settled] == ["fatal"]
    assert rig.state.ledger.spent["tokens"] == 0


def test_a_broken_model_is_settled_at_its_reservation_and_its_exception_passes() -> None:
    rig = Rig()

    class Broken(ScriptedModel):
        async def complete(self, request: Request) -> Reply:
            raise ZeroDivisionError("ours")

    object.__setattr__(rig.calls._endpoints["task"][0], "model", Broken(echo))
    with pytest.raises(ZeroDivisionError, match="ours"):
        run(rig.ask("hello"))
    assert rig.state.ledger.spent["tokens"] == rig.reserved[0].tokens
    assert rig.limiter.in_use == 0


class Streaming(ScriptedModel):
    """Relays the answer letter by letter, and fails with what it is told after `n_first`."""

    def __init__(self, script: Script, failure: BaseException | None = None, n_first: int = 9):
        super().__init__(script)
        self.failure, self.n_first = failure, n_first

    async def stream(self, request: Request, relay: Relay) -> Reply:
        reply = await self.complete(request)
        for letter in reply.text[: self.n_first]:
            relay({"choices": [{"index": 0, "delta": {"content": letter}}]})
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        return reply


def streaming(model: ScriptedModel) -> tuple[Rig, list[Mapping[str, Any]]]:
    rig = Rig()
    object.__setattr__(rig.calls._endpoints["task"][0], "model", model)
    return rig, []


def test_a_streamed_call_has_the_key_and_the_record_of_any_other() -> None:
    rig, chunks = streaming(Streaming(echo))
    assert run(rig.ask("hi", relay=chunks.append)).text == "re hi"
    assert [c["choices"][0]["delta"]["content"] for c in chunks] == list("re hi")
    plain = Rig()
    run(plain.ask("hi"))
    assert rig.reserved == plain.reserved
    assert rig.settled == plain.settled
    again = Rig()
    assert run(again.ask("hi", again.origin(journal=rig.journal()), relay=chunks.append)).text
    assert len(chunks) == len("re hi")
    assert again.reserved == []


def test_a_model_that_does_not_stream_relays_nothing() -> None:
    rig, chunks = Rig(), list[Mapping[str, Any]]()
    assert run(rig.ask("hi", relay=chunks.append)).text == "re hi"
    assert chunks == []


def test_a_stream_that_fails_before_its_first_chunk_is_tried_again() -> None:
    rig, chunks = streaming(Streaming(echo, Transient("lost", billed_unknown=True), n_first=0))
    assert run(rig.ask("hi", relay=chunks.append)).text == "re hi"
    assert [e.status for e in rig.settled] == ["transient", "ok"]


def test_a_stream_that_fails_later_is_settled_and_raised() -> None:
    lost = Transient("lost", billed_unknown=True)
    rig, chunks = streaming(Streaming(echo, lost, n_first=2))
    with pytest.raises(CutShort, match=r"^lost$") as caught:
        run(rig.ask("hi", relay=chunks.append))
    assert not caught.value.retryable
    assert len(chunks) == 2
    (settled,) = rig.settled
    assert (settled.status, settled.usage_known) == ("transient", False)
    assert rig.state.ledger.spent["tokens"] == rig.reserved[0].tokens
    assert rig.limiter.demand == 0
    assert rig.journal() == {}


def test_a_client_that_leaves_a_stream_has_it_settled() -> None:
    rig, _ = streaming(Streaming(echo))

    def gone(chunk: Mapping[str, Any]) -> None:
        raise ConnectionResetError("left")

    with pytest.raises(ConnectionResetError, match="left"):
        run(rig.ask("hi", relay=gone))
    assert [(e.status, e.usage_known) for e in rig.settled] == [("orphaned", False)]
    assert rig.limiter.demand == 0
