"""Retries: what to do with a request that may succeed the next time.

Bounded in attempts and in time; each wait is derived from the `rng` that was handed in, so the same
failures give the same waits. The last error leaves unchanged. Time is the running loop's. The
attempt takes and returns its slot itself, so that none is held while asleep.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from flashevolve.llm.errors import LLMError
from flashevolve.llm.messages import Reply


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often, and for how long, a request is tried."""

    max_attempts: int = 6
    max_total_s: float = 900.0
    """From the first attempt to the start of the last; a wait that would pass it is not begun."""
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
    attempt: Callable[[int], Awaitable[Reply]], policy: RetryPolicy, rng: Random
) -> Reply:
    """Returns the reply of the first `attempt(number)` that succeeds; numbers start at 1.

    Raises the last error, unchanged, once the policy is exhausted; any error that is not an
    `LLMError` worth another try is raised at once.
    """
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    number = 1
    while True:
        try:
            return await attempt(number)
        except LLMError as error:
            if not error.retryable or number >= policy.max_attempts:
                raise
            wait_s = policy.wait_s(number, getattr(error, "retry_after_s", None), rng)
            if loop.time() - began_s + wait_s > policy.max_total_s:
                raise
        await asyncio.sleep(wait_s)
        number += 1
