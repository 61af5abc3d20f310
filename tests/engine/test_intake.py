import asyncio

from hypothesis import given
from hypothesis import strategies as st

from flashevolve.engine.intake import REMEMBERED, Intake
from flashevolve.llm.limiter import Limiter
from flashevolve.policies.control import SIDE_ROUNDS
from tests.fakes.time_travel import run


def nobody() -> None:
    raise AssertionError("woken for nothing")


def woken() -> None:
    """Somebody may be, here."""


def visited(intake: Intake, stage: str, asked: dict[Limiter, int], ticket: int = 1000) -> None:
    """One visit of a stage that has so many calls under way at once."""
    visit = (ticket, stage, 1)
    intake.promise(visit)
    for limiter, n in asked.items():
        for _ in range(n):
            intake.asked(visit, limiter)
        for _ in range(n):
            intake.answered(visit, limiter)
    intake.left(visit)


def test_without_limiters_there_is_always_room() -> None:
    intake = Intake(())
    intake.promise((1, "s", 1))
    assert intake.has_room(nobody)
    assert not intake.full()


def test_a_stage_of_which_nothing_is_known_promises_one_request_to_each_account() -> None:
    intake = Intake([Limiter("a", 2), Limiter("b", 3)])
    intake.promise((1, "s", 1))
    assert intake.has_room(nobody)
    intake.promise((2, "s", 1))
    assert not intake.has_room(nobody)


def test_what_is_promised_counts_until_it_asks_or_leaves() -> None:
    limiter = Limiter("a", 4)
    intake = Intake([limiter])
    visited(intake, "s", {limiter: 3})
    woken: list[str] = []
    intake.promise((1, "s", 1))
    assert intake.has_room(nobody)
    intake.promise((2, "s", 1))
    assert not intake.has_room(lambda: woken.append("room"))
    intake.left((2, "s", 1))
    assert woken == ["room"]
    intake.promise((3, "s", 1))
    intake.asked((1, "s", 1), limiter)
    assert intake.has_room(nobody)


def test_a_stage_that_asked_nothing_promises_nothing() -> None:
    intake = Intake([Limiter("a", 1)])
    visited(intake, "own client", {})
    for ticket in range(100):
        intake.promise((ticket, "own client", 1))
    assert intake.has_room(nobody)


def test_a_stage_that_asks_again_is_believed_again_and_forgotten_in_time() -> None:
    limiter = Limiter("a", 8)
    intake = Intake([limiter])
    visited(intake, "s", {})
    visited(intake, "s", {limiter: 8})
    intake.promise((1, "s", 1))
    assert not intake.has_room(woken)
    intake.left((1, "s", 1))
    for _ in range(REMEMBERED):
        visited(intake, "s", {})
    intake.promise((2, "s", 1))
    assert intake.has_room(nobody)


def test_a_sweep_promises_no_more_than_the_limit_at_once() -> None:
    main, side = Limiter("main", 999, start=999), Limiter("side", 4)
    intake = Intake([main, side], "enter")
    visited(intake, "enter", {main: 301})
    visited(intake, "sweep", {side: 300})
    for ticket in range(SIDE_ROUNDS):
        intake.promise((ticket, "sweep", 1))
        assert intake.has_room(nobody)
    intake.promise((SIDE_ROUNDS, "sweep", 1))
    assert not intake.has_room(nobody)


def test_calls_one_after_another_promise_one() -> None:
    limiter = Limiter("a", 2)
    intake = Intake([limiter])
    intake.promise((1, "s", 1))
    for _ in range(9):
        intake.asked((1, "s", 1), limiter)
        intake.answered((1, "s", 1), limiter)
    intake.left((1, "s", 1))
    intake.promise((2, "s", 1))
    assert intake.has_room(nobody)


def test_a_call_that_ends_after_its_visit_teaches_nothing() -> None:
    limiter = Limiter("a", 2)
    intake = Intake([limiter])
    intake.promise((1, "s", 1))
    intake.asked((1, "s", 1), limiter)
    intake.left((1, "s", 1))
    intake.promise((1, "s", 2))
    intake.answered((1, "s", 1), limiter)
    intake.asked((1, "s", 2), limiter)
    intake.left((1, "s", 2))
    intake.promise((2, "s", 1))
    assert intake.has_room(nobody)


def test_whoever_was_turned_away_is_woken_once_when_a_slot_is_free() -> None:
    async def scenario() -> None:
        limiter = Limiter("a", 2)
        intake = Intake([limiter])
        woken: list[str] = []
        await limiter.acquire()
        await limiter.acquire()
        waiter = asyncio.ensure_future(limiter.acquire())
        await asyncio.sleep(0)
        assert intake.full() == {"a"}
        assert not intake.has_room(lambda: woken.append("room"))
        limiter.release()
        assert not woken, "the slot is the waiter's"
        await waiter
        assert not intake.full()
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


def test_a_call_that_sleeps_between_two_attempts_leaves_no_room() -> None:
    async def scenario() -> None:
        limiter = Limiter("a", 1)
        intake = Intake([limiter])
        woken: list[str] = []
        limiter.opened()
        await limiter.acquire()
        limiter.release()
        assert not intake.has_room(lambda: woken.append("room"))
        limiter.closed()
        assert woken == ["room"]

    run(scenario())


def test_while_nothing_is_known_each_account_must_have_room() -> None:
    async def scenario() -> None:
        full, idle = Limiter("a", 1), Limiter("b", 1)
        intake = Intake([full, idle], "s")
        await full.acquire()
        assert not intake.has_room(nobody)

    run(scenario())


def test_an_account_to_which_few_calls_go_may_have_a_queue_but_not_an_endless_one() -> None:
    main, side = Limiter("main", 8), Limiter("side", 2)
    intake = Intake([main, side], "enter")
    visited(intake, "enter", {main: 3})
    visited(intake, "repair", {side: 1})
    n = 0
    while intake.has_room(nobody):
        side.opened()
        n += 1
        assert n <= 100
    assert n == 2 * (1 + SIDE_ROUNDS)
    assert intake.asked_by("enter") == {"main"}
    assert intake.asked_by("repair") == {"side"}
    assert intake.asked_by("unknown") == {"main", "side"}


def test_an_account_that_gets_most_calls_is_full_without_a_queue() -> None:
    entry, bulk = Limiter("entry", 8), Limiter("bulk", 2)
    intake = Intake([entry, bulk], "enter")
    visited(intake, "enter", {entry: 1})
    visited(intake, "sweep", {bulk: 50})
    bulk.opened()
    assert intake.has_room(nobody)
    bulk.opened()
    assert not intake.has_room(nobody)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=30))
def test_when_everything_has_left_there_is_room_whatever_was_asked(
    visits: list[tuple[int, int]],
) -> None:
    limiters = [Limiter("a", 2), Limiter("b", 1)]
    intake = Intake(limiters, "s0")
    for ticket, (stage, n) in enumerate(visits):
        visited(intake, f"s{stage}", {limiters[stage % 2]: n}, ticket)
        assert intake.has_room(nobody)
