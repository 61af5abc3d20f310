import os
import subprocess
import sys

import pytest

from flashevolve.cli.main import COMMANDS, cli, invoke
from flashevolve.errors import RunStopped

Capture = pytest.CaptureFixture[str]
HEAVY = ("rich", "pydantic", "aiohttp", "asyncio", "sqlite3", "flashevolve.engine")


def loaded(code: str) -> set[str]:
    """Returns the heavy modules that a process has imported at its end."""
    script = f"{code}\nimport sys\nprint(*(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_nothing_heavy() -> None:
    assert loaded("from flashevolve.cli.main import invoke; invoke(['--help'])") == set()


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert loaded("import flashevolve") == set()


def test_help_lists_every_command(capsys: Capture) -> None:
    assert invoke(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(name: str, capsys: Capture) -> None:
    assert invoke([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"Usage: flashevolve {name}" in out
    assert max(map(len, out.splitlines())) <= 80


def test_an_unknown_command_names_the_nearest(capsys: Capture) -> None:
    assert invoke(["rum"]) == 2
    assert capsys.readouterr().err == "error: no command 'rum'. Did you mean 'run'?\n"


def test_no_command_shows_the_help(capsys: Capture) -> None:
    assert invoke([]) == 2
    assert "Commands:" in capsys.readouterr().err


@pytest.mark.parametrize(("raised", "code"), [(RunStopped("a\nb"), 3), (KeyboardInterrupt(), 130)])
def test_exit_codes(
    raised: BaseException, code: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(cli, "main", fail)
    assert invoke(["ls"]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(cli, "main", fail)
    with pytest.raises(ZeroDivisionError, match="ours"):
        invoke(["ls"])


@pytest.mark.parametrize("arguments", [["config"], ["--help"], ["run", "--help"]])
def test_a_reader_that_goes_away_is_no_error(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "flashevolve", *arguments]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_text_that_the_terminal_cannot_show_is_spelled_out() -> None:
    script = [sys.executable, "-m", "flashevolve", "config", "漢"]
    environ = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(script, capture_output=True, env=environ, check=False)
    assert done.returncode == 2
    assert b"no key begins with '\\u6f22'" in done.stderr
