"""Text algorithms run where there is no `fcntl`, `resource` or `pwd`, as on Windows."""

import subprocess
import sys
from pathlib import Path

from tests.source import SRC, modules

NOT_FOR_TEXT = ("flashevolve.sandbox", "flashevolve.executors", "flashevolve.integrations")
"""Where code that a model wrote runs, and other libraries are adapted to."""

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "pwd", "grp", "termios"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Blocked())
"""
RUN = """
import flashevolve as fe

result = fe.optimize(
    seed={"system": "Answer."},
    train=[{"id": f"t{i}", "input": f"question {i}"} for i in range(6)],
    val=[{"id": f"v{i}", "input": f"other question {i}"} for i in range(3)],
    score=lambda example, output: len(output) % 7 / 7,
    models="sim/h100-qwen3-8b",
    budget=fe.Budget(metric_calls=60),
    run_dir=sys.argv[1],
)
print(result.reason, result.counters["committed"] > 0)
"""


def python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    path = f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", path + code, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_every_module_that_text_algorithms_need_imports_without_posix_modules() -> None:
    names = [m.name for m in modules() if not m.name.startswith(NOT_FOR_TEXT)]
    imports = "\n".join(f"import {name}" for name in names if not name.endswith("__main__"))
    done = python(BLOCKED + imports)
    assert done.returncode == 0, done.stderr


def test_a_simulated_run_needs_no_posix_modules(tmp_path: Path) -> None:
    done = python(BLOCKED + RUN, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["metric_calls", "True"]


def test_the_blocked_modules_are_really_out_of_reach() -> None:
    assert "No module named 'fcntl'" in python(BLOCKED + "import fcntl").stderr
