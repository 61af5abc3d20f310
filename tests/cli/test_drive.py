"""Ctrl-C, once, twice and three times: the store is safe at each, and the run goes on later."""

import json
from functools import partial
from pathlib import Path

import pytest

from flashevolve.cli.main import invoke
from flashevolve.engine.state import RunState
from flashevolve.rundir import open_run
from tests.cli.made import project, reply
from tests.cli.processes import Busy, running
from tests.fakes.endpoint import SILENCE, Endpoint

Capture = pytest.CaptureFixture[str]


def conserved(run_dir: Path) -> RunState:
    state = open_run(run_dir).state
    counts = state.conservation()
    assert counts.pop("created") == sum(counts.values())
    return state


def resumed(run_dir: Path, capsys: Capture) -> None:
    """Resumes a run in this process, and checks that it ends well and within its budget."""
    assert invoke(["resume", str(run_dir), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert not result["resumable"]
    assert result["spent"]["metric_calls"] <= 200
    assert result["test_score"] is not None
    assert not conserved(run_dir).in_flight


def test_the_first_interrupt_drains(tmp_path: Path, capsys: Capture) -> None:
    script = Busy(40, partial(reply, latency_s=0.05))
    with Endpoint(script) as endpoint:
        config = project(tmp_path, endpoint.base_url, budget="[budget]\nmetric_calls = 200")
        run_dir = tmp_path / "r"
        with running("run", str(config), "--run-dir", str(run_dir), "--json") as process:
            script.wait()
            process.interrupt()
            process.until("stopping: steps under way finish")
            code, out, err = process.end()
        assert code == 130, err
        assert f"continue with: flashevolve resume {run_dir}" in err
        assert json.loads(out)["reason"] == "stop"
        state = conserved(run_dir)
        assert state.in_flight
        assert not state.calls
        script.late = reply
        resumed(run_dir, capsys)


def test_the_second_interrupt_cancels(tmp_path: Path, capsys: Capture) -> None:
    script = Busy(40, lambda received: SILENCE)
    with Endpoint(script) as endpoint:
        config = project(tmp_path, endpoint.base_url, budget="[budget]\nmetric_calls = 200")
        run_dir = tmp_path / "r"
        with running("run", str(config), "--run-dir", str(run_dir), "--json") as process:
            script.wait()
            process.interrupt()
            process.until("stopping:")
            process.interrupt()
            process.until("cancelling:")
            code, out, err = process.end()
        assert code == 130, err
        assert "flashevolve resume" in err
        assert json.loads(out)["resumable"] is True
        assert conserved(run_dir).in_flight
        script.late = reply
        resumed(run_dir, capsys)


STUBBORN = """
import asyncio
from pathlib import Path

async def run(artifact, example, ctx):
    reply = await ctx.chat("task", example["input"])
    while Path(__file__).with_name("stuck").exists():
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            pass
    return reply.text
"""


def test_the_third_interrupt_ends_the_process_at_once(tmp_path: Path, capsys: Capture) -> None:
    script = Busy(1)
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    (tmp_path / "stuck").touch()
    with Endpoint(script) as endpoint:
        task = '[task]\nmetric = "exact"\nrun = "stubborn:run"\nmetered = true'
        budget = "[budget]\nmetric_calls = 200"
        config = project(tmp_path, endpoint.base_url, task=task, budget=budget)
        run_dir = tmp_path / "r"
        with running("run", str(config), "--run-dir", str(run_dir), "--json") as process:
            script.wait()
            for line in ("stopping:", "cancelling:", "exiting at once"):
                process.interrupt()
                process.until(line)
            code, out, err = process.end()
        assert code == 130, err
        assert out == ""
        assert conserved(run_dir).in_flight
        (tmp_path / "stuck").unlink()
        resumed(run_dir, capsys)


def test_a_second_writer_is_refused_and_ls_sees_the_run_under_way(
    tmp_path: Path, capsys: Capture
) -> None:
    script = Busy(10, lambda received: SILENCE)
    with Endpoint(script) as endpoint:
        run_dir = tmp_path / "runs" / "r"
        config = project(tmp_path, endpoint.base_url)
        with running("run", str(config), "--run-dir", str(run_dir)) as process:
            script.wait()
            assert invoke(["ls", str(tmp_path / "runs"), "--json"]) == 0
            (row,) = json.loads(capsys.readouterr().out)["runs"]
            assert row["state"] == "running"
            assert invoke(["run", str(config), "--run-dir", str(run_dir)]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert "is being written by another process" in line
            process.close()
    assert invoke(["ls", str(tmp_path / "runs")]) == 0
    assert "resumable" in capsys.readouterr().out


def test_following_ends_with_the_run(tmp_path: Path) -> None:
    script = Busy(10, lambda received: SILENCE)
    with Endpoint(script) as endpoint:
        run_dir = tmp_path / "r"
        config = project(tmp_path, endpoint.base_url)
        with running("run", str(config), "--run-dir", str(run_dir)) as process:
            script.wait()
            with running("events", str(run_dir), "--follow") as follower:
                process.interrupt()
                process.until("stopping:")
                process.interrupt()
                assert process.end()[0] == 130
                code, out, err = follower.end()
    assert code == 0, err
    kinds = [json.loads(line)["kind"] for line in out.splitlines()]
    assert kinds[0] == "run_started"
    assert kinds[-1] == "run_ended"
    assert "call_reserved" in kinds
