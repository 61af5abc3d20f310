"""Together: several coroutines at once, as one; the first failure ends them all.

`asyncio.TaskGroup` keeps its tasks in a set and cancels them in the order of their addresses, so
that the log of a run that is cut would differ from one process to the next. Here the order in which
they were given decides. Nothing outlives the call.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Returns the results in the order given; raises the earliest of what failed first."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        return [task.result() for task in tasks if task.done()]
    finally:
        left = [task for task in tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.gather(*left, return_exceptions=True)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # Looked at, so that asyncio does not report it as forgotten.
