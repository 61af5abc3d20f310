import json
import re
import signal
import socket
import urllib.request
from pathlib import Path

import pytest

from flashevolve.cli.main import invoke
from flashevolve.simulate.world import WORLD_FILE, load_world
from tests.cli.processes import running

Capture = pytest.CaptureFixture[str]


def ask(url: str) -> tuple[str, str]:
    """Returns an answer's text and the hash of the world that it says it comes from."""
    body = {"model": "h100-qwen3-8b", "messages": [{"role": "user", "content": "Say hello."}]}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        text = json.load(response)["choices"][0]["message"]["content"]
        return text, response.headers["x-flashevolve-world"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped_and_says_what_it_did(
    number: signal.Signals, tmp_path: Path
) -> None:
    mine = tmp_path / "world.toml"
    text = WORLD_FILE.read_text(encoding="utf-8")
    mine.write_text(text.replace("mean_tokens = 699.0", "mean_tokens = 40.0"), encoding="utf-8")
    world_hash = load_world(mine).hash
    options = ["--port", "0", "--time-scale", "500", "--world", str(mine), "--seed", "3"]
    with running("sim", "serve", *options) as process:
        ready = process.until("simulated h100-qwen3-8b at ")
        told = re.search(r"at (\S+) \(world (\w+), time scale 500\); Ctrl-C stops it$", ready)
        assert told
        assert told[2] == world_hash != load_world().hash
        answered, by = ask(told[1])
        assert answered
        assert by == world_hash
        process.interrupt(number)
        code, out, err = process.end()
    assert (code, out) == (0, "")
    last = err.splitlines()[-1]
    assert last == "stopped; requests answered 1, refused 0, left by their clients 0"


def test_a_port_that_is_taken_is_told_in_one_line(capsys: Capture) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert invoke(["sim", "serve", "--port", str(port)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: 127.0.0.1:{port}: expected an address to listen on, found it")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--preset", "h100-qwen3"], "Did you mean 'h100-qwen3-8b'"),
        (["--time-scale", "0"], "time scale: expected a number above 0, found 0"),
        (["--world", "nowhere.toml"], "nowhere.toml: expected a readable TOML file"),
        (["--port", "70000"], "70000 is not in the range"),
    ],
)
def test_a_mistake_is_one_line(options: list[str], message: str, capsys: Capture) -> None:
    assert invoke(["sim", "serve", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_its_commands_are_listed(capsys: Capture) -> None:
    assert invoke(["sim", "--help"]) == 0
    assert "\n  serve " in capsys.readouterr().out
