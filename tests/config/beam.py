"""An algorithm of a user's own, as configuration sees it."""

from pydantic import BaseModel, ConfigDict, Field


class Beam(BaseModel):
    """Keeps the best few."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    width: int = Field(4, gt=0)
    """Candidates kept."""
    greedy: bool = False
    """Whether to
    keep only one."""

    def workflow(self, setup: object) -> None:
        """Builds nothing: no test runs it."""
