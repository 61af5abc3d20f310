"""Intake: whether the accounts can take the requests of one more step.

A limiter knows what is in flight and what waits; it cannot know of a step that was taken a moment
ago and has yet to ask. Such a step is *promised*: counted here from when a stage takes it until it
asks or leaves the stage, so that one decision does not let in as many steps as there are credits.
What a stage will ask is learnt from its last visits, account by account, since user code may well
ask elsewhere: a stage of which nothing is known promises one request to each account, one that
asked an account nothing promises it nothing. Invariants: no clock, so that equal runs decide
equally; without limiters to look at there is always room.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from flashevolve.llm.limiter import Limiter
from flashevolve.policies.control import may_begin

REMEMBERED = 8
"""Visits of a stage that say what the next one will ask."""

VisitKey = tuple[int, str, int]
"""Ticket, stage, number of the visit."""


@dataclass
class _Visit:
    """What one visit of a stage has asked so far."""

    open: Counter[Limiter] = field(default_factory=Counter)
    peak: Counter[Limiter] = field(default_factory=Counter)
    """The most calls that it had under way at once."""


class Intake:
    """Watches the limiters of a run."""

    def __init__(self, limiters: Iterable[Limiter], entry: str = "") -> None:
        """`entry` is the stage that a step begins with."""
        self._limiters = tuple(limiters)
        self._entry = entry
        self._visits: dict[VisitKey, _Visit] = {}
        self._promised: dict[VisitKey, Mapping[Limiter, int]] = {}
        """Of the visits that have yet to ask."""
        self._peaks: defaultdict[str, deque[Counter[Limiter]]] = defaultdict(
            lambda: deque(maxlen=REMEMBERED)
        )
        self._n_calls: Counter[Limiter] = Counter()
        self._wake: Callable[[], None] | None = None
        """Set while somebody was turned away."""
        for limiter in self._limiters:
            limiter.watch(self._look)

    def asked_by(self, stage: str) -> frozenset[str]:
        """Returns the accounts that a stage asks; all while nothing is known of it."""
        return frozenset(limiter.account for limiter in self._expected(stage))

    def full(self) -> frozenset[str]:
        """Returns the accounts on which a request waits for a slot."""
        return frozenset(limiter.account for limiter in self._limiters if limiter.waiting)

    def has_room(self, wake: Callable[[], None]) -> bool:
        """Says whether another step may begin; if not, calls `wake` once when it may."""
        room = self._has_room()
        self._wake = None if room else wake
        return room

    def promise(self, visit: VisitKey) -> None:
        """A stage took an item, whose requests will come in a moment."""
        if self._limiters:
            self._visits[visit] = _Visit()
            if expected := self._expected(visit[1]):
                self._promised[visit] = expected

    def asked(self, visit: VisitKey, limiter: Limiter) -> None:
        """A call of the visit begins, which the limiter counts from now on."""
        self._n_calls[limiter] += 1
        if (seen := self._visits.get(visit)) is not None:
            self._promised.pop(visit, None)
            seen.open[limiter] += 1
            seen.peak[limiter] = max(seen.peak[limiter], seen.open[limiter])

    def answered(self, visit: VisitKey, limiter: Limiter) -> None:
        """A call is over. Those of a visit that left early may be over later than it."""
        if (seen := self._visits.get(visit)) is not None:
            seen.open[limiter] -= 1

    def left(self, visit: VisitKey) -> None:
        """The item left its stage, whether it asked or not."""
        if (seen := self._visits.pop(visit, None)) is not None:
            self._promised.pop(visit, None)
            self._peaks[visit[1]].append(seen.peak)
            self._look()

    def _expected(self, stage: str) -> Mapping[Limiter, int]:
        """Returns the most that the stage's last visits had under way at once, by account."""
        peaks = self._peaks.get(stage)
        if not peaks:
            return dict.fromkeys(self._limiters, 1)
        most: Counter[Limiter] = Counter()
        for peak in peaks:
            most |= peak
        return most

    def _is_side(self, limiter: Limiter) -> bool:
        """Says whether steps can go on for a while although this account is full.

        It is if they do not begin with it and less than half of all calls go to it.
        """
        if limiter in self._expected(self._entry):
            return False
        return 2 * self._n_calls[limiter] < self._n_calls.total()

    def _has_room(self) -> bool:
        return all(map(self._can_take, self._limiters))

    def _can_take(self, limiter: Limiter) -> bool:
        limit = limiter.limit
        # A visit sends no more at once than the limit, however much it asks.
        promised = sum(min(n.get(limiter, 0), limit) for n in self._promised.values())
        side = self._is_side(limiter)
        return may_begin(n_requests=limiter.demand + promised, limit=limit, side=side)

    def _look(self) -> None:
        if self._wake is not None and self._has_room():
            wake, self._wake = self._wake, None
            wake()
