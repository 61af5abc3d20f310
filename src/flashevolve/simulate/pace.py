"""An event loop in real time whose seconds are shorter or longer than ours.

`time()` starts at 0 and gains `scale` seconds per real second, so what waits for ten seconds on a
loop of scale 20 waits for half a real one. Whatever runs on it keeps its own numbers. Sockets and
threads are real, and what they cost is not scaled.
"""

import asyncio
import math
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from flashevolve.errors import ConfigError

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Takes time-outs in the loop's seconds."""

    scale = 1.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(None if timeout is None else timeout / self.scale)


class PacedLoop(asyncio.SelectorEventLoop):
    """An event loop with `scale` seconds per real second; see the module's docstring."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self._began_s = time.monotonic()
        selector = _Selector()
        selector.scale = scale
        super().__init__(selector)
        # The base class runs timers that are due before now + resolution.
        self._clock_resolution = scale * time.get_clock_info("monotonic").resolution

    def time(self) -> float:
        """Returns the loop's seconds since it was made."""
        return (time.monotonic() - self._began_s) * self.scale


def running_scale() -> float:
    """Returns the scale of the running loop; an ordinary one has 1."""
    loop = asyncio.get_running_loop()
    return loop.scale if isinstance(loop, PacedLoop) else 1.0


def run_paced(main: Coroutine[Any, Any, T], scale: float) -> T:
    """Runs a coroutine in a new paced loop, as `asyncio.run` does in an ordinary one.

    Raises `ConfigError` unless `scale` is above 0.
    """
    if not (math.isfinite(scale) and scale > 0):
        main.close()
        raise ConfigError(
            f"time scale: expected a number above 0, found {scale:g}; 20 = twenty seconds of the "
            "simulation in each real one"
        )
    with asyncio.Runner(loop_factory=lambda: PacedLoop(scale)) as runner:
        return runner.run(main)
