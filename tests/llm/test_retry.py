import asyncio
from collections.abc import Sequence
from functools import partial
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashevolve.errors import RunStopped
from flashevolve.llm.errors import Fatal, LLMError, RateLimited, Refused, Transient
from flashevolve.llm.http import HTTPModel
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.messages import Reply, Request, user
from flashevolve.llm.retry import RetryPolicy, with_retries
from tests.fakes.endpoint import HANG_UP, Endpoint, answer, rate_limited, status
from tests.fakes.patience import patient
from tests.fakes.runs import Bench
from tests.fakes.time_travel import run
from tests.fakes.workflows import Reduction

OK = Reply(text="ok")


class Flaky:
    """Fails with each error in turn, then answers; notes the number and time of each attempt."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = errors
        self.numbers: list[int] = []
        self.times_s: list[float] = []

    async def __call__(self, number: int) -> Reply:
        self.numbers.append(number)
        self.times_s.append(asyncio.get_running_loop().time())
        if number <= len(self.errors):
            raise self.errors[number - 1]
        return OK


def times(errors: Sequence[BaseException], policy: RetryPolicy, seed: int = 0) -> list[float]:
    attempt = Flaky(*errors)
    assert run(with_retries(attempt, policy, lambda: Random(seed))) is OK
    return attempt.times_s


def test_a_success_is_returned_at_once() -> None:
    assert times([], RetryPolicy()) == [0.0]


def test_retryable_errors_are_tried_again_and_attempts_are_numbered_from_one() -> None:
    attempt = Flaky(Transient("a"), RateLimited("b"))
    assert run(with_retries(attempt, RetryPolicy(), lambda: Random(0))) is OK
    assert attempt.numbers == [1, 2, 3]


def test_waits_double_with_jitter_of_half() -> None:
    at_s = times([Transient("x")] * 4, RetryPolicy(first_wait_s=2.0, max_wait_s=8.0))
    for n, backoff_s in enumerate((2, 4, 8, 8)):
        assert backoff_s / 2 <= at_s[n + 1] - at_s[n] <= backoff_s


@patient
@given(st.integers())
def test_the_same_rng_gives_the_same_waits(seed: int) -> None:
    errors = [Transient("x"), RateLimited("y", retry_after_s=3.0)]
    assert times(errors, RetryPolicy(), seed) == times(errors, RetryPolicy(), seed)


def test_another_rng_gives_other_waits() -> None:
    assert times([Transient("x")], RetryPolicy(), 1) != times([Transient("x")], RetryPolicy(), 2)


@pytest.mark.parametrize("kind", [RateLimited, Transient])
def test_a_retry_after_is_honoured(kind: type[RateLimited] | type[Transient]) -> None:
    at_s = times([kind("x", retry_after_s=30.0)], RetryPolicy())
    assert 30.5 <= at_s[1] <= 31.0


@pytest.mark.parametrize("error", [Fatal("f"), Refused("r"), ValueError("v")])
def test_what_no_retry_can_mend_is_raised_at_once(error: Exception) -> None:
    attempt = Flaky(error)
    with pytest.raises(type(error), match=str(error)) as caught:
        run(with_retries(attempt, RetryPolicy(), lambda: Random(0)))
    assert caught.value is error
    assert attempt.numbers == [1]


def test_429s_cost_no_attempt_but_only_the_time_slept() -> None:
    policy = RetryPolicy(max_attempts=2, first_wait_s=20.0, max_wait_s=20.0, max_total_s=200.0)
    assert len(times([RateLimited("x")] * 8 + [Transient("y")], policy)) == 10
    attempt = Flaky(*[RateLimited(str(n)) for n in range(1, 99)])

    async def scenario() -> float:
        with pytest.raises(RateLimited, match=r"^13$"):
            await with_retries(attempt, policy, lambda: Random(0))
        return asyncio.get_running_loop().time()

    assert 180 <= run(scenario()) <= 200


def test_a_slow_queue_takes_nothing_from_the_time_for_429s() -> None:
    async def queued(number: int) -> Reply:
        await asyncio.sleep(2000.0)
        if number < 5:
            raise RateLimited("x")
        return OK

    assert run(with_retries(queued, RetryPolicy(), lambda: Random(0))) is OK


@pytest.mark.parametrize("seed", range(5))
def test_the_default_patience_survives_a_restart_of_three_minutes(seed: int) -> None:
    async def restarting(number: int) -> Reply:
        if asyncio.get_running_loop().time() < 180.0:
            raise Transient("connection refused")
        return OK

    assert run(with_retries(restarting, RetryPolicy(), lambda: Random(seed))) is OK


def test_attempts_are_bounded_and_the_last_error_leaves_unchanged() -> None:
    errors: list[LLMError] = [Transient(str(n), billed_unknown=True) for n in range(1, 9)]
    attempt = Flaky(*errors)
    with pytest.raises(Transient, match="6") as caught:
        run(with_retries(attempt, RetryPolicy(max_attempts=6), lambda: Random(0)))
    assert caught.value is errors[5]
    assert caught.value.__cause__ is None
    assert attempt.numbers == [1, 2, 3, 4, 5, 6]


def test_a_wait_beyond_the_total_time_is_not_begun() -> None:
    attempt = Flaky(RateLimited("daily quota", retry_after_s=86_400.0))

    async def scenario() -> float:
        with pytest.raises(RateLimited, match="daily quota"):
            await with_retries(attempt, RetryPolicy(max_total_s=600.0), lambda: Random(0))
        return asyncio.get_running_loop().time()

    assert run(scenario()) == 0.0


def test_cancelling_ends_the_wait() -> None:
    async def scenario() -> None:
        attempt = Flaky(*[Transient("x")] * 3)
        task = asyncio.ensure_future(with_retries(attempt, RetryPolicy(), lambda: Random(0)))
        asyncio.get_running_loop().call_later(0.1, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert attempt.numbers == [1]

    run(scenario())


def test_a_model_behind_a_limiter_gets_through_a_bad_spell() -> None:
    async def scenario() -> None:
        script = [rate_limited("0.01"), status(503), HANG_UP, answer("at last")]
        async with Endpoint(script) as endpoint:
            model = HTTPModel("m", endpoint.base_url)
            limiter = Limiter("a", ceiling=4)

            async def attempt(number: int) -> Reply:
                await limiter.acquire()
                try:
                    reply = await model.complete(Request(messages=(user("hi"),)))
                    limiter.succeeded()
                    return reply
                except RateLimited as error:
                    limiter.throttled(error.retry_after_s)
                    raise
                finally:
                    limiter.release()

            reply = await with_retries(attempt, RetryPolicy(first_wait_s=0.01), lambda: Random(0))
            await model.close()
            assert (reply.text, len(endpoint.received)) == ("at last", 4)
            assert (limiter.in_use, limiter.limit) == (0, 3)

    asyncio.run(scenario())


@patient
@given(st.integers(1, 10_000), st.none() | st.floats(0, 1e6), st.integers())
def test_a_wait_is_never_shorter_than_the_hint_nor_much_longer(
    attempt: int, hint_s: float | None, seed: int
) -> None:
    policy = RetryPolicy()
    wait_s = policy.wait_s(attempt, hint_s, Random(seed))
    assert (hint_s or 0.0) < wait_s <= (hint_s or 0.0) + policy.max_wait_s


class Quota:
    """Answers so many requests in any minute; refuses the rest with a 429 without a hint."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self.answered_s: list[float] = []
        self.n_refused = 0

    def __call__(self, request: Request, rng: Random) -> str | LLMError:
        now_s = asyncio.get_running_loop().time()
        if sum(at_s > now_s - 60.0 for at_s in self.answered_s) >= self.per_minute:
            self.n_refused += 1
            return RateLimited("requests per minute")
        self.answered_s.append(now_s)
        return f"answer {rng.random()}"


@pytest.mark.parametrize("per_minute", [20, 60, 200])
def test_a_whole_run_lives_with_a_quota_by_the_minute(per_minute: int) -> None:
    quota = Quota(per_minute)
    bench = Bench(
        partial(Reduction, n=4),
        answer=quota,
        latency_s=lambda rng: 1.0 + rng.random(),
        concurrency=64,
        in_flight=64,
        n_val=60,
        retry=RetryPolicy(),
    )
    state = bench.run()
    assert (bench.reason, state.counters["failed"]) == ("finished", 0)
    n = len(quota.answered_s)
    assert n >= 240
    # No better than the quota allows, and no more than three times slower.
    allowed_s = 60.0 * (n / per_minute - 1)
    assert allowed_s <= bench.store.records[-1].t_s <= 3 * allowed_s + 120.0
    assert quota.n_refused < 3 * n


def test_an_account_without_any_quota_stops_the_run_instead_of_being_asked_for_ever() -> None:
    bench = Bench(Reduction, answer=Quota(0), retry=RetryPolicy(), in_flight=1)
    with pytest.raises(RunStopped, match="requests per minute"):
        bench.run()
    assert bench.store.records[-1].t_s < 7200.0
