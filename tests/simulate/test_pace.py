import asyncio
import selectors
import time

import pytest

from flashevolve.errors import ConfigError
from flashevolve.simulate import pace
from flashevolve.simulate.pace import PacedLoop, run_paced, running_scale


def test_the_loop_starts_at_zero_and_its_seconds_pass_at_the_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    loop = PacedLoop(20.0)
    try:
        assert loop.time() == 0.0
        now_s = 1003.0
        assert loop.time() == 60.0
    finally:
        loop.close()


def test_the_selector_waits_in_real_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float | None] = []

    def select(self: object, timeout: float | None = None) -> list[object]:
        waited.append(timeout)
        return []

    monkeypatch.setattr(selectors.DefaultSelector, "select", select)
    selector = pace._Selector()
    selector.scale = 20.0
    selector.select(10.0)
    selector.select(None)
    selector.close()
    assert waited == [0.5, None]


def test_sleeping_takes_its_seconds_of_the_loop() -> None:
    async def main() -> float:
        began_s = asyncio.get_running_loop().time()
        await asyncio.sleep(5.0)
        return asyncio.get_running_loop().time() - began_s

    assert run_paced(main(), 1000.0) >= 5.0


def test_the_running_scale_is_the_loops_and_one_on_an_ordinary_loop() -> None:
    async def main() -> float:
        return running_scale()

    assert run_paced(main(), 20.0) == 20.0
    assert asyncio.run(main()) == 1.0


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_that_is_not_above_zero_is_refused(scale: float) -> None:
    async def main() -> None:
        """Never runs."""

    with pytest.raises(ConfigError, match="time scale: expected a number above 0, found"):
        run_paced(main(), scale)
