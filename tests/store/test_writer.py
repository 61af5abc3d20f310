import asyncio
import itertools
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashevolve.errors import StoreError
from flashevolve.events import Event, StageTaken
from flashevolve.store import StoreReader, StoreWriter, writer
from flashevolve.store.group import Group
from flashevolve.store.writer import Mode
from tests.store.made import life, outcome, reserved, settled, taken

MODES: list[Mode] = ["threaded", "inline"]


def events(run_dir: Path) -> list[Event]:
    with StoreReader(run_dir) as store:
        return [record.event for record in store.records()]


@pytest.mark.parametrize("mode", MODES)
def test_what_was_appended_is_read_back_after_closing(tmp_path: Path, mode: Mode) -> None:
    log = life(20)
    with closing(StoreWriter.create(tmp_path / "new" / "run", mode)) as store:
        numbers = [store.append(group, 1.5) for group in log]
    assert numbers == list(itertools.accumulate(len(group) for group in log))
    assert events(tmp_path / "new" / "run") == [event for group in log for event in group]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["append", "wait", "reopen"]))))
def test_any_interleaving_of_appending_waiting_and_reopening_keeps_the_log(
    steps: list[tuple[int, str]],
) -> None:
    async def play(run_dir: Path, mode: Mode) -> list[Event]:
        store, log = StoreWriter.create(run_dir, mode), list[Event]()
        for size, step in steps:
            group = [taken(len(log) + i) for i in range(size)]
            log += group
            assert store.append(group, 0.0) == len(log)
            if step == "wait":
                await store.durable()
            if step == "reopen":
                store.close()
                store = StoreWriter.open(run_dir, mode)
                assert store.seq == len(log)
        store.close()
        return log

    for mode in MODES:
        with tempfile.TemporaryDirectory() as directory:
            assert asyncio.run(play(Path(directory), mode)) == events(Path(directory))


@pytest.mark.parametrize("mode", MODES)
def test_an_event_that_cannot_be_encoded_leaves_nothing_of_its_transaction(
    tmp_path: Path, mode: Mode
) -> None:
    with closing(StoreWriter.create(tmp_path, mode)) as store:
        with pytest.raises(TypeError, match="object is not JSON serializable"):
            store.append([taken(1), outcome(output=object())], 0.0)
        assert store.seq == 0
        assert store.append([taken(2)], 0.0) == 1
    assert events(tmp_path) == [taken(2)]


class Gate:
    """Stands before the writer's commits: counts them, and holds them back while shut."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_commits = 0
        self.open = threading.Event()
        self.reached = threading.Event()
        self._write = Group.write
        monkeypatch.setattr(Group, "write", lambda group, connection: self(group, connection))

    def __call__(self, group: Group, connection: sqlite3.Connection) -> None:
        self.n_commits += 1
        self.reached.set()
        assert self.open.wait(30)
        self._write(group, connection)


def test_what_gathers_during_a_commit_is_one_commit_and_one_wake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)

    async def append_and_wait() -> int:
        loop, n_wakes = asyncio.get_running_loop(), 0
        wake = loop.call_soon_threadsafe

        def counted(*args: Any, **kwargs: Any) -> asyncio.Handle:
            nonlocal n_wakes
            n_wakes += 1
            return wake(*args, **kwargs)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        with closing(StoreWriter.create(tmp_path)) as store:
            store.append([taken(0)], 0.0)
            assert gate.reached.wait(30)
            waiters = []
            for i in range(100):
                store.append([taken(i + 1), taken(i + 1)], 0.0)
                waiters.append(asyncio.create_task(store.durable()))
            await asyncio.sleep(0)
            assert not any(waiter.done() for waiter in waiters)
            gate.open.set()
            await asyncio.gather(*waiters)
        return n_wakes

    assert asyncio.run(append_and_wait()) <= 2
    assert gate.n_commits == 2
    assert len(events(tmp_path)) == 201


def test_durable_returns_only_when_another_connection_sees_the_events(tmp_path: Path) -> None:
    async def append_and_look() -> None:
        with (
            closing(StoreWriter.create(tmp_path)) as store,
            closing(sqlite3.connect(tmp_path / "run.sqlite")) as other,
        ):
            for i in range(1, 50):
                store.append([taken(i)], 0.0)
                await store.durable()
                assert other.execute("SELECT count(*) FROM events").fetchone() == (i,)

    asyncio.run(append_and_look())


def test_a_cancelled_waiter_does_not_disturb_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)

    async def cancel_one() -> None:
        with closing(StoreWriter.create(tmp_path)) as store:
            store.append([taken(1)], 0.0)
            waiters = [asyncio.create_task(store.durable()) for _ in range(3)]
            await asyncio.sleep(0)
            waiters[1].cancel()
            gate.open.set()
            done = await asyncio.gather(*waiters, return_exceptions=True)
            assert [type(result) for result in done] == [
                type(None), asyncio.CancelledError, type(None),
            ]  # fmt: skip

    asyncio.run(cancel_one())


def test_a_busy_event_loop_steps_aside_for_a_commit_that_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    monkeypatch.setattr(writer, "PATIENCE_S", 0.0)
    monkeypatch.setattr(writer, "YIELD_S", 30.0)

    async def be_busy_until_durable() -> int:
        with closing(StoreWriter.create(tmp_path)) as store:
            store.append([taken(1)], 0.0)
            assert gate.reached.wait(30)
            waiting = asyncio.create_task(store.durable())
            threading.Timer(0.05, gate.open.set).start()
            n_turns = 0
            while not waiting.done():
                n_turns += 1
                await asyncio.sleep(0)
            return n_turns

    # A loop that did not block would make thousands of turns before the gate opens.
    assert asyncio.run(be_busy_until_durable()) < 100


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "bad",
    [[settled(5)], [reserved(5), settled(5), settled(5)], [outcome(), outcome()]],
    ids=["never reserved", "settled twice", "outcome twice"],
)
def test_a_failure_stores_nothing_of_its_group_and_stays(
    tmp_path: Path, mode: Mode, bad: list[Event]
) -> None:
    async def fail() -> None:
        store = StoreWriter.create(tmp_path, mode)
        store.append([taken(1)], 0.0)
        await store.durable()
        assert len(list(store.records())) == 1  # commits, inline
        store.append([taken(2), *bad, taken(3)], 0.0)
        said = set()
        if mode == "threaded":
            with pytest.raises(StoreError, match=r"call|UNIQUE") as waited:
                await store.durable()
            said.add(str(waited.value))
        for call in (lambda: list(store.records()), store.latest_snapshot, store.close):
            with pytest.raises(StoreError, match=r"call|UNIQUE") as refused:
                call()
            said.add(str(refused.value))
        assert len(said) == 1
        assert "\n" not in said.pop()
        store.close()

    asyncio.run(fail())
    assert events(tmp_path) == [taken(1)]


def test_an_unforeseen_failure_of_the_thread_reaches_the_waiters(tmp_path: Path) -> None:
    async def fail() -> None:
        store = StoreWriter.create(tmp_path)
        store.append([taken(2**70)], 0.0)  # no SQLite integer
        with pytest.raises(StoreError, match=r"OverflowError.* Please report this"):
            await store.durable()
        with pytest.raises(StoreError, match="OverflowError"):
            store.append([taken(1)], 0.0)
        with pytest.raises(StoreError, match="OverflowError"):
            store.close()

    asyncio.run(fail())
    StoreWriter.open(tmp_path).close()


@pytest.mark.parametrize("mode", MODES)
def test_a_closed_writer_refuses_and_frees_the_run(tmp_path: Path, mode: Mode) -> None:
    store = StoreWriter.create(tmp_path, mode)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.append([taken(1)], 0.0)
    StoreWriter.open(tmp_path, mode).close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lock.pid", "lock.sqlite", "run.sqlite"]


def test_a_run_is_not_created_over_another(tmp_path: Path) -> None:
    StoreWriter.create(tmp_path).close()
    with pytest.raises(StoreError, match=r"already holds a run\. Resume it, or choose another"):
        StoreWriter.create(tmp_path)
    StoreWriter.open(tmp_path).close()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for run_dir in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(StoreError, match=r"cannot create .*file.* Check that the directory"):
            StoreWriter.create(run_dir)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Gives up the superuser's rights, to whom no permission applies, for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no read-only directories")
def test_a_read_only_directory_is_refused_for_writing_and_read() -> None:
    with tempfile.TemporaryDirectory() as directory:
        run_dir = Path(directory)
        with closing(StoreWriter.create(run_dir)) as store:
            store.append([taken(1)], 0.0)
        run_dir.chmod(0o555)
        for path in run_dir.iterdir():
            path.chmod(0o444)
        try:
            with ordinary_user():
                assert events(run_dir) == [taken(1)]
                with pytest.raises(StoreError, match=r"cannot lock .*sqlite: .* this user can"):
                    StoreWriter.open(run_dir)
                with pytest.raises(StoreError, match=r"cannot create .* this user can write"):
                    StoreWriter.create(run_dir / "new")
        finally:
            run_dir.chmod(0o755)


def test_inline_commits_by_rows_and_by_real_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    gate.open.set()
    now_s = 100.0
    monkeypatch.setattr("flashevolve.store.writer.time.monotonic", lambda: now_s)
    with closing(StoreWriter.create(tmp_path, "inline")) as store:
        for i in range(writer.INLINE_GROUP_ROWS - 1):
            store.append([taken(i)], 0.0)
        assert gate.n_commits == 0
        store.append([taken(0)], 0.0)
        assert gate.n_commits == 1
        store.append([taken(0)], 0.0)
        assert gate.n_commits == 1
        now_s += writer.INLINE_INTERVAL_S
        store.append([taken(0)], 0.0)
        assert gate.n_commits == 2
    assert len(events(tmp_path)) == writer.INLINE_GROUP_ROWS + 2


APPEND_FOR_EVER = """
import asyncio, itertools, sys
from flashevolve.store import StoreWriter
from tests.store.made import taken

async def main():
    writer, n = StoreWriter.create(sys.argv[1]), 0
    for i in itertools.count(1):
        size = i % 7 + 1
        last = writer.append([taken(i, "x" * (size * 40))] * size, 0.0)
        if i % 5 == 0:
            await writer.durable()
            print(last, flush=True)

asyncio.run(main())
"""


def child(script: str, *args: str, **kwargs: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *args], stdout=subprocess.PIPE, text=True, **kwargs
    )


def check_is_a_prefix(run_dir: Path) -> int:
    """Checks what `APPEND_FOR_EVER` left for holes and halves; returns the number of events."""
    with StoreReader(run_dir) as store:
        records = list(store.records())
    assert [r.seq for r in records] == list(range(1, len(records) + 1))
    tickets = [r.event.ticket for r in records if isinstance(r.event, StageTaken)]
    sizes = [len(list(same)) for _, same in itertools.groupby(tickets)]
    assert sizes == [i % 7 + 1 for i in range(1, len(sizes) + 1)]
    return len(records)


def test_readers_beside_a_writer_at_full_speed_see_growing_prefixes(tmp_path: Path) -> None:
    with child(APPEND_FOR_EVER, str(tmp_path)) as process:
        try:
            assert process.stdout is not None
            seen = [0]
            for _ in range(8):
                durable = int([process.stdout.readline() for _ in range(60)][-1])
                seen.append(check_is_a_prefix(tmp_path))
                assert seen[-1] >= max(durable, seen[-2])
        finally:
            process.kill()


@pytest.mark.parametrize("n_lines", [1, 40, 300])
def test_a_killed_writer_leaves_a_prefix_with_all_that_was_durable(
    tmp_path: Path, n_lines: int
) -> None:
    with child(APPEND_FOR_EVER, str(tmp_path)) as process:
        assert process.stdout is not None
        durable = [int(process.stdout.readline()) for _ in range(n_lines)][-1]
        process.kill()
    n_records = check_is_a_prefix(tmp_path)
    assert n_records >= durable
    with closing(StoreWriter.open(tmp_path)) as writer_again:
        assert writer_again.append([taken(1)], 0.0) == n_records + 1


FILL_THE_DISK = """
import asyncio, sys
from flashevolve.errors import StoreError
from flashevolve.store import StoreWriter
from tests.store.made import outcome

async def main():
    writer = StoreWriter.create(sys.argv[1], sys.argv[2])
    try:
        for i in range(100_000):
            last = writer.append([outcome(str(i), output=f"{i}" * 300)] * 1, 0.0)
            await writer.durable()
            print(last, flush=True)
    except StoreError as error:
        print(error, flush=True)
        for again in (lambda: writer.append([], 0.0), writer.close):
            try:
                again()
            except StoreError as later:
                assert str(later) == str(error)
            else:
                raise AssertionError("a failed writer went on")

asyncio.run(main())
"""


def limit_file_size() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
@pytest.mark.parametrize("mode", MODES)
def test_a_full_disk_is_one_clear_line_and_loses_nothing_durable(
    tmp_path: Path, mode: Mode
) -> None:
    with child(FILL_THE_DISK, str(tmp_path), mode, preexec_fn=limit_file_size) as process:
        printed = process.communicate()[0].splitlines()
    assert process.returncode == 0
    assert printed[-1].startswith(f"cannot write {tmp_path / 'run.sqlite'}: ")
    assert "Free space (or check the disk)" in printed[-1]
    stored = events(tmp_path)
    assert stored == [outcome(str(i), output=f"{i}" * 300) for i in range(len(stored))]
    if mode == "threaded":
        assert len(stored) == int(printed[-2])
    with closing(StoreWriter.open(tmp_path)) as store:
        assert store.append([taken(1)], 0.0) == len(stored) + 1
