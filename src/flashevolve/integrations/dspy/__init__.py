"""DSPy: `GEPA` with `dspy.GEPA`'s calling convention, on our engine. Needs the extra `dspy`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flashevolve.integrations.dspy.optimizer import GEPA

__all__ = ["GEPA"]


def __getattr__(name: str) -> Any:
    if name == "GEPA":
        # DSPy takes a second to import.
        from flashevolve.integrations.dspy.optimizer import GEPA

        return GEPA
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
