import subprocess
import sys
import threading
from concurrent.futures import wait

import pytest

from flashevolve.engine.threads import DaemonThreads

WAIT_S = 10.0


def test_results_and_errors_come_back_whatever_their_type() -> None:
    threads = DaemonThreads(2, "t")
    assert threads.submit(divmod, 7, 2).result(WAIT_S) == (3, 1)
    with pytest.raises(KeyboardInterrupt):
        threads.submit(_interrupt).result(WAIT_S)
    assert threads.submit(divmod, 9, 2).result(WAIT_S) == (4, 1)
    threads.shutdown()


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_no_more_threads_than_allowed_are_started_and_idle_ones_are_used_again() -> None:
    threads = DaemonThreads(2, "t")
    ran_in = [threads.submit(threading.get_ident) for _ in range(20)]
    wait(ran_in, WAIT_S)
    assert 1 <= len({future.result() for future in ran_in}) <= 2
    threads.shutdown()


def test_calls_that_wait_for_a_thread_can_be_cancelled() -> None:
    threads, go = DaemonThreads(1, "t"), threading.Event()
    first = threads.submit(go.wait, WAIT_S)
    second = threads.submit(threading.get_ident)
    third = threads.submit(threading.get_ident)
    assert second.cancel()
    go.set()
    assert first.result(WAIT_S)
    assert third.result(WAIT_S)
    threads.shutdown()


def test_nothing_is_taken_after_shutdown() -> None:
    threads = DaemonThreads(1, "t")
    threads.shutdown()
    with pytest.raises(RuntimeError, match="submit after shutdown"):
        threads.submit(threading.get_ident)


def test_a_process_ends_although_a_call_hangs() -> None:
    code = (
        "import threading; from flashevolve.engine.threads import DaemonThreads\n"
        "DaemonThreads(1, 't').submit(threading.Event().wait)\nprint('ended')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "ended\n"


def test_after_a_join_no_idle_thread_is_left() -> None:
    threads = DaemonThreads(4, "to-be-joined")
    wait([threads.submit(threading.get_ident) for _ in range(20)], WAIT_S)
    threads.shutdown()
    threads.join()
    assert not [t for t in threading.enumerate() if t.name.startswith("to-be-joined")]
