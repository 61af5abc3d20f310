"""A loop in virtual time that charges the CPU: what the process computes takes virtual time too.

In a plain virtual loop the engine is infinitely fast. Here each CPU second of the loop's thread is
a virtual second, so that a process that cannot keep up falls behind as it would in real time.

Invariants:

- `time()` moves by what is charged and by jumps to the next timer; it never runs backwards. What
  was computed is charged at the end of each turn of the loop, and where something free begins:
  reading a CPU clock is a system call, too dear for every question of the time.
- What runs within `free()` is not charged: it is the simulation's own work (the reader, lengths,
  the serving model), which in reality another machine does.
- Other threads are not charged: sync user functions compute while virtual time stands still, and
  take the time that the world gives them.
- Runs are not repeatable to the byte: they depend on how fast this machine is at the moment.
"""

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from flashevolve.simulate.loop import VirtualLoop

_NOTHING: AbstractContextManager[None] = nullcontext()


class ChargedLoop(VirtualLoop):
    """A virtual loop whose own CPU time passes; see the module's invariants.

    It must run in the thread that made it: its CPU clock counts that one alone.
    """

    def __init__(
        self, *, per_call_s: float = 0.0, cpu_s: Callable[[], float] = time.thread_time
    ) -> None:
        """`per_call_s` is charged for each request: what the simulation has no client to spend.

        `cpu_s` is a clock of CPU seconds that never runs backwards.
        """
        self.per_call_s = per_call_s
        self.free = _Free(self)
        self._cpu_s = cpu_s
        self._read_s = cpu_s()
        self._charged_s = 0.0
        super().__init__()

    def charge(self, seconds: float) -> None:
        """Lets virtual time pass as if the loop had computed for so long.

        Raises `ValueError` for less than nothing.
        """
        if seconds < 0:
            raise ValueError(f"time must not run backwards: expected a charge >= 0, got {seconds}")
        self._charged_s += seconds
        self._now_s += seconds
        self._clock_resolution = math.ulp(self._now_s)  # As the base class does when it jumps.

    def settle(self) -> None:
        """Charges what was computed since the last time; nothing while something free runs."""
        if not self.free.depth:
            read_s = self._cpu_s()
            self.charge(read_s - self._read_s)
            self._read_s = read_s

    def skip(self) -> None:
        """Forgets what was computed since the last time."""
        self._read_s = self._cpu_s()

    def charged_s(self) -> float:
        """Returns the seconds charged so far; over `time()`, the share for which it computed."""
        self.settle()
        return self._charged_s

    def _run_once(self) -> None:
        self.settle()
        super()._run_once()  # type: ignore[misc]  # private to the base class


class _Free:
    """A context whose CPU is not charged; may nest."""

    def __init__(self, loop: ChargedLoop) -> None:
        self._loop = loop
        self.depth = 0

    def __enter__(self) -> None:
        self._loop.settle()
        self.depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.depth -= 1
        if not self.depth:
            self._loop.skip()


def free() -> AbstractContextManager[None]:
    """Returns a context whose CPU is not charged; without a charged loop it does nothing.

    Never await within: what else runs meanwhile would be free as well.
    """
    loop = asyncio.get_running_loop()
    return loop.free if isinstance(loop, ChargedLoop) else _NOTHING


def charge_call() -> None:
    """Charges what one request costs a client, if the running loop charges anything."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, ChargedLoop) and loop.per_call_s:
        loop.charge(loop.per_call_s)
