"""gepa: `optimize` with the arguments of gepa 0.1.4, on this engine. Needs the extra `gepa`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flashevolve.integrations.gepa.anything import optimize_anything
    from flashevolve.integrations.gepa.launch import optimize, run

__all__ = ["optimize", "optimize_anything", "run"]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module."""
    if name not in __all__:
        raise AttributeError(f"module 'flashevolve.integrations.gepa' has no attribute {name!r}")
    from importlib import import_module

    module = "anything" if name == "optimize_anything" else "launch"
    value = getattr(import_module(f"flashevolve.integrations.gepa.{module}"), name)
    globals()[name] = value
    return value
