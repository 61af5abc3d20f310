"""Control: how many steps each stage works on, and whether another one begins. Pure.

Facts in, decisions with their reasons out; no task, clock or file. `fixed` decides nothing. `paper`
is FlashEvolve's rule (section 3.4) as written: a stage that writes fewer than half as many items
per second as the median stage gets a worker, one that writes more than twice as many loses one.
`adaptive` asks what the accounts can take: a step begins only while a slot is free for its
requests, and workers follow the queues. Invariants: all stages are judged from one snapshot; a
count changes by at most one at a time and stays between `k_min` and `k_max`, so that no stage is
ever without.
"""

import statistics
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["fixed", "paper", "adaptive"]
SIDE_ROUNDS = 4
"""Queue that an account may have to which few requests go, in multiples of its limit: enough that
its slow moments hold nobody up, and few enough that what waits there is not the whole run."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """Who decides on workers, and within what."""

    mode: Mode = "fixed"
    window_s: float = 60.0
    """Rates are those of the last so many seconds, (t - window, t]."""
    tick_s: float = 15.0
    """Between two decisions, at least."""
    k_min: int = 1
    k_max: int = 64
    workers: Mapping[str, int] = field(default_factory=dict)
    """Where a stage's count is not the usual one, and where it starts from if it changes."""

    def start(self, stage: str, usual: int) -> int:
        """Returns how many workers a stage begins with."""
        given = self.workers.get(stage, usual)
        return given if self.mode == "fixed" else self.bounded(given)

    def bounded(self, workers: int) -> int:
        """Returns the nearest count that is allowed."""
        return max(self.k_min, min(self.k_max, workers))


@dataclass(frozen=True, kw_only=True)
class StageFacts:
    """One stage at the time of a decision."""

    name: str
    workers: int
    n_written: int = 0
    """Items that it passed on or committed within the window."""
    ever_wrote: bool = True
    n_waiting: int = 0
    """Items queued for it, or blocked on their way to it."""
    judged: bool = True
    """False if it is the engine's own: its rate says nothing about the others."""
    accounts: frozenset[str] = frozenset()
    """Those that it asks."""
    full: frozenset[str] = frozenset()
    """Those of them on which requests wait for a slot."""


@dataclass(frozen=True, kw_only=True)
class Reallocation:
    """A stage's new number of workers, and why."""

    stage: str
    workers: int
    reason: str


class Meter:
    """Counts what stages write, over a sliding window."""

    def __init__(self, window_s: float, began_s: float) -> None:
        self.window_s = window_s
        self.began_s = began_s
        self._written: deque[tuple[float, str]] = deque()
        self._ever: set[str] = set()

    def wrote(self, stage: str, at_s: float) -> None:
        """A stage passed an item on; times never go back."""
        self._written.append((at_s, stage))
        self._ever.add(stage)

    def elapsed(self, at_s: float) -> bool:
        """Says whether a whole window has passed."""
        return at_s - self.began_s >= self.window_s

    def ever_wrote(self, stage: str) -> bool:
        """Says whether the stage has written anything since the meter began."""
        return stage in self._ever

    def counts(self, at_s: float) -> Counter[str]:
        """Returns how many items each stage wrote in (at - window, at]."""
        while self._written and self._written[0][0] <= at_s - self.window_s:
            self._written.popleft()
        return Counter(stage for _, stage in self._written)


def paper(
    control: Control, stages: Sequence[StageFacts], *, elapsed: bool = True
) -> list[Reallocation]:
    """Decides by rates alone, as the paper has it.

    `elapsed`: a whole window has passed; before that, and before every stage wrote once, nothing
    is decided. With two stages no rate exceeds twice the median, so nothing is ever taken away.
    """
    judged = [stage for stage in stages if stage.judged]
    if not judged or not elapsed or not all(stage.ever_wrote for stage in judged):
        return []
    # Counts of one window compare as rates do, and without rounding.
    middle = statistics.median(stage.n_written for stage in judged)
    found = []
    for stage in judged:
        rate = f"{60 * stage.n_written / control.window_s:g} items/min"
        of = f"the median of {60 * middle / control.window_s:g}"
        if 2 * stage.n_written < middle:
            found += _moved(control, stage, 1, f"{rate} < half {of}")
        elif stage.n_written > 2 * middle:
            found += _moved(control, stage, -1, f"{rate} > twice {of}")
    return found


def adaptive(control: Control, stages: Sequence[StageFacts]) -> list[Reallocation]:
    """Decides by queues: what overfeeds loses a worker, what holds others up gets one.

    A stage overfeeds if behind it items wait that only grow stale there: any for a stage that waits
    for slots of an account which both ask, or more than a round of a stage that can have no more
    workers. A stage holds others up if items wait for it while there are slots for it.
    """
    found = []
    overfed = ""
    crowded: dict[str, str] = {}
    for stage in reversed(stages):
        why = overfed or next((crowded[a] for a in sorted(stage.accounts & crowded.keys())), "")
        if why:
            found += _moved(control, stage, -1, why)
        elif stage.n_waiting and not stage.full:
            why = f"{stage.n_waiting} items wait for it and requests could be sent"
            found += _moved(control, stage, 1, why)
        wait = f"{stage.n_waiting} items wait for {stage.name!r}"
        if stage.n_waiting and stage.full:
            crowded |= dict.fromkeys(stage.full, f"{wait} and the backend is full")
        elif stage.n_waiting > stage.workers >= control.k_max:
            overfed = f"{wait}, which has all {stage.workers} workers"
    return found[::-1]


def may_begin(*, n_requests: int, limit: int, side: bool = False) -> bool:
    """Says whether an account can take another step's requests.

    `n_requests` are in flight on it, wait for it, or will in a moment. A `side` account, which few
    requests go to, may have a queue, of so many rounds and no more.
    """
    return n_requests < (limit * (1 + SIDE_ROUNDS) if side else limit)


def _moved(control: Control, stage: StageFacts, by: int, why: str) -> list[Reallocation]:
    workers = control.bounded(stage.workers + by)
    if workers == stage.workers:
        return []
    return [Reallocation(stage=stage.name, workers=workers, reason=why)]
