import subprocess
import sys
from pathlib import Path

import pytest

from flashevolve.errors import StoreError
from flashevolve.store import RunLock, StoreWriter
from flashevolve.store.lock import LOCK_DATABASE, LOCK_PID, is_locked

HOLD = """
import sys
from pathlib import Path
from flashevolve.store import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def hold_in_child(run_dir: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run_dir)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_second_writer_is_refused_in_one_line_until_the_first_is_killed(tmp_path: Path) -> None:
    StoreWriter.create(tmp_path).close()
    with hold_in_child(tmp_path) as child:
        try:
            with pytest.raises(
                StoreError, match=rf"another process \(pid {child.pid}\)"
            ) as refused:
                StoreWriter.open(tmp_path)
            assert str(tmp_path) in str(refused.value)
            assert "\n" not in str(refused.value)
        finally:
            child.kill()
            child.wait()
    StoreWriter.open(tmp_path).close()


def test_a_second_lock_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with RunLock(tmp_path), pytest.raises(StoreError, match="is being written"):
        RunLock(tmp_path)
    RunLock(tmp_path).release()


@pytest.mark.parametrize("garbage", [None, "not a number"])
def test_the_refusal_does_without_the_pid(tmp_path: Path, garbage: str | None) -> None:
    with RunLock(tmp_path):
        (tmp_path / LOCK_PID).unlink()
        if garbage:
            (tmp_path / LOCK_PID).write_text(garbage)
        with pytest.raises(StoreError, match=r"by another process\. Wait"):
            RunLock(tmp_path)


def test_a_lock_in_a_missing_directory_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot lock .*gone.*lock\.sqlite: unable to open"):
        RunLock(tmp_path / "gone")


def test_a_lock_file_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / LOCK_DATABASE).write_bytes(b"something else" * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        RunLock(tmp_path)


def test_others_see_whether_a_run_is_being_written_and_change_nothing(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with hold_in_child(tmp_path) as child:
        try:
            assert is_locked(tmp_path)
        finally:
            child.kill()
            child.wait()
    assert not is_locked(tmp_path)
    with RunLock(tmp_path):
        assert is_locked(tmp_path)
        assert is_locked(tmp_path)  # a look does not release the lock of its own process
        with pytest.raises(StoreError, match="is being written"):
            RunLock(tmp_path)
