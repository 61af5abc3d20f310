"""Combee's configuration."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from flashevolve.algorithms.options import Options
from flashevolve.config.settings import Amount, Count
from flashevolve.engine.workflow import Setup

if TYPE_CHECKING:
    from flashevolve.algorithms.combee.workflow import CombeeWorkflow


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given > 0


def _batch(given: object) -> object:
    # In place of pydantic's own words, which name the member of the union that it tried last.
    if not _is_count(given) and given != "dynamic":
        raise ValueError('expected a whole number above 0, or "dynamic"')
    return given


def _trials(given: object) -> object:
    if not isinstance(given, list | tuple) or not given or not all(map(_is_count, given)):
        raise ValueError("expected a list of whole numbers above 0, such as [5, 10]")
    return given


Batch = Annotated[int | Literal["dynamic"], BeforeValidator(_batch)]
Trials = Annotated[tuple[int, ...], BeforeValidator(_trials)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class Combee(Options):
    """Many reflections at once, put together by a tree, in GEPA's pool (Li 2026)."""

    _: KW_ONLY
    batch: Batch = 10
    """Training examples that a step reflects on and is screened on, cut to the training set;
    "dynamic" = chosen from the time of one trial step for each of `batch_trials`."""
    copies: Count = 2
    """Times that each reflection is handed to a group, so that none is easily lost."""
    batch_trials: Trials = (5, 10, 20, 40)
    """Sizes that a dynamic batch tries first; those above the training set are cut to it."""
    batch_tau_s: Amount | None = None
    """A dynamic batch grows until one more example in it saves no more than so many seconds of an
    epoch; absent = 1.6 % of what it saves at the smallest size tried."""
    batch_max: int | None = Field(default=None, gt=0)
    """Largest dynamic batch; absent = the training set."""

    def n_examples(self, n_train: int) -> int:
        """Returns how many training examples a step takes at most."""
        return min(n_train, (self.batch_max or n_train) if self.batch == "dynamic" else self.batch)

    def workflow(self, setup: Setup) -> "CombeeWorkflow":
        """Returns the workflow for one run."""
        from flashevolve.algorithms.combee.workflow import CombeeWorkflow

        return CombeeWorkflow(self, setup)
