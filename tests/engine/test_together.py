import asyncio

import pytest

from flashevolve.engine.together import together
from flashevolve.simulate.loop import run_virtual


async def after(delay_s: float, value: int, log: list[str] | None = None) -> int:
    try:
        await asyncio.sleep(delay_s)
    except asyncio.CancelledError:
        if log is not None:
            log.append(f"cancelled {value}")
        raise
    if value < 0:
        raise ValueError(f"value {value}")
    return value


def test_results_come_in_the_order_given_whatever_takes_longest() -> None:
    async def main() -> list[int]:
        return await together(after(3 - n, n) for n in range(3))

    assert run_virtual(main()) == [0, 1, 2]


def test_nothing_to_do_gives_nothing() -> None:
    async def main() -> list[int]:
        return await together([])

    assert run_virtual(main()) == []


def test_the_first_failure_cancels_the_others_in_the_order_given_and_waits_for_them() -> None:
    log: list[str] = []

    async def main() -> None:
        with pytest.raises(ValueError, match="value -1"):
            await together([*(after(9, n, log) for n in range(20)), after(1, -1, log)])
        assert log == [f"cancelled {n}" for n in range(20)]

    run_virtual(main())


def test_of_several_that_fail_at_once_the_first_given_is_raised() -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="value -2"):
            await together([after(2, 1), after(1, -2), after(1, -3)])

    run_virtual(main())


def test_who_cancels_the_caller_cancels_all_in_the_order_given() -> None:
    log: list[str] = []

    async def main() -> None:
        task = asyncio.ensure_future(together(after(9, n, log) for n in range(20)))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert log == [f"cancelled {n}" for n in range(20)]

    run_virtual(main())
