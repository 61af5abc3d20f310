import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from flashevolve.llm.gateway.door import Ended
from tests.fakes.gateway import Open, opened


def never(begun: list[int]) -> Any:
    async def work() -> None:
        begun.append(1)

    return work


def test_work_whose_client_left_before_it_began_is_never_made() -> None:
    begun = list[int]()

    def port(work: Coroutine[Any, Any, Any]) -> Any:
        raise AssertionError

    async def left(o: Open) -> None:
        task = asyncio.ensure_future(o.door.through(never(begun)))
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    async def main() -> None:
        async with opened() as o:
            await left(o)
            o.door._port = port
            await left(o)
            await o.door.close()
            with pytest.raises(Ended):
                await o.door.through(never(begun))

    asyncio.run(main())
    assert not begun
