"""The limiter: how many requests may be in flight on one account. It alone decides that.

`AdaptiveLimit` is the pure decider: facts and their times in, limits out. `Limiter` is its asyncio
shell. At all times 1 <= limit <= ceiling, one episode of 429s cuts once, and a granted slot has one
holder until `release`. Slots go to the lowest priority first, first come first served among equals.
"""

import asyncio
import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

DEFAULT_START = 16
"""Few hosts throttle sixteen requests, and doubling reaches hundreds within seconds."""
COOLDOWN_S = 15.0
"""Answers to what was already sent keep arriving that long; they tell nothing about the cut."""
MAX_HOLD_S = 300.0
"""A longer Retry-After (a daily quota) is tried again by then: one refused request costs less than
a run that sleeps until tomorrow."""
FIRST_PAUSE_S = 1.0
"""After a 429 without Retry-After; doubled while 429s follow, since quotas are often by the minute
and whatever is sent before one is renewed only comes back."""
_USED_SHARE = 0.8
_CUT = 0.8
_HARDER_CUT = 0.5
_GROWTH = 0.05
JUDGED_FROM = 64
"""Smaller limits grow unasked: the rate of so few answers is noise, and few hosts are full then."""
_JUDGED_STEP = 1.5
"""A limit is compared with one so many times smaller; less would not stand out from the noise."""
_WORTH = 0.2
"""What growth must bring: a rate that grows as the limit to this power, 15 % if it doubles."""
PROBE_ROUNDS = 20
"""Clean rounds after which a limit that had stopped growing tries again."""


@dataclass(frozen=True)
class Change:
    """A new limit, and why."""

    limit: int
    reason: str


class _Base(NamedTuple):
    """What a larger limit is compared with."""

    limit: int
    rate: float
    """Answers per second under it."""


@dataclass(kw_only=True)
class AdaptiveLimit:
    """Decides the limit: slow start, then +5 % per clean round, x 0.8 per episode of 429s.

    A backend that never answers 429 is full when more requests bring no more answers. So from 64 up
    a limit that has grown 1.5 times or more is judged by the answers per second of a whole round
    under it, the round after a doubling left out, in which old answers come. Twice the limit must
    bring 15 % more; else it goes back to what it was and stays, but for a probe every 20 rounds.
    Rounds in which less than 80 % of the limit was in use on average say nothing about it.

    An episode lasts a cooldown. One that follows before a clean round is the same trouble: it
    halves. Without a Retry-After nothing is sent for a pause that doubles with each 429 after it,
    up to the cooldown, until a request is answered.

    A round is as many successes as the limit; a 429 or a failure starts it over. Nothing grows
    unless 80 % of the limit was in use within the round, and nothing counts during a cooldown.
    All `at_s` are seconds of one clock that never runs backwards.
    """

    ceiling: int
    start: int = DEFAULT_START
    limit: int = field(init=False)
    held_until_s: float = field(init=False, default=float("-inf"))
    """Until then nothing new is sent: the endpoint asked for it, or said no without a hint."""
    slow_start: bool = field(init=False, default=True)
    _cooldown_until_s: float = field(init=False, default=float("-inf"))
    _pause_s: float = field(init=False, default=FIRST_PAUSE_S)
    _cut_since_clean: bool = field(init=False, default=False)
    _successes: int = field(init=False, default=0)
    _peak_in_use: int = field(init=False, default=0)
    _sum_in_use: int = field(init=False, default=0)
    _began_s: float = field(init=False, default=0.0)
    """When the round's first answer came."""
    _is_first_round: bool = field(init=False, default=False)
    """True in the round after a doubling."""
    _base: "_Base | None" = field(init=False, default=None)
    _rounds_settled: int | None = field(init=False, default=None)
    """Clean rounds since it stopped growing; None = it grows."""

    def __post_init__(self) -> None:
        if self.ceiling < 1 or self.start < 1:
            raise ValueError(
                f"a limit needs ceiling and start of at least 1, got {self.ceiling}, {self.start}"
            )
        self.limit = min(self.ceiling, self.start)

    def used(self, in_use: int) -> None:
        """A request is being sent, `in_use` of them now."""
        self._peak_in_use = max(self._peak_in_use, in_use)

    def succeeded(self, at_s: float, in_use: int) -> Change | None:
        """A request was answered; `in_use` were in flight, it included."""
        if at_s >= self.held_until_s:
            self._pause_s = FIRST_PAUSE_S
        if at_s < self._cooldown_until_s:
            return None
        self.used(in_use)
        if not self._successes:
            self._began_s = at_s
        self._successes += 1
        self._sum_in_use += in_use
        if self._successes < self.limit:
            return None
        busy = self._peak_in_use >= _USED_SHARE * self.limit
        rate = self._rate(at_s)
        self._new_round()
        self._cut_since_clean = False
        if not busy:
            return None
        if self.limit < JUDGED_FROM:
            return self._grow()
        return None if rate is None else self._judge(rate)

    def _rate(self, at_s: float) -> float | None:
        """Returns the answers per second of the round; None if it tells nothing of the limit."""
        mean_in_use, passed_s = self._sum_in_use / self._successes, at_s - self._began_s
        if mean_in_use < _USED_SHARE * self.limit:
            return None
        return (self._successes - 1) / passed_s if passed_s > 0 else math.inf

    def _judge(self, rate: float) -> Change | None:
        """Decides by what the limit brought, at the end of a clean and busy round."""
        if self._is_first_round:
            self._is_first_round = False
            return None
        if self._rounds_settled is not None:
            return self._settled_round(rate)
        base = self._base
        if base is None or math.isinf(rate):
            self._base = None if math.isinf(rate) else _Base(self.limit, rate)
        elif self.limit >= _JUDGED_STEP * base.limit:
            times = self.limit / base.limit
            if rate < base.rate * times**_WORTH:
                gain = rate / base.rate
                self._rounds_settled = 0
                reason = f"{times:.3g} x the limit brought {gain - 1:+.0%} answers/s: back"
                return self._set(base.limit, reason)
            self._base = _Base(self.limit, rate)
        return self._grow()

    def _settled_round(self, rate: float) -> Change | None:
        n = self._rounds_settled = (self._rounds_settled or 0) + 1
        if n < PROBE_ROUNDS:
            return None
        self._rounds_settled = None
        self._base = _Base(self.limit, rate)
        return self._doubled(f"a probe after {n} rounds: doubled")

    def _grow(self) -> Change | None:
        if self.slow_start:
            return self._doubled("slow start: a clean round, doubled")
        return self._set(self.limit + max(1, int(self.limit * _GROWTH)), "a clean round, +5 %")

    def _doubled(self, reason: str) -> Change | None:
        self._is_first_round = True
        return self._set(self.limit * 2, reason)

    def throttled(self, at_s: float, retry_after_s: float | None = None) -> Change | None:
        """A request was answered with 429."""
        hold_s = self._hold_s(at_s) if retry_after_s is None else min(retry_after_s, MAX_HOLD_S)
        self.held_until_s = max(self.held_until_s, at_s + hold_s)
        self.slow_start = False
        self._base = self._rounds_settled = None
        self._new_round()
        in_episode = at_s < self._cooldown_until_s
        # Within an episode only a long Retry-After moves its end: a stream of short ones would
        # otherwise extend it for ever, and nothing would be cut again.
        if not in_episode or hold_s > COOLDOWN_S:
            ends_s = at_s + max(COOLDOWN_S, hold_s)
            self._cooldown_until_s = max(self._cooldown_until_s, ends_s)
        if in_episode:
            return None
        asked = f", Retry-After {retry_after_s:g} s" if retry_after_s else ""
        again, self._cut_since_clean = self._cut_since_clean, True
        if again:
            return self._set(int(self.limit * _HARDER_CUT), f"429{asked}, again: cut to half")
        return self._set(int(self.limit * _CUT), f"429{asked}: cut to 80 %")

    def _hold_s(self, at_s: float) -> float:
        """Returns the pause after a 429 without a hint; those of one burst ask for one."""
        if at_s < self.held_until_s:
            return 0.0
        pause_s = self._pause_s
        self._pause_s = min(COOLDOWN_S, 2 * pause_s)
        return pause_s

    def faltered(self) -> None:
        """A request failed otherwise (5xx, time-out): growth pauses, nothing is cut."""
        self._new_round()

    def _new_round(self) -> None:
        self._successes = 0
        self._peak_in_use = 0
        self._sum_in_use = 0

    def _set(self, limit: int, reason: str) -> Change | None:
        limit = max(1, min(self.ceiling, limit))
        if limit == self.limit:
            return None
        self.limit = limit
        return Change(limit, reason)


Waiter = tuple[tuple[int, ...], int, "asyncio.Future[None]"]


class Limiter:
    """Hands out slots on one account. Belongs to one event loop, whose time it uses.

    Each `acquire` is followed by one of `succeeded`, `throttled`, `faltered`, or nothing (cancelled
    before it was known), and by one `release`.
    """

    def __init__(
        self,
        account: str,
        ceiling: int,
        start: int = DEFAULT_START,
        on_change: Callable[[str, int, str], None] | None = None,
    ) -> None:
        self.account = account
        self.in_use = 0
        self._decider = AdaptiveLimit(ceiling=ceiling, start=start)
        self._on_change = on_change
        self._waiters: list[Waiter] = []
        self._n_asked = 0
        self._n_open = 0
        """Calls under way, those included that sleep between two attempts or wait for money."""
        self._alarm: asyncio.TimerHandle | None = None
        self._on_room: Callable[[], None] = _nothing

    @property
    def limit(self) -> int:
        """Requests that may be in flight now."""
        return self._decider.limit

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return len(self._waiters)

    @property
    def demand(self) -> int:
        """How many are in flight, wait for a slot, or will again: see `opened`."""
        return max(self._n_open, self.in_use + len(self._waiters))

    def opened(self) -> None:
        """A call begins, which counts as demand until `closed`, whether it holds a slot or not."""
        self._n_open += 1

    def closed(self) -> None:
        """A call that was opened is over."""
        self._n_open -= 1
        self._on_room()

    def watch(self, on_room: Callable[[], None]) -> None:
        """Has `on_room` called, which must be quick, whenever there may be more room."""
        self._on_room = on_room

    async def acquire(self, priority: tuple[int, ...] = ()) -> None:
        """Waits for a slot; the lowest `priority` is served first. Cancelling leaks nothing."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._n_asked += 1
        waiter = (priority, self._n_asked, granted)
        heapq.heappush(self._waiters, waiter)
        self._grant()
        if granted.done():
            return
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release()  # Granted and cancelled in the same turn of the loop.
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
                heapq.heapify(self._waiters)
                self._on_room()
            raise

    def release(self) -> None:
        """Gives a slot back. Raises `RuntimeError` if none is out."""
        if self.in_use == 0:
            raise RuntimeError(f"release without acquire on {self.account}")
        self.in_use -= 1
        self._grant()
        self._on_room()

    def succeeded(self) -> None:
        """The request was answered, whatever the answer is worth to the caller."""
        self._report(self._decider.succeeded(_now_s(), self.in_use))

    def throttled(self, retry_after_s: float | None = None) -> None:
        """The request was answered with 429."""
        self._report(self._decider.throttled(_now_s(), retry_after_s))

    def faltered(self) -> None:
        """The request met a 5xx, a time-out or a lost connection."""
        self._decider.faltered()

    def _report(self, change: Change | None) -> None:
        if change is None:
            return
        if self._on_change is not None:
            self._on_change(self.account, change.limit, change.reason)
        self._grant()
        self._on_room()

    def _grant(self) -> None:
        if not self._waiters or self.in_use >= self.limit:
            return
        if _now_s() < self._decider.held_until_s:
            self._set_alarm()
            return
        while self._waiters and self.in_use < self.limit:
            granted = heapq.heappop(self._waiters)[2]
            if granted.done():
                continue  # Cancelled; its task has not had its turn since.
            self.in_use += 1
            self._decider.used(self.in_use)
            granted.set_result(None)

    def _set_alarm(self) -> None:
        if self._alarm is None:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_at(self._decider.held_until_s, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        self._grant()


def _nothing() -> None:
    pass


def _now_s() -> float:
    return asyncio.get_running_loop().time()
