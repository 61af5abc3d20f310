import asyncio
import re
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashevolve.llm.limiter import (
    COOLDOWN_S,
    FIRST_PAUSE_S,
    JUDGED_FROM,
    MAX_HOLD_S,
    PROBE_ROUNDS,
    AdaptiveLimit,
    Change,
    Limiter,
)
from flashevolve.simulate.batching import ServingSettings
from flashevolve.simulate.loop import run_virtual
from flashevolve.simulate.serving import Job, server_of
from flashevolve.simulate.world import load_world
from tests.fakes.patience import patient
from tests.fakes.time_travel import run


def clean_round(decider: AdaptiveLimit, at_s: float, in_use: int | None = None) -> Change | None:
    """Feeds as many successes as the limit; returns the last decision."""
    change = None
    for _ in range(decider.limit):
        change = decider.succeeded(at_s, decider.limit if in_use is None else in_use)
    return change


def test_it_doubles_each_clean_round_up_to_the_ceiling() -> None:
    decider = AdaptiveLimit(ceiling=60)
    seen = [decider.limit]
    while change := clean_round(decider, 0.0):
        seen.append(change.limit)
    assert seen == [16, 32, 60]


def test_a_low_ceiling_bounds_the_start() -> None:
    assert AdaptiveLimit(ceiling=4).limit == 4


def test_after_the_first_429_it_grows_by_five_percent() -> None:
    decider = AdaptiveLimit(ceiling=1000, start=100)
    assert decider.throttled(0.0) == Change(80, "429: cut to 80 %")
    assert clean_round(decider, COOLDOWN_S) == Change(84, "a clean round, +5 %")
    assert clean_round(decider, COOLDOWN_S) == Change(88, "a clean round, +5 %")


def test_one_episode_cuts_once_and_the_next_one_again() -> None:
    decider = AdaptiveLimit(ceiling=100, start=100)
    cuts = [decider.throttled(at_s) for at_s in (0.0, 0.1, 14.9, 15.0, 20.0)]
    assert [change.limit if change else None for change in cuts] == [80, None, None, 40, None]


def test_trouble_that_goes_on_halves_and_a_clean_round_makes_it_forgotten() -> None:
    decider = AdaptiveLimit(ceiling=100, start=100)
    decider.throttled(0.0)
    assert decider.throttled(COOLDOWN_S) == Change(40, "429, again: cut to half")
    clean_round(decider, 2 * COOLDOWN_S)
    assert decider.throttled(3 * COOLDOWN_S) == Change(33, "429: cut to 80 %")


def test_without_a_hint_the_pause_doubles_until_an_answer_comes() -> None:
    decider = AdaptiveLimit(ceiling=100, start=100)
    pauses_s, now_s = [], 0.0
    for _ in range(6):
        decider.throttled(now_s)
        decider.throttled(now_s)  # One of the same burst asks for nothing more.
        pauses_s.append(decider.held_until_s - now_s)
        now_s = decider.held_until_s
    assert pauses_s == [1.0, 2.0, 4.0, 8.0, COOLDOWN_S, COOLDOWN_S]
    decider.succeeded(now_s, 1)
    decider.throttled(now_s)
    assert decider.held_until_s == now_s + FIRST_PAUSE_S


def test_an_answer_to_what_was_sent_before_the_pause_does_not_shorten_the_next() -> None:
    decider = AdaptiveLimit(ceiling=100, start=100)
    decider.throttled(0.0)
    decider.succeeded(0.5, 50)
    decider.throttled(1.0)
    assert decider.held_until_s == 3.0


def test_a_long_retry_after_lengthens_the_episode_and_is_named_in_the_reason() -> None:
    decider = AdaptiveLimit(ceiling=100, start=100)
    change = decider.throttled(0.0, 40.0)
    assert change == Change(80, "429, Retry-After 40 s: cut to 80 %")
    assert decider.held_until_s == 40.0
    assert decider.throttled(39.9) is None
    assert decider.throttled(40.0) is not None


def test_short_retry_afters_do_not_put_off_the_next_cut_for_ever() -> None:
    decider = AdaptiveLimit(ceiling=100, start=100)
    cuts = [decider.throttled(float(at_s), 2.0) for at_s in range(61)]
    assert sum(change is not None for change in cuts) == 5


def test_successes_during_the_cooldown_do_not_count() -> None:
    decider = AdaptiveLimit(ceiling=100, start=10)
    decider.throttled(0.0)
    assert clean_round(decider, 14.9) is None
    assert decider.succeeded(15.0, 10) is None


def test_a_failure_starts_the_round_over_and_cuts_nothing() -> None:
    decider = AdaptiveLimit(ceiling=100, start=10)
    for _ in range(9):
        decider.succeeded(0.0, 10)
    decider.faltered()
    assert decider.succeeded(0.0, 10) is None
    assert decider.limit == 10


def test_a_429_starts_the_round_over() -> None:
    decider = AdaptiveLimit(ceiling=100, start=10)
    for _ in range(9):
        decider.succeeded(0.0, 10)
    decider.throttled(0.0)
    assert decider.succeeded(COOLDOWN_S, 10) is None
    assert decider.limit == 8


def test_it_grows_only_if_four_fifths_were_in_use() -> None:
    decider = AdaptiveLimit(ceiling=100, start=10)
    assert clean_round(decider, 0.0, in_use=7) is None
    assert clean_round(decider, 0.0, in_use=8) is not None


def test_a_day_long_retry_after_holds_for_minutes() -> None:
    decider = AdaptiveLimit(ceiling=10)
    decider.throttled(0.0, 86_400.0)
    assert decider.held_until_s == MAX_HOLD_S


def test_a_ceiling_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0, 16"):
        AdaptiveLimit(ceiling=0)


FACTS = st.lists(
    st.tuples(
        st.sampled_from(["succeeded", "succeeded", "succeeded", "throttled", "faltered"]),
        st.floats(0, 20),
        st.integers(1, 40),
        st.none() | st.floats(0, 60),
    ),
    max_size=120,
)


@patient
@given(st.integers(1, 64) | st.integers(65, 300), st.integers(1, 200), FACTS)
def test_whatever_happens_the_limit_stays_in_bounds_and_each_episode_cuts_once(
    ceiling: int, start: int, facts: list[tuple[str, float, int, float | None]]
) -> None:
    decider = AdaptiveLimit(ceiling=ceiling, start=start)
    now_s, episode_ends_s = 0.0, float("-inf")
    for fact, passed_s, n, retry_after_s in facts:
        now_s += passed_s
        before = decider.limit
        if fact == "succeeded":
            changes = [decider.succeeded(now_s, min(before, n)) for _ in range(n)]
            assert now_s >= episode_ends_s or not any(changes)
            assert decider.limit >= before or before >= JUDGED_FROM
        elif fact == "faltered":
            decider.faltered()
            assert decider.limit == before
        else:
            change = decider.throttled(now_s, retry_after_s)
            if now_s < episode_ends_s:
                assert change is None
            else:
                allowed = {max(1, int(before * 0.8)), max(1, int(before * 0.5))}
                assert decider.limit in allowed
                episode_ends_s = now_s
            if episode_ends_s == now_s or (retry_after_s or 0) > COOLDOWN_S:
                episode_ends_s = max(episode_ends_s, now_s + max(COOLDOWN_S, retry_after_s or 0))
        assert 1 <= decider.limit <= ceiling


def test_the_lowest_priority_is_served_first_and_equals_in_order() -> None:
    async def scenario() -> list[str]:
        limiter = Limiter("a", ceiling=1)
        await limiter.acquire()
        served: list[str] = []

        async def work(name: str, *priority: int) -> None:
            await limiter.acquire(priority)
            served.append(name)
            limiter.release()

        wishes = [("late", 2), ("first", 1, 5), ("second", 1, 5), ("urgent", 0), ("top", 1)]
        tasks = [asyncio.ensure_future(work(str(w[0]), *map(int, w[1:]))) for w in wishes]
        await asyncio.sleep(0)
        limiter.release()
        await asyncio.gather(*tasks)
        return served

    assert run(scenario()) == ["urgent", "top", "first", "second", "late"]


def test_a_slot_granted_to_a_waiter_cancelled_in_the_same_turn_is_passed_on() -> None:
    async def scenario() -> None:
        limiter = Limiter("a", ceiling=1)
        await limiter.acquire()
        doomed = asyncio.ensure_future(limiter.acquire())
        heir = asyncio.ensure_future(limiter.acquire())
        await asyncio.sleep(0)
        limiter.release()
        doomed.cancel()
        await asyncio.wait([doomed, heir])
        assert doomed.cancelled()
        assert (limiter.in_use, limiter.waiting, heir.done()) == (1, 0, True)

    run(scenario())


def test_nothing_new_is_sent_before_the_retry_after_is_over() -> None:
    async def scenario() -> None:
        changes: list[tuple[str, int, str]] = []
        limiter = Limiter("host", 10, on_change=lambda *c: changes.append(c))
        loop = asyncio.get_running_loop()
        await limiter.acquire()
        limiter.throttled(7.5)
        limiter.release()
        await limiter.acquire()
        assert loop.time() == pytest.approx(7.5)
        limiter.throttled(None)
        await limiter.acquire()
        assert loop.time() == pytest.approx(7.5 + FIRST_PAUSE_S)
        assert changes == [("host", 8, "429, Retry-After 7.5 s: cut to 80 %")]

    run(scenario())


def test_a_hold_that_is_extended_while_waiters_sleep_is_kept() -> None:
    async def scenario() -> None:
        limiter = Limiter("host", 10)
        loop = asyncio.get_running_loop()
        limiter.throttled(5.0)
        waiter = asyncio.ensure_future(limiter.acquire())
        loop.call_at(2.0, limiter.throttled, 10.0)
        await waiter
        assert loop.time() == pytest.approx(12.0)

    run(scenario())


def test_growth_lets_waiters_in_at_once() -> None:
    async def scenario() -> None:
        limiter = Limiter("a", ceiling=4, start=2)
        tasks = [asyncio.ensure_future(limiter.acquire()) for _ in range(4)]
        await asyncio.sleep(0)
        assert limiter.waiting == 2
        limiter.succeeded()
        limiter.succeeded()
        assert (limiter.limit, limiter.waiting, limiter.in_use) == (4, 0, 4)
        await asyncio.gather(*tasks)

    run(scenario())


def test_a_release_too_many_is_our_bug_and_is_raised() -> None:
    async def scenario() -> None:
        with pytest.raises(RuntimeError, match="release without acquire on host"):
            Limiter("host", 1).release()

    run(scenario())


OPS = st.lists(
    st.one_of(
        st.tuples(st.just("acquire"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["release", "cancel"]), st.integers(0, 30)),
        st.tuples(st.sampled_from(["succeeded", "faltered"]), st.just(0)),
        st.tuples(st.just("throttled"), st.integers(0, 20)),
        st.tuples(st.just("sleep"), st.integers(0, 20)),
        st.tuples(st.just("turn"), st.just(0)),
    ),
    max_size=60,
)


def timed_round(decider: AdaptiveLimit, at_s: float, rate: float) -> tuple[float, Change | None]:
    """Feeds a clean round of so many answers per second; returns its end and the decision."""
    change = None
    for _ in range(decider.limit):
        at_s += 1 / rate
        change = decider.succeeded(at_s, decider.limit)
    return at_s, change


def served(decider: AdaptiveLimit, at_s: float, full_at: int, n_rounds: int) -> list[Change]:
    """Returns what is decided beside a backend that answers no faster from a size on."""
    changes = []
    for _ in range(n_rounds):
        at_s, change = timed_round(decider, at_s, float(min(decider.limit, full_at)))
        changes += [change] if change else []
    return changes


def test_a_limit_that_brought_nothing_goes_back_and_tries_again_rarely() -> None:
    decider = AdaptiveLimit(ceiling=1024)
    changes = served(decider, 0.0, full_at=256, n_rounds=10)
    assert [change.limit for change in changes] == [32, 64, 128, 256, 512, 256]
    assert changes[-1].reason == "2 x the limit brought +0% answers/s: back"
    later = served(decider, 1e6, full_at=256, n_rounds=PROBE_ROUNDS + 2)
    assert [change.limit for change in later] == [512, 256]
    assert later[0].reason == f"a probe after {PROBE_ROUNDS} rounds: doubled"


def test_a_backend_that_got_larger_is_found_by_a_probe() -> None:
    decider = AdaptiveLimit(ceiling=1024)
    served(decider, 0.0, full_at=256, n_rounds=10)
    later = served(decider, 1e6, full_at=4096, n_rounds=PROBE_ROUNDS + 2)
    assert [change.limit for change in later] == [512, 1024]


def test_slow_growth_is_judged_once_it_has_made_the_limit_half_as_large_again() -> None:
    decider = AdaptiveLimit(ceiling=1000, start=100)
    decider.throttled(0.0)
    changes = served(decider, COOLDOWN_S, full_at=80, n_rounds=12)
    assert max(change.limit for change in changes) >= 120
    assert changes[-1].limit == 80
    assert re.match(r"1\.5\d? x the limit brought \+0% answers/s: back", changes[-1].reason)


def test_rounds_in_which_the_limit_was_hardly_in_use_say_nothing() -> None:
    decider = AdaptiveLimit(ceiling=1024, start=64)
    for at_s in range(10):
        assert clean_round(decider, float(at_s), in_use=50) is None


def test_a_429_makes_an_earlier_judgement_forgotten() -> None:
    decider = AdaptiveLimit(ceiling=1024)
    served(decider, 0.0, full_at=256, n_rounds=10)
    decider.throttled(1e6)
    changes = served(decider, 1e6 + COOLDOWN_S, full_at=4096, n_rounds=2)
    assert [change.reason for change in changes] == ["a clean round, +5 %"] * 2


@dataclass
class World:
    """What the limiter must agree with, kept by the simplest possible means."""

    limiter: Limiter
    waiting: dict[int, tuple[int, "asyncio.Task[None]"]]
    held: list[int]
    held_until_s: float = 0.0

    def harvest(self) -> None:
        granted = {n: p for n, (p, task) in self.waiting.items() if task.done()}
        cancelled = {n for n in granted if self.waiting[n][1].cancelled()}
        for n in granted:
            del self.waiting[n]
        self.held += [n for n in granted if n not in cancelled]
        for n in granted.keys() - cancelled:
            for other, (priority, _) in self.waiting.items():
                assert (granted[n], n) < (priority, other), "a later waiter was served first"


@settings(patient, max_examples=150)
@given(st.integers(1, 6), st.integers(1, 6), OPS)
@example(2, 1, [("acquire", 0), ("acquire", 1), ("succeeded", 0), ("acquire", 0)])
def test_slots_are_conserved_ordered_and_never_idle_while_somebody_waits(
    ceiling: int, start: int, ops: list[tuple[str, int]]
) -> None:
    async def scenario() -> None:
        limiter = Limiter("a", ceiling, start)
        world = World(limiter, {}, [])
        loop = asyncio.get_running_loop()
        for n, (op, arg) in enumerate(ops):
            grants_before = limiter.in_use
            if op == "acquire":
                world.waiting[n] = arg, asyncio.ensure_future(limiter.acquire((arg,)))
            elif op == "cancel" and world.waiting:
                list(world.waiting.values())[arg % len(world.waiting)][1].cancel()
            elif op == "release" and world.held:
                world.held.pop(arg % len(world.held))
                limiter.release()
            elif op == "throttled":
                limiter.throttled(float(arg))
                world.held_until_s = max(world.held_until_s, loop.time() + arg)
            elif op == "succeeded":
                limiter.succeeded()
            elif op == "faltered":
                limiter.faltered()
            elif op == "sleep":
                await asyncio.sleep(arg)
            # After each: a slot that was granted before somebody asked was nobody else's to have.
            for _ in range(3):
                await asyncio.sleep(0)
            world.harvest()
            assert limiter.in_use == len(world.held)
            assert limiter.waiting == len(world.waiting)
            on_hold = loop.time() < world.held_until_s
            if on_hold and op != "sleep":
                assert limiter.in_use <= grants_before
            if not on_hold and loop.time() > world.held_until_s:
                assert limiter.waiting == 0 or limiter.in_use >= limiter.limit
            assert limiter.in_use <= ceiling
        for _, task in world.waiting.values():
            task.cancel()
        await asyncio.gather(*(t for _, t in world.waiting.values()), return_exceptions=True)
        world.harvest()
        while limiter.in_use:
            limiter.release()
        assert limiter.waiting == 0

    run(scenario())


@pytest.mark.parametrize("seed", [0, 1])
def test_beside_a_server_without_429s_it_settles_where_throughput_stops_growing(seed: int) -> None:
    machine = load_world().preset("h100-qwen3-8b")
    assert isinstance(machine, ServingSettings)
    changes: list[int] = []

    async def scenario() -> None:
        limiter = Limiter("a", 1024, on_change=lambda account, limit, why: changes.append(limit))
        server, rng, loop = server_of(machine), Random(seed), asyncio.get_running_loop()

        async def client() -> None:
            while loop.time() < 250:
                await limiter.acquire()
                await server.serve(Job(300, 1 + min(8000, int(rng.lognormvariate(6.2, 0.8)))))
                limiter.succeeded()
                limiter.release()

        await asyncio.gather(*(client() for _ in range(1100)))

    run_virtual(scenario())
    assert changes[-1] == machine.max_sequences
