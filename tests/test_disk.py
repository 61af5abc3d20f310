"""Trouble with the run's directory: one clear line, and nothing is lost that was recorded."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flashevolve as fe
from flashevolve import events as ev
from flashevolve.rundir import open_run, read_records
from tests.cli.made import simulated
from tests.fakes.endpoint import SILENCE, Endpoint, Received, Step
from tests.fakes.small import asked_again, evolution, lottery, read_and_answer
from tests.source import ROOT, SRC

ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{SRC}:{ROOT}"}


def evolve(endpoint: Endpoint, run_dir: Path) -> fe.Result:
    return fe.optimize(**evolution(endpoint, run_dir, score=lottery))


def in_a_process(
    endpoint: Endpoint, run_dir: Path, before: Callable[[], None] | None = None, **options: Any
) -> "subprocess.CompletedProcess[str]":
    given = {"base_url": endpoint.base_url, "run_dir": str(run_dir), "budget": {"metric_calls": 40}}
    return subprocess.run(
        [sys.executable, "-m", "tests.fakes.doomed", json.dumps({**given, **options})],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=before,
    )


def command_line(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "flashevolve", *arguments],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def assert_refused_in_one_line(done: "subprocess.CompletedProcess[str]", message: str) -> None:
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def check_whole(run_dir: Path) -> None:
    records = list(read_records(run_dir))
    assert [r.seq for r in records] == list(range(1, len(records) + 1))
    assert asked_again(records) == []
    counts = open_run(run_dir).state.conservation()
    assert counts.pop("created") == sum(counts.values()) > 0


def end_of_last_commit(log: Path) -> int:
    """Returns where the write-ahead log's last commit ends: a kill may leave half of a next one.

    A frame has 24 bytes before its page; a commit's last frame has a size there (bytes 4 to 7), and
    frames of an earlier use of the file have another salt (bytes 8 to 15).
    """
    raw = log.read_bytes()
    page_bytes, salt, end = int.from_bytes(raw[8:12], "big"), raw[16:24], 0
    for at in range(32, len(raw) - page_bytes - 23, page_bytes + 24):
        if raw[at + 8 : at + 16] != salt:
            break
        if any(raw[at + 4 : at + 8]):
            end = at + 24 + page_bytes
    assert end, "the log holds no commit"
    return end


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("n_torn_bytes", [1, 700, 5000])
def test_a_torn_last_write_costs_no_more_than_itself(n_torn_bytes: int, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with Endpoint(read_and_answer) as endpoint:
        assert in_a_process(endpoint, run_dir, die_at=["append", 120]).returncode < 0
        before = list(read_records(run_dir))
        log = run_dir / "run.sqlite-wal"
        with log.open("r+b") as file:
            file.truncate(end_of_last_commit(log) - n_torn_bytes)
        after = list(read_records(run_dir))
        assert after == before[: len(after)]
        assert 0 < len(after) < len(before)
        assert evolve(endpoint, run_dir).reason == "metric_calls"
    check_whole(run_dir)


def no_room() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
def test_a_full_disk_is_one_line_and_the_run_goes_on_once_there_is_room(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with Endpoint(read_and_answer) as endpoint:
        full = in_a_process(endpoint, run_dir, no_room)
        assert full.stderr.startswith(f"StoreError: cannot write {run_dir / 'run.sqlite'}: ")
        assert len(full.stderr.splitlines()) == 1
        assert len(endpoint.received) > 5
        check_whole(run_dir)
        assert evolve(endpoint, run_dir).reason == "metric_calls"
    check_whole(run_dir)


def unusable(tmp_path: Path, how: str) -> Path:
    """Returns a run directory that cannot be made, whoever asks: also root is refused these."""
    if how == "a file":
        (tmp_path / "file").write_text("")
        return tmp_path / "file"
    if how == "below a file":
        (tmp_path / "file").write_text("")
        return tmp_path / "file" / "run"
    return Path("/proc/flashevolve-run")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", ["a file", "below a file", "read-only"])
def test_a_directory_that_cannot_be_written_is_refused_in_one_line(
    how: str, tmp_path: Path
) -> None:
    run_dir = unusable(tmp_path, how)
    stops = pytest.raises(fe.FlashEvolveError, match=str(run_dir))
    with Endpoint(read_and_answer) as endpoint, stops as caught:
        evolve(endpoint, run_dir)
    assert "\n" not in str(caught.value)
    assert endpoint.received == []
    done = command_line("run", str(simulated(tmp_path)), "--run.dir", str(run_dir))
    assert_refused_in_one_line(done, str(run_dir))


def test_a_second_writer_is_refused_in_one_line_and_does_not_disturb_the_first(
    tmp_path: Path,
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def score(example: Any, output: str) -> tuple[float, str]:
        reached.set()
        assert go_on.wait(60)
        return lottery(example, output)

    run_dir = tmp_path / "run"
    with Endpoint(read_and_answer) as endpoint:
        first = fe.start(**evolution(endpoint, run_dir, score=score))
        assert reached.wait(60)
        second = in_a_process(endpoint, run_dir)
        assert f"{run_dir} is being written by another process" in second.stderr
        assert second.stderr.startswith("StoreError: ")
        assert len(second.stderr.splitlines()) == 1
        third = command_line("run", str(simulated(tmp_path)), "--run.dir", str(run_dir))
        assert_refused_in_one_line(third, "is being written by another process")
        with pytest.raises(fe.FlashEvolveError, match="is being written by another process"):
            evolve(endpoint, run_dir)
        go_on.set()
        assert first.result().reason == "metric_calls"
    check_whole(run_dir)


def test_a_run_that_is_still_going_on_can_be_read_by_another_process(tmp_path: Path) -> None:
    answered = 0
    reached = threading.Event()

    def script(received: Received) -> Step:
        nonlocal answered
        answered += 1
        if answered > 20:
            reached.set()
            return SILENCE
        return read_and_answer(received)

    code = (
        "import sys; from flashevolve.rundir import open_run, read_records\n"
        "print(open_run(sys.argv[1]).state.n_created, sum(1 for _ in read_records(sys.argv[1])))"
    )
    with Endpoint(script) as endpoint:
        run = fe.start(**evolution(endpoint, tmp_path / "run"))
        assert reached.wait(60)
        read = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "run")],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        run.stop()
        run.stop()
        run.result()
    n_created, n_records = map(int, read.stdout.split())
    assert n_created > 0
    assert n_records > 20
    ended = [r for r in read_records(run.dir) if isinstance(r.event, ev.RunEnded)]
    assert len(ended) == 1
