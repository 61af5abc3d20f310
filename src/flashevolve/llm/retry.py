"""Retries: what to do with a request that may succeed the next time.

Bounded in attempts and in time; each wait is drawn from the generator that `new_rng` gives, so the
same failures give the same waits. A 429 costs no attempt, only the time that is slept after it: how
fast an account may go is the limiter's business, and no fault of the request. The last error leaves
unchanged. Time is the running loop's. The attempt takes and returns its slot itself, so that none
is held while asleep.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, TypeVar

from flashevolve.llm.errors import LLMError, RateLimited

if TYPE_CHECKING:
    from tenacity import RetryCallState


Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often, and for how long, a request is tried."""

    max_attempts: int = 13
    """Attempts that may fail otherwise than by a 429. The waits between thirteen add up to four to
    seven minutes, in which a server comes back from a restart."""
    max_total_s: float = 900.0
    """For 429s, the sum of all waits, since a queue behind a slow account is no failure; for the
    rest, the time since the first failure. A wait that would pass it is not begun."""
    first_wait_s: float = 1.0
    """Backoff after the first failure; it doubles with each one, up to `max_wait_s`."""
    max_wait_s: float = 60.0

    def wait_s(self, attempt: int, retry_after_s: float | None, rng: Random) -> float:
        """Returns the pause after failed attempt number `attempt`, from 1.

        Half of the backoff is jitter. It is added to the endpoint's own hint: all who were sent
        away together would otherwise come back together.
        """
        backoff_s = min(self.max_wait_s, self.first_wait_s * 2.0 ** min(attempt - 1, 60))
        return (retry_after_s or 0.0) + backoff_s * (0.5 + 0.5 * rng.random())


async def with_retries(
    attempt: Callable[[int], Awaitable[Answer]], policy: RetryPolicy, new_rng: Callable[[], Random]
) -> Answer:
    """Returns the reply of the first `attempt(number)` that succeeds; numbers start at 1.

    `new_rng` is called after a first failure: seeding a generator costs more than a call may.

    Raises the last error, unchanged, once the policy is exhausted; any error that is not an
    `LLMError` worth another try is raised at once.
    """
    try:
        return await attempt(1)
    except LLMError as error:
        if not error.retryable:
            raise
        return await _retried(attempt, policy, new_rng(), error)


async def _retried(
    attempt: Callable[[int], Awaitable[Answer]],
    policy: RetryPolicy,
    rng: Random,
    first: LLMError,
) -> Answer:
    """Goes on after the first failure.

    Apart, because tenacity's bookkeeping costs more than everything else that a call that
    succeeds goes through.
    """
    from tenacity import AsyncRetrying, retry_if_exception

    loop = asyncio.get_running_loop()
    failed_s = loop.time()
    number = 0
    n_charged = 0

    async def next_attempt() -> Answer:
        nonlocal number
        number += 1
        if number == 1:
            raise first
        return await attempt(number)

    def wait(state: "RetryCallState") -> float:
        hint_s = getattr(_error(state), "retry_after_s", None)
        return policy.wait_s(state.attempt_number, hint_s, rng)

    def stop(state: "RetryCallState") -> bool:
        nonlocal n_charged
        if isinstance(_error(state), RateLimited):
            return state.idle_for + state.upcoming_sleep > policy.max_total_s
        n_charged += 1
        # tenacity's own time limits read the system's clock, which virtual time must not.
        after_s = loop.time() - failed_s + state.upcoming_sleep
        return n_charged >= policy.max_attempts or after_s > policy.max_total_s

    retrying = AsyncRetrying(
        sleep=asyncio.sleep,
        retry=retry_if_exception(lambda e: isinstance(e, LLMError) and e.retryable),
        wait=wait,
        stop=stop,
        reraise=True,
    )
    return await retrying(next_attempt)


def _error(state: "RetryCallState") -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None
