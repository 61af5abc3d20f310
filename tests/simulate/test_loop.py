import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.errors import TaskError
from flashevolve.simulate.loop import VirtualLoop, run_virtual

T = TypeVar("T")


def running() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


def our_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("virtual-")]


@pytest.fixture(autouse=True)
def no_thread_stays_behind() -> Iterator[None]:
    before = set(our_threads())
    yield
    assert set(our_threads()) == before


def test_time_starts_at_zero_and_jumps_to_the_next_timer() -> None:
    async def main() -> list[float]:
        loop = running()
        times = [loop.time()]
        await asyncio.sleep(3600.0)
        times.append(loop.time())
        await asyncio.sleep(0.25)
        return [*times, loop.time()]

    started_s = time.monotonic()
    assert run_virtual(main()) == [0.0, 3600.0, 3600.25]
    assert time.monotonic() - started_s < 60.0


def test_time_stands_still_while_something_is_ready() -> None:
    async def main() -> float:
        for _ in range(100):
            await asyncio.sleep(0)
        return running().time()

    assert run_virtual(main()) == 0.0


def test_timers_fire_exactly_when_due_at_any_magnitude() -> None:
    async def main() -> None:
        loop = running()
        for delay_s in (1e-12, 1e3, 1e9, 1e-9, 2 * 86_400.0, 1e15, 1.0):
            due_s = loop.time() + delay_s
            await asyncio.sleep(delay_s)
            assert loop.time() == due_s

    run_virtual(main())


def test_a_timeout_fires_at_its_virtual_time() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(12.5):
                await asyncio.Event().wait()
        return running().time()

    assert run_virtual(main()) == 12.5


def test_time_stands_still_while_a_thread_computes() -> None:
    async def main() -> tuple[int, float, list[str]]:
        order: list[str] = []
        loop = running()
        loop.call_later(0.001, order.append, "timer")
        result = await asyncio.to_thread(compute, order)
        at_s = loop.time()
        await asyncio.sleep(1)
        return result, at_s, order

    def compute(order: list[str]) -> int:
        total = sum(range(100_000))
        order.append("thread")
        return total

    total, at_s, order = run_virtual(main())
    assert (total, at_s, order) == (sum(range(100_000)), 0.0, ["thread", "timer"])


def test_a_thread_that_waits_for_the_loop_lets_time_go_on() -> None:
    async def main() -> tuple[str, float]:
        loop = running()

        async def chat() -> str:
            await asyncio.sleep(7)
            return f"at {loop.time()}"

        def work() -> str:
            return loop.call_from_thread(chat()) + ", " + loop.call_from_thread(chat())

        return await asyncio.to_thread(work), loop.time()

    assert run_virtual(main()) == ("at 7.0, at 14.0", 14.0)


def test_many_threads_wait_at_once_and_come_back_in_the_order_of_virtual_time() -> None:
    async def main() -> tuple[list[int], float]:
        loop = running()
        back: list[int] = []

        def work(delay_s: int) -> None:
            loop.call_from_thread(asyncio.sleep(delay_s))
            back.append(delay_s)

        await asyncio.gather(*(asyncio.to_thread(work, d) for d in (5, 1, 4, 2, 3)))
        return back, loop.time()

    assert run_virtual(main()) == ([1, 2, 3, 4, 5], 5.0)


def test_only_one_thread_runs_at_a_time() -> None:
    async def main() -> int:
        loop = running()
        inside, most = 0, 0

        def work(key: int) -> None:
            nonlocal inside, most
            for step in range(3):
                inside += 1
                most = max(most, inside)
                sum(range(20_000))
                inside -= 1
                loop.call_from_thread(asyncio.sleep((key * 7 + step) % 3))

        await asyncio.gather(*(asyncio.to_thread(work, key) for key in range(12)))
        return most

    assert run_virtual(main()) == 1


def test_idle_threads_are_used_again() -> None:
    async def main() -> set[str]:
        names = [await asyncio.to_thread(lambda: threading.current_thread().name) for _ in range(9)]
        return set(names)

    assert run_virtual(main()) == {"virtual-0"}


def test_exceptions_cross_the_port_in_both_directions() -> None:
    async def main() -> str:
        loop = running()

        async def fail() -> None:
            await asyncio.sleep(1)
            raise ValueError("from the loop")

        def work() -> None:
            try:
                loop.call_from_thread(fail())
            except ValueError as error:
                raise LookupError(f"from the thread, after {error}") from error

        with pytest.raises(LookupError, match="from the thread, after from the loop"):
            await asyncio.to_thread(work)
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            await asyncio.to_thread(next, iter(()))
        return await asyncio.to_thread(lambda: "the worker survives")

    assert run_virtual(main()) == "the worker survives"


def test_context_variables_reach_the_thread_and_the_coroutine_that_it_calls() -> None:
    name: ContextVar[str] = ContextVar("name", default="nobody")

    async def main() -> str:
        loop = running()
        name.set("item 3")

        async def chat() -> str:
            return name.get()

        return await asyncio.to_thread(lambda: loop.call_from_thread(chat()))

    assert run_virtual(main()) == "item 3"


def test_cancelling_the_awaiting_task_cancels_what_the_thread_waits_for() -> None:
    seen: list[str] = []

    async def main() -> float:
        loop = running()

        async def chat() -> None:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                seen.append("coroutine")
                raise

        def work() -> None:
            for _ in range(2):
                try:
                    loop.call_from_thread(chat())
                except asyncio.CancelledError:
                    seen.append("thread")

        task = asyncio.create_task(asyncio.to_thread(work))
        await asyncio.sleep(3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(1)
        return loop.time()

    assert run_virtual(main()) == 4.0
    # The second call of the cancelled function is cancelled before its coroutine starts.
    assert seen == ["coroutine", "thread", "thread"]


def test_a_call_that_is_cancelled_before_it_starts_never_runs() -> None:
    ran: list[int] = []

    async def main() -> None:
        loop = running()
        future = loop.run_in_executor(None, ran.append, 1)
        future.cancel()
        await asyncio.sleep(1)

    run_virtual(main())
    assert ran == []


def test_a_late_cancellation_does_not_reach_the_next_job_of_the_same_worker() -> None:
    async def main() -> str:
        loop = running()

        async def chat() -> str:
            await asyncio.sleep(2)
            return "answered"

        first = loop.run_in_executor(None, lambda: loop.call_from_thread(chat()))
        # At 2.0 the wish of the first job is over; the future is cancelled in the same instant.
        loop.call_later(2.0, first.cancel)
        await asyncio.wait([first])
        return await asyncio.to_thread(lambda: loop.call_from_thread(chat()))

    assert run_virtual(main()) == "answered"


def test_closing_the_loop_ends_parked_threads_with_an_exception() -> None:
    seen: list[str] = []
    loop = VirtualLoop()
    never: asyncio.Future[None] = loop.create_future()

    async def wait() -> None:
        await never

    def work() -> None:
        for _ in range(2):
            try:
                loop.call_from_thread(wait())
            except asyncio.CancelledError as error:
                seen.append(str(error))
        seen.append("end")

    loop.run_in_executor(None, work)
    loop.call_later(1.0, loop.stop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    loop.close()
    assert seen == [
        "the event loop closed while this thread waited for it",
        "the event loop has let go of this thread",
        "end",
    ]
    for task in tasks:  # close() leaves tasks alone, as asyncio does
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.get_coro().close()


def test_run_virtual_cancels_leftover_tasks_and_their_threads() -> None:
    seen: list[str] = []

    async def main() -> str:
        loop = running()

        def work() -> None:
            try:
                loop.call_from_thread(asyncio.sleep(1000))
            finally:
                seen.append("unwound")

        main.task = asyncio.create_task(asyncio.to_thread(work))  # type: ignore[attr-defined]
        await asyncio.sleep(1)
        return "done"

    assert run_virtual(main()) == "done"
    assert seen == ["unwound"]


def test_a_thread_that_user_code_started_is_refused() -> None:
    async def main() -> None:
        loop = running()

        def work() -> None:
            with ThreadPoolExecutor(1, "mine") as pool:
                pool.submit(loop.call_from_thread, asyncio.sleep(1)).result()

        await asyncio.to_thread(work)

    with pytest.raises(TaskError, match=r"found thread 'mine_0'; make the function async"):
        run_virtual(main())


def test_the_loops_own_thread_may_not_wait_for_itself() -> None:
    async def main() -> None:
        running().call_from_thread(asyncio.sleep(1))

    with pytest.raises(TaskError, match="found thread 'MainThread'"):
        run_virtual(main())


def test_a_thread_pool_is_replaced_by_the_loops_own_threads() -> None:
    async def main() -> tuple[set[str], float]:
        loop = running()

        def work() -> str:
            loop.call_from_thread(asyncio.sleep(5))
            return threading.current_thread().name

        with ThreadPoolExecutor(1, "pool") as pool:
            calls = [loop.run_in_executor(pool, work) for _ in range(3)]
            return set(await asyncio.gather(*calls)), loop.time()

    assert run_virtual(main()) == ({"virtual-0", "virtual-1", "virtual-2"}, 5.0)


class Elsewhere(Executor):
    """An executor that is no thread pool, such as one of processes."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        with ThreadPoolExecutor(1, "elsewhere") as pool:
            return pool.submit(fn, *args, **kwargs)


def test_any_other_executor_is_waited_for_while_time_stands_still() -> None:
    async def main() -> tuple[str, float]:
        loop = running()
        name = await loop.run_in_executor(Elsewhere(), lambda: threading.current_thread().name)
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(Elsewhere(), divmod, 1, 0)
        return name, loop.time()

    assert run_virtual(main()) == ("elsewhere_0", 0.0)


def test_what_a_thread_waits_for_may_use_threads_itself() -> None:
    async def main() -> tuple[str, float]:
        loop = running()

        async def tool(depth: int) -> str:
            await asyncio.sleep(1)
            return await asyncio.to_thread(work, depth - 1)

        def work(depth: int) -> str:
            return f"<{loop.call_from_thread(tool(depth))}>" if depth else "bottom"

        return await asyncio.to_thread(work, 3), loop.time()

    assert run_virtual(main()) == ("<<<bottom>>>", 3.0)


def test_a_closed_loop_starts_no_thread() -> None:
    loop = VirtualLoop()
    loop.close()
    with pytest.raises(RuntimeError, match="closed: start threads while it runs"):
        loop.run_in_executor(None, int)


def test_another_thread_wakes_and_stops_an_idle_loop() -> None:
    loop = VirtualLoop()
    idle = threading.Event()
    loop.call_soon(idle.set)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    assert idle.wait(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    assert not thread.is_alive()
    loop.close()


def test_an_idle_loop_blocks_instead_of_spinning() -> None:
    loop = VirtualLoop()
    idle = threading.Event()
    used_s: list[float] = []

    def run() -> None:
        started_s = time.thread_time()
        loop.run_forever()
        used_s.append(time.thread_time() - started_s)

    loop.call_soon(idle.set)
    thread = threading.Thread(target=run)
    thread.start()
    assert idle.wait(10)
    thread.join(0.3)  # real time, on purpose: the loop must sleep through it
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()
    assert used_s[0] < 0.1


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX here")
def test_an_interrupt_gets_through_while_a_thread_hangs() -> None:
    release = threading.Event()
    hangs: list[threading.Thread] = []

    def hang() -> None:
        hangs.append(threading.current_thread())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        release.wait(30)

    async def main() -> None:
        await asyncio.to_thread(hang)

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main())
    assert hangs[0].daemon
    release.set()
    hangs[0].join(10)
    assert not hangs[0].is_alive()


Steps = list[tuple[bool, int]]
"""Per step: True = wait in the loop, False = compute in the thread or yield; and for how long."""


def trace_of(programs: list[tuple[bool, Steps]]) -> list[tuple[int, int, float]]:
    """Runs the programs, in threads or as tasks; returns (program, step, time) in order."""
    trace: list[tuple[int, int, float]] = []

    async def main() -> None:
        loop = running()

        def threaded(key: int, steps: Steps) -> None:
            for number, (waits, amount) in enumerate(steps):
                if waits:
                    loop.call_from_thread(asyncio.sleep(amount))
                else:
                    sum(range(amount * 500))
                trace.append((key, number, loop.time()))

        async def task(key: int, steps: Steps) -> None:
            for number, (waits, amount) in enumerate(steps):
                await asyncio.sleep(amount if waits else 0)
                trace.append((key, number, loop.time()))

        coros: list[Coroutine[Any, Any, None]] = [
            asyncio.to_thread(threaded, key, steps) if in_thread else task(key, steps)
            for key, (in_thread, steps) in enumerate(programs)
        ]
        await asyncio.gather(*coros)

    run_virtual(main())
    return trace


steps = st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), steps), max_size=6))
def test_threads_and_timers_interleave_the_same_way_every_time(
    programs: list[tuple[bool, Steps]],
) -> None:
    trace = trace_of(programs)
    assert repr(trace) == repr(trace_of(programs))
    assert [t for _, _, t in trace] == sorted(t for _, _, t in trace)
    for key, (_, given_steps) in enumerate(programs):
        elapsed, at_s = 0, []
        for waits, amount in given_steps:
            elapsed += amount if waits else 0
            at_s.append(float(elapsed))
        assert [t for k, _, t in trace if k == key] == at_s


def test_a_thread_that_a_worker_waits_for_may_wait_in_its_name() -> None:
    async def slept(s: float) -> float:
        await asyncio.sleep(s)
        return running().time()

    def work(loop: VirtualLoop) -> list[float]:
        port = loop.port_of_thread()
        with ThreadPoolExecutor(3) as helpers:
            found = sorted(helpers.map(lambda s: port(slept(s)), (1.0, 1.0, 1.0)))
        return [*found, loop.call_from_thread(slept(1.0))]

    async def main() -> list[list[float]]:
        loop = running()
        return await asyncio.gather(*(loop.run_in_executor(None, work, loop) for _ in range(2)))

    # One after the other for each of the two, which wait at the same time.
    assert run_virtual(main()) == [[1.0, 2.0, 3.0, 4.0]] * 2


def test_a_worker_does_not_end_before_what_is_asked_in_its_name() -> None:
    async def slept() -> float:
        begun.set()
        await asyncio.sleep(1.0)
        return running().time()

    def work(loop: VirtualLoop) -> None:
        port = loop.port_of_thread()
        helper = threading.Thread(target=lambda: found.append(port(slept())))
        helpers.append(helper)
        helper.start()
        assert begun.wait(10)

    async def main() -> float:
        await running().run_in_executor(None, work, running())
        return running().time()

    begun, found, helpers = threading.Event(), list[float](), list[threading.Thread]()
    assert run_virtual(main()) == 1.0
    helpers[0].join(10)
    assert found == [1.0]


class Gate:
    """A worker's `yielded`: holds the loop at a call's end until another thread has asked."""

    def __init__(self, inner: Any, worker: threading.Thread) -> None:
        self._inner, self._worker = inner, worker
        self.ended, self.asked = threading.Event(), threading.Event()

    def release(self) -> None:
        try:
            self._inner.release()
        finally:
            (self.ended if threading.current_thread() is self._worker else self.asked).set()

    def acquire(self, timeout: float) -> bool:
        if not self._inner.acquire(timeout=timeout):
            return False
        assert not self.ended.is_set() or self.asked.wait(10)
        return True


@pytest.mark.parametrize("is_late", [False, True], ids=["at its end", "in the next call"])
def test_who_asks_in_the_name_of_a_call_that_is_over_is_refused(is_late: bool) -> None:
    async def nothing() -> None:
        raise AssertionError

    def ask(port: Callable[[Coroutine[Any, Any, None]], None], gate: Gate) -> None:
        assert gate.ended.wait(10)
        try:
            port(nothing())
        except BaseException as error:
            refused.append(error)
        finally:
            gate.asked.set()

    def work(loop: VirtualLoop) -> None:
        n_calls.append(1)
        gate = gates[-1]
        helper = threading.Thread(target=ask, args=(loop.port_of_thread(), gate))
        helpers.append(helper)
        helper.start()
        if is_late:
            ports.append(loop.port_of_thread())

    def after() -> None:
        try:
            ports[0](nothing())
        except BaseException as error:
            refused.append(error)

    async def main() -> None:
        loop = running()
        await loop.run_in_executor(None, threading.current_thread)
        worker = loop._workers[0]
        gate = Gate(worker.yielded, worker.thread)
        gates.append(gate)
        worker.yielded = gate  # type: ignore[assignment]
        await loop.run_in_executor(None, work, loop)
        if is_late:
            worker.yielded = gate._inner
            await loop.run_in_executor(None, after)
        helpers[0].join(10)

    n_calls, gates, ports = list[int](), list[Gate](), list[Any]()
    helpers, refused = list[threading.Thread](), list[BaseException]()
    run_virtual(main())
    assert len(n_calls) == 1
    assert [type(error) for error in refused] == [asyncio.CancelledError] * (1 + is_late)


def test_only_the_loops_threads_have_a_port() -> None:
    async def main() -> None:
        with pytest.raises(TaskError, match="in virtual time a model is called from the thread"):
            running().port_of_thread()

    run_virtual(main())
