"""Predicting Combee: does the calibrated world foresee what nobody fitted it to?

The shapes are solved from synchronous GEPA alone. Run under them, with the same client, Combee
should make about as many proposals a minute as published. If the median error is not below log 1.5,
ratios between algorithms in this world deserve little trust, and every report of them says so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from flashevolve.bench.cell import Row
from flashevolve.bench.published import COMBEE_TABLE

GROUP = "baseline client"
"""How the group of a row starts that was made with the baseline's requests in flight."""
RATE = "steady_proposed_per_min"
LIMIT = math.log(1.5)
"""Largest median error with which ratios are shown without a warning."""


def group_of(shape: str) -> str:
    """Returns the group of rows that were made with the baseline's client."""
    return f"{GROUP}, {shape}"


def arm_of(batch: int) -> str:
    """Returns the arm of a fixed batch of Combee."""
    return f"Combee {batch}"


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """Proposals a minute of one setting."""

    batch: int
    shape: str
    found: float
    published: float

    @property
    def error(self) -> float:
        """Natural logarithm of found over published; `inf` where nothing was proposed."""
        return math.log(self.found / self.published) if self.found > 0 else math.inf


def predictions(rows: Sequence[Row]) -> list[Predicted]:
    """Returns what rows predict, in the order of the published table; missing rows are left out."""
    made = []
    for batch, table in COMBEE_TABLE.items():
        for shape, published in table.items():
            found = [
                row.figures.get(RATE) or 0.0
                for row in rows
                if row.group == group_of(shape) and row.arm == arm_of(batch)
            ]
            if found:
                one = Predicted(
                    batch=batch,
                    shape=shape,
                    found=fmean(found),
                    published=published.proposals_per_min,
                )
                made.append(one)
    return made


def median_error(rows: Sequence[Row]) -> float | None:
    """Returns the median of the absolute errors; None unless all settings were run."""
    made = predictions(rows)
    if len(made) < sum(map(len, COMBEE_TABLE.values())):
        return None
    return median(abs(one.error) for one in made)


def ratio_warning(rows: Sequence[Row]) -> str | None:
    """Returns what a report of ratios has to say first; None if the prediction is good enough.

    `rows` are those of the suite `throughput`, of any seeds.
    """
    error = median_error(rows)
    if error is not None and error < LIMIT:
        return None
    if error is None:
        return (
            "WARNING: the prediction of Combee was not made in this world (run `flashevolve bench "
            "throughput`), so that ratios between algorithms are not checked against anything."
        )
    return (
        f"WARNING: this world misses Combee's published proposals/min by a factor of "
        f"{math.exp(error):.2f} in the median ({math.exp(LIMIT):.1f} was allowed): ratios between "
        "algorithms are to be read with that much doubt."
    )
