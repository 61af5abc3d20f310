"""A loop in virtual time that charges the CPU: what the process computes takes virtual time too.

In a plain virtual loop the engine is infinitely fast. Here each CPU second of the loop's thread is
a virtual second, so that a process that cannot keep up falls behind as it would in real time.

Invariants:

- `time()` moves by what is charged and by jumps to the next timer; it never runs backwards.
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


class CpuMeter:
    """CPU seconds of one thread, less those spent while paused; pauses may nest."""

    def __init__(self, cpu_s: Callable[[], float] = time.thread_time) -> None:
        """`cpu_s` is a clock of CPU seconds that never runs backwards."""
        self._cpu_s = cpu_s
        self._free_s = 0.0
        self._paused_at_s = 0.0
        self._depth = 0

    def read_s(self) -> float:
        """Returns the seconds that count so far, from an origin of no meaning."""
        now_s = self._paused_at_s if self._depth else self._cpu_s()
        return now_s - self._free_s

    def __enter__(self) -> None:
        if not self._depth:
            self._paused_at_s = self._cpu_s()
        self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._free_s += self._cpu_s() - self._paused_at_s


class ChargedLoop(VirtualLoop):
    """A virtual loop whose own CPU time passes; see the module's invariants.

    It must run in the thread that made it: its CPU clock counts that one alone.
    """

    def __init__(
        self, *, per_call_s: float = 0.0, cpu_s: Callable[[], float] = time.thread_time
    ) -> None:
        """`per_call_s` is charged for each request: what the simulation has no client to spend."""
        self.meter = CpuMeter(cpu_s)
        self.per_call_s = per_call_s
        self.charged_s = 0.0
        """CPU seconds charged so far, constants included, but for those since the last jump."""
        self._read_s = self.meter.read_s()
        super().__init__()

    def time(self) -> float:
        """Returns the virtual time in seconds; it passes while the loop computes."""
        # Bracketed: with nothing computed this is the very time that a timer waits for.
        return self._now_s + (self.meter.read_s() - self._read_s)

    def charge(self, seconds: float) -> None:
        """Lets virtual time pass as if the loop had computed for so long.

        Raises `ValueError` for less than nothing.
        """
        if seconds < 0:
            raise ValueError(f"time must not run backwards: expected a charge >= 0, got {seconds}")
        self.charged_s += seconds
        self._now_s += seconds
        self._clock_resolution = math.ulp(self._now_s)  # As the base class does when it jumps.

    def utilisation(self) -> float:
        """Returns the share of virtual time for which the loop computed: 1 = its limit."""
        self._settle()
        return self.charged_s / self._now_s if self._now_s else 0.0

    def _travel_to(self, when_s: float) -> None:
        self._settle()
        super()._travel_to(when_s)

    def _settle(self) -> None:
        """Turns what was read since the last time into virtual time that has passed."""
        read_s = self.meter.read_s()
        self.charge(read_s - self._read_s)
        self._read_s = read_s


def free() -> AbstractContextManager[None]:
    """Returns a context whose CPU is not charged; without a charged loop it does nothing.

    Never await within: what else runs meanwhile would be free as well.
    """
    loop = asyncio.get_running_loop()
    return loop.meter if isinstance(loop, ChargedLoop) else _NOTHING


def charge_call() -> None:
    """Charges what one request costs a client, if the running loop charges anything."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, ChargedLoop) and loop.per_call_s:
        loop.charge(loop.per_call_s)
