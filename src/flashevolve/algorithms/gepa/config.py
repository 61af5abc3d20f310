"""GEPA's configuration."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from flashevolve.algorithms.options import Options
from flashevolve.engine.workflow import Setup

if TYPE_CHECKING:
    from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
    from flashevolve.algorithms.pxn.workflow import PxNWorkflow


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class GEPA(Options):
    """Reflective prompt evolution with a per-example Pareto pool (Agrawal 2025)."""

    _: KW_ONLY
    minibatch: int = Field(default=3, ge=1)
    """Training examples that a step reflects on and is screened on."""
    parents: int = Field(default=1, ge=1)
    """P: parents that a step draws; gepa's PxN sampling with `proposals`."""
    proposals: int = Field(default=1, ge=1)
    """N: proposals for each of them, each from a minibatch of its own. With P x N above 1 a step
    does one stage for all of them before the next."""

    def n_examples(self, n_train: int) -> int:
        """Returns how many training examples a proposal takes at most."""
        return self.minibatch

    def workflow(self, setup: Setup) -> "GEPAWorkflow | PxNWorkflow":
        """Returns the workflow for one run."""
        from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
        from flashevolve.algorithms.pxn.workflow import PxNWorkflow

        if self.parents * self.proposals > 1:
            return PxNWorkflow(self, setup)
        return GEPAWorkflow(self, setup)
