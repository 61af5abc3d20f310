"""Combee's configuration."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Gt, MinLen
from pydantic import ConfigDict, Field, Strict
from pydantic.dataclasses import dataclass

from flashevolve.algorithms.options import Options
from flashevolve.config.settings import Amount, Count
from flashevolve.engine.workflow import Setup

if TYPE_CHECKING:
    from flashevolve.algorithms.combee.workflow import CombeeWorkflow

Batch = Annotated[int, Strict(), Gt(0)] | Literal["dynamic"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class Combee(Options):
    """Many reflections at once, put together by a tree, in GEPA's pool (Li 2026)."""

    _: KW_ONLY
    batch: Batch = 10
    """Training examples that a step reflects on and is screened on; "dynamic" = chosen from the
    time of one trial step for each of `batch_trials`."""
    copies: Count = 2
    """Times that each reflection is handed to a group, so that none is easily lost."""
    batch_trials: Annotated[tuple[Count, ...], MinLen(1)] = (5, 10, 20, 40)
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
