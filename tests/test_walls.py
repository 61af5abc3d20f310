"""The three walls of the house, and how light its front door is."""

import ast
import subprocess
import sys

import pytest

from tests.source import SRC, Module, imported, is_in, modules

SYSTEM = ("asyncio", "threading", "queue", "sqlite3", "time", "os", "pathlib", "socket")
DECIDERS = (
    *SYSTEM,
    "flashevolve.llm",
    "flashevolve.task",
    "flashevolve.store",
    "flashevolve.simulate",
    "flashevolve.algorithms",
    "flashevolve.workloads",
)
ALGORITHMS = ("asyncio", "sqlite3", "time", "threading", "queue", "tenacity", "flashevolve.store")
HEAVY = ("pydantic", "aiohttp", "rich", "click", "sqlite3", "asyncio", "tenacity")
EXTRAS = ("gepa", "dspy", "bm25s", "litellm", "openai", "numpy")
"""What only some users have installed, and others would wait for."""
ENGINE = "flashevolve.engine"
INTERFACE = (f"{ENGINE}.item", f"{ENGINE}.workflow")


def breaches(
    module: Module, forbidden: tuple[str, ...], engine: tuple[str, ...] | None = None
) -> set[str]:
    """Returns what a module imports and may not; `engine`: the engine's modules that it may."""
    found = {name for name in module.imports if any(is_in(name, f) for f in forbidden)}
    if engine is not None:
        inside = {name for name in module.imports if is_in(name, ENGINE) and name != ENGINE}
        found |= {name for name in inside if not any(is_in(name, e) for e in engine)}
        # `from flashevolve.engine import x` also gives flashevolve.engine.x, which is judged above.
    return found


@pytest.mark.parametrize(
    "module", [*modules("policies"), *modules("pools")], ids=lambda m: str(m.name)
)
def test_deciders_and_pools_are_pure(module: Module) -> None:
    assert breaches(module, DECIDERS, engine=(f"{ENGINE}.item",)) == set()


@pytest.mark.parametrize("module", modules("algorithms"), ids=lambda m: str(m.name))
def test_algorithms_hold_no_queue_lock_clock_or_retry(module: Module) -> None:
    assert breaches(module, ALGORITHMS, engine=INTERFACE) == set()


@pytest.mark.parametrize("module", modules("simulate"), ids=lambda m: str(m.name))
def test_the_simulation_knows_no_task_no_algorithm_and_no_engine(module: Module) -> None:
    forbidden = ("flashevolve.workloads", "flashevolve.algorithms", ENGINE, "flashevolve.task")
    assert breaches(module, forbidden) == set()


@pytest.mark.parametrize("module", modules("llm"), ids=lambda m: str(m.name))
def test_the_llm_boundary_knows_no_algorithm(module: Module) -> None:
    forbidden = ("flashevolve.algorithms", "flashevolve.workloads", "flashevolve.plugin")
    assert breaches(module, forbidden) == set()


def test_the_plug_in_door_leads_to_nothing_of_the_engine_but_its_interface() -> None:
    plugin = Module(SRC / "flashevolve" / "plugin.py")
    assert breaches(plugin, ALGORITHMS, engine=INTERFACE) == set()


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "from asyncio import sleep",
        "from flashevolve.engine.log import EventLog",
        "from flashevolve.engine import engine",
        "def late():\n    import queue",
    ],
)
def test_a_breach_of_the_algorithms_wall_would_be_seen(line: str) -> None:
    class Planted(Module):
        @property
        def imports(self) -> set[str]:
            return set(imported(ast.parse(line)))

    assert breaches(Planted(SRC), ALGORITHMS, engine=INTERFACE)


def test_gepa_is_at_most_600_lines_of_python() -> None:
    assert sum(len(m.text.splitlines()) for m in modules("algorithms/gepa")) <= 600


def test_importing_flashevolve_imports_nothing_heavy() -> None:
    assert loaded_by("import flashevolve", (*HEAVY, *EXTRAS)) == "[]"


@pytest.mark.parametrize(
    "first",
    [
        # What a run needs, a command of the shell, and the doors to gepa's and DSPy's users.
        "from flashevolve import optimize; from flashevolve.prepare import prepare",
        "import flashevolve.cli.main",
        "import flashevolve.integrations.gepa, flashevolve.integrations.dspy",
        "import flashevolve.llm.gateway.gateway, flashevolve.engine.session",
    ],
)
def test_nobody_waits_for_an_extra_that_is_not_used(first: str) -> None:
    assert loaded_by(first, EXTRAS) == "[]"


def test_the_gateways_server_is_loaded_when_somebody_asks_it() -> None:
    first = "import flashevolve.llm.gateway.gateway"
    assert loaded_by(first, ("aiohttp.web",)) == "[]"


def loaded_by(first: str, names: tuple[str, ...]) -> str:
    """Returns the list of those modules that are loaded after a line, in a process of its own."""
    code = f"{first}; print([m for m in {names} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SRC)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
