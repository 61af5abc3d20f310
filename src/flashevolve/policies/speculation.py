"""Speculation: what may be believed before all is known, and what follows if it was wrong.

Pure. A stage may go on after a fraction of its requests (FlashEvolve, section 3.3). Where the paper
compares a partial score with "the current pool score", we compare on the same examples, since the
first of them may be harder than the rest. What happens to steps that were derived from a candidate
that missed its confirmation is the staleness policy's to say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from statistics import fmean
from typing import Literal

from flashevolve.policies.reordering import Reorder

ReleaseKind = Literal["rollout", "sweep"]
Confirm = Literal["demote", "mean"]


@dataclass(frozen=True, kw_only=True)
class Speculation:
    """How far ahead stages may go; the default is not at all."""

    rollout: float = 1.0
    """Fraction of a rollout's requests after which its step goes on, in (0, 1]."""
    evaluate: float = 1.0
    """Fraction of a sweep after which its candidate may join the pool, in (0, 1]."""
    confirm: Confirm = "demote"
    """What becomes of a candidate that misses: the workflow's own rule decides, or it leaves."""
    reorder: Reorder = "discriminative"
    window: int = 3
    perfect_score: float = 1.0

    def fraction(self, kind: ReleaseKind | None) -> float:
        """Returns the fraction for a stage that declared `kind`; 1 = it waits for everything."""
        match kind:
            case "rollout":
                return self.rollout
            case "sweep":
                return self.evaluate
            case None:
                return 1.0


OFF = Speculation()
"""Every stage waits for all its requests."""


def n_first(fraction: float, n: int) -> int:
    """Returns how many of `n` requests make the fixed prefix: at least one, if there is any."""
    # 0.07 * 100 is a little more than 7 in floating point, and must not become 8.
    return min(n, max(1, ceil(fraction * n - 1e-9)))


def exceeds(scores: Mapping[str, float], reference: Mapping[str, float]) -> bool:
    """Says whether `scores` have the higher mean, compared on their own examples alone.

    False if there are none, or if the reference lacks one of them.
    """
    if not scores or not all(example in reference for example in scores):
        return False
    return fmean(scores.values()) > fmean(reference[example] for example in scores)


def comparable_mean(scores: Mapping[str, float], reference: Mapping[str, float]) -> float:
    """Returns what a partial sweep predicts for the whole: the reference's mean and the lead.

    The reference's mean over all its examples, plus what `scores` are ahead on their own.
    """
    ahead = fmean(scores.values()) - fmean(reference[example] for example in scores)
    return fmean(reference.values()) + ahead


def tainted_verdict(policy: str, repairs: int) -> Literal["continue", "discard", "repair"]:
    """Decides about a step that was derived from a candidate which missed its confirmation.

    Full lets its validation decide. Guarded discards it. A policy that repairs does so whatever
    the gap, but once; a step that was repaired already is discarded.
    """
    if policy == "full":
        return "continue"
    if policy == "guarded" or repairs:
        return "discard"
    return "repair"
