"""How long a task takes besides its model: lognormal, and a function of (example, replica) alone.

It stands for what scoring (or running) an output costs in the world, whatever this machine needs.
"""

import math
from dataclasses import dataclass

from flashevolve.simulate.lengths import check_sigma, digest, normal


@dataclass(frozen=True, kw_only=True)
class LatencySettings:
    """The distribution of one workload's latency."""

    mean_s: float
    """Mean seconds per evaluation; 0 = it takes no time."""
    sigma: float
    """Standard deviation of the logarithm."""

    def __post_init__(self) -> None:
        for name in ("mean_s", "sigma"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        check_sigma("sigma", self.sigma)

    def draw_s(self, example_id: str, replica: int) -> float:
        """Returns the seconds that one evaluation takes."""
        if self.mean_s == 0:
            return 0.0
        z = normal(digest(b"latency", example_id.encode(errors="replace"), b"%d" % replica))
        return self.mean_s * math.exp(self.sigma * z - self.sigma**2 / 2)
