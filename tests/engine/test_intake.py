import asyncio

from flashevolve.engine.intake import Intake
from flashevolve.engine.item import Needs
from flashevolve.llm.limiter import Limiter
from tests.fakes.time_travel import run


def nobody() -> None:
    raise AssertionError("woken for nothing")


def test_without_limiters_there_is_always_room() -> None:
    intake = Intake(())
    intake.promise(1, Needs(metric_calls=1000))
    assert intake.has_room(nobody)
    assert not intake.full


def test_what_is_promised_counts_until_it_asks_or_leaves() -> None:
    async def scenario() -> None:
        intake = Intake([Limiter("a", 4)])
        woken: list[str] = []
        intake.promise(1, Needs(metric_calls=3))
        assert intake.has_room(nobody)
        intake.promise(2, Needs())
        assert not intake.has_room(lambda: woken.append("room"))
        intake.left(2)
        assert woken == ["room"]
        intake.promise(3, Needs(proposals=1))
        intake.asked(1)
        assert intake.has_room(nobody)

    run(scenario())


def test_a_sweep_promises_no_more_than_the_limit_at_once() -> None:
    async def scenario() -> None:
        small, large = Limiter("a", 4), Limiter("b", 16)
        intake = Intake([large])
        intake.promise(1, Needs(metric_calls=300))
        assert not intake.has_room(nobody)
        intake.asked(1)
        assert intake.has_room(nobody)
        assert Intake([small]).has_room(nobody)

    run(scenario())


def test_whoever_was_turned_away_is_woken_once_when_a_slot_is_free() -> None:
    async def scenario() -> None:
        limiter = Limiter("a", 2)
        intake = Intake([limiter])
        woken: list[str] = []
        await limiter.acquire()
        await limiter.acquire()
        waiter = asyncio.ensure_future(limiter.acquire())
        await asyncio.sleep(0)
        assert intake.full
        assert not intake.has_room(lambda: woken.append("room"))
        limiter.release()
        assert not woken, "the slot is the waiter's"
        await waiter
        assert not intake.full
        limiter.release()
        limiter.release()
        assert woken == ["room"]

    run(scenario())


def test_a_cancelled_waiter_makes_room() -> None:
    async def scenario() -> None:
        limiter = Limiter("a", 2)
        intake = Intake([limiter])
        woken: list[str] = []
        await limiter.acquire()
        await limiter.acquire()
        waiter = asyncio.ensure_future(limiter.acquire())
        await asyncio.sleep(0)
        limiter.throttled(1000.0)
        limiter.release()
        assert not intake.has_room(lambda: woken.append("room"))
        limiter.release()
        assert not woken
        waiter.cancel()
        await asyncio.wait([waiter])
        assert woken == ["room"]

    run(scenario())


def test_room_on_one_account_does_not_make_up_for_a_queue_on_another() -> None:
    async def scenario() -> None:
        full, idle = Limiter("a", 1), Limiter("b", 1)
        intake = Intake([full, idle])
        await full.acquire()
        assert not intake.has_room(nobody)

    run(scenario())
