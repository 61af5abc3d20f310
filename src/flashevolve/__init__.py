"""FlashEvolve: evolve prompts, playbooks, harnesses and programs with LLMs.

What is listed in `__all__` is what we promise to users; `flashevolve.plugin` is the same for those
who write algorithms. Names are loaded when they are first used, so that importing this is cheap.
"""

from typing import TYPE_CHECKING, Any

from flashevolve._version import __version__

if TYPE_CHECKING:
    from flashevolve.algorithms.combee import Combee
    from flashevolve.algorithms.gepa import GEPA
    from flashevolve.artifact import Artifact
    from flashevolve.config import Budget, Model, Price
    from flashevolve.engine.current import current
    from flashevolve.errors import FlashEvolveError
    from flashevolve.launch import aoptimize, optimize, resume, start
    from flashevolve.outcome import Outcome, Usage
    from flashevolve.result import Result
    from flashevolve.run import Run

__all__ = [  # noqa: RUF022  # reading order
    "optimize",
    "aoptimize",
    "start",
    "resume",
    "current",
    "Run",
    "Result",
    "Budget",
    "Model",
    "Price",
    "GEPA",
    "Combee",
    "Artifact",
    "Outcome",
    "Usage",
    "FlashEvolveError",
    "__version__",
]

_HOME = {
    "optimize": "launch",
    "aoptimize": "launch",
    "start": "launch",
    "resume": "launch",
    "current": "engine.current",
    "Run": "run",
    "Result": "result",
    "Budget": "config",
    "Model": "config",
    "Price": "config",
    "GEPA": "algorithms.gepa",
    "Combee": "algorithms.combee",
    "Artifact": "artifact",
    "Outcome": "outcome",
    "Usage": "outcome",
    "FlashEvolveError": "errors",
}


def __getattr__(name: str) -> Any:
    """Loads a public name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module 'flashevolve' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"flashevolve.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
