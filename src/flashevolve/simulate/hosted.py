"""A hosted API: a speed per request and two limits per account; facts and a clock in.

- Each request has its own time to first token and its own token rate, both lognormal and drawn from
  the number that it brings. Nobody's speed depends on how many others are under way: the host has
  more machines than one account can fill.
- An account has two token buckets, of requests and of tokens. A bucket holds one minute's worth, is
  full at first and is refilled all the time at its rate. Between two instants a and b it therefore
  gives at most one minute's worth and what flows in between a and b.
- A request takes 1 from the one, and prompt plus `max_output_tokens` from the other. When it ends,
  the tokens that it did not use flow back; so do those of a request that is cancelled.
- Work conserving: a request is turned away exactly if a bucket holds too little for it, with the
  time after which it would not, were nobody else there. Who is turned away takes nothing.
"""

import math
from dataclasses import dataclass

from flashevolve.simulate.lengths import check_sigma, digest, normal

MINUTE_S = 60.0
"""Limits are told per minute, and a bucket holds one minute's worth."""
_ROUNDING = 1e-9
"""Share of a bucket by which sums of many refills may miss what they stand for."""


@dataclass(frozen=True, kw_only=True)
class HostedSettings:
    """One account at a hosted API."""

    first_token_s: float
    """Median of the time to first token, which includes the network and the host's own queue."""
    first_token_sigma: float
    """Standard deviation of its logarithm."""
    tokens_per_s: float
    """Median rate of one stream after its first token."""
    tokens_per_s_sigma: float
    """Standard deviation of its logarithm over requests."""
    requests_per_min: int
    tokens_per_min: int
    """Prompt and output together; until a request ends, `max_output_tokens` stands for its output.
    """

    def __post_init__(self) -> None:
        for name in ("requests_per_min", "tokens_per_min"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("first_token_s", "first_token_sigma", "tokens_per_s_sigma"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        check_sigma("first_token_sigma", self.first_token_sigma)
        check_sigma("tokens_per_s_sigma", self.tokens_per_s_sigma)
        if self.tokens_per_s <= 0:
            raise ValueError(f"tokens_per_s must be above 0, got {self.tokens_per_s}")

    def speed(self, draw: int) -> "Speed":
        """Returns the speed of the request that brings this number."""
        blob = draw.to_bytes(8, "big")
        first, rate = (normal(digest(what, blob)) for what in (b"first token", b"rate"))
        return Speed(
            first_token_s=self.first_token_s * math.exp(self.first_token_sigma * first),
            tokens_per_s=self.tokens_per_s * math.exp(self.tokens_per_s_sigma * rate),
        )


@dataclass(frozen=True, kw_only=True)
class Speed:
    """How fast one request is answered."""

    first_token_s: float
    tokens_per_s: float

    def written_tokens(self, after_s: float) -> int:
        """Returns how many tokens are there so long after the request was admitted."""
        return max(0, math.floor((after_s - self.first_token_s) * self.tokens_per_s))


class Bucket:
    """A token bucket: one minute's worth at most, full at first, refilled continuously."""

    def __init__(self, per_min: float) -> None:
        self.capacity = per_min
        self._level = per_min
        self._at_s = 0.0

    def level(self, now_s: float) -> float:
        """Returns what it holds. Time must not run backwards."""
        flowed = max(0.0, now_s - self._at_s) * self.capacity / MINUTE_S
        self._level, self._at_s = min(self.capacity, self._level + flowed), now_s
        return self._level

    def wait_s(self, amount: float, now_s: float) -> float:
        """Returns after how long it holds `amount`, if nobody takes any; 0 = now."""
        missing = amount - self.level(now_s)
        if missing <= _ROUNDING * self.capacity:
            return 0.0
        return missing * MINUTE_S / self.capacity

    def take(self, amount: float, now_s: float) -> None:
        """Takes out what `wait_s` says is there."""
        self._level = max(0.0, self.level(now_s) - amount)

    def give_back(self, amount: float, now_s: float) -> None:
        """Puts back what was taken and not used; what does not fit is lost."""
        self._level = min(self.capacity, self.level(now_s) + amount)


class Account:
    """The limits of one account, over all its models."""

    def __init__(self, settings: HostedSettings) -> None:
        self.settings = settings
        self._requests = Bucket(settings.requests_per_min)
        self._tokens = Bucket(settings.tokens_per_min)

    def admit(self, reserved_tokens: int, now_s: float) -> float:
        """Takes what a request needs and returns 0, or takes nothing and returns the wait in s.

        Raises `ValueError` for a request that never fits.
        """
        if reserved_tokens > self.settings.tokens_per_min:
            raise ValueError(
                f"a request for {reserved_tokens} tokens (prompt and max_output_tokens) is larger "
                f"than the account's {self.settings.tokens_per_min} tokens per minute"
            )
        wait_s = max(self._requests.wait_s(1, now_s), self._tokens.wait_s(reserved_tokens, now_s))
        if wait_s == 0:
            self._requests.take(1, now_s)
            self._tokens.take(reserved_tokens, now_s)
        return wait_s

    def settle(self, reserved_tokens: int, used_tokens: int, now_s: float) -> None:
        """Ends a request that was admitted; what it reserved and did not use flows back."""
        self._tokens.give_back(max(0, reserved_tokens - used_tokens), now_s)

    def levels(self, now_s: float) -> tuple[float, float]:
        """Returns how many requests and tokens the buckets hold."""
        return self._requests.level(now_s), self._tokens.level(now_s)
