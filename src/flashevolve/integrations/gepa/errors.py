"""Errors: what an adapter, or another object of the user's, did wrong."""

from flashevolve.engine.funds import BudgetExhausted
from flashevolve.errors import FlashEvolveError, RunStopped
from flashevolve.llm.errors import LLMError, ModelBug

OURS = (LLMError, BudgetExhausted, FlashEvolveError, ModelBug)
"""What passes through user code unchanged: it says what to do about it already."""


class AdapterFailed(RunStopped):
    """User code raised, and `raise_on_exception` says that the caller gets to see it."""

    def __init__(self, message: str, original: BaseException) -> None:
        super().__init__(message)
        self.original = original


class StepFailed(LLMError):
    """User code raised, and the run goes on: only this step fails."""

    kind = "adapter"


def failure(what: str, error: BaseException, *, raises: bool) -> Exception:
    """Returns what to raise where `what` (a method) raised `error`."""
    if isinstance(error, OURS) and (raises or isinstance(error, LLMError)):
        return error
    said = " ".join(str(error).split())
    message = said if isinstance(error, FlashEvolveError) else f"{what} raised {_named(error)}"
    if raises:
        return AdapterFailed(f"{message.rstrip('.')}. Mend it", error)
    return StepFailed(message)


def _named(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return type(error).__name__ + (f": {said}" if said else "")
