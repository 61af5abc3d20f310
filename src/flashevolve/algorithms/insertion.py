"""Insertion: what a commit changes in a Pareto pool, for a model that repairs what is stale now."""

from collections.abc import Mapping, Sequence

from flashevolve.artifact import Artifact
from flashevolve.pools.pareto import ParetoPool


def in_words(
    candidate: int,
    artifact: Artifact,
    scores: Mapping[str, float],
    parents: Sequence[int],
    pool: ParetoPool,
) -> str:
    """Returns the candidate's and its parents' means, and what it changes in the first's texts."""
    mean = sum(scores.values()) / len(scores)
    text = f"Candidate {candidate} scores {number(mean)} on {len(scores)} examples"
    known = [pool.candidates[parent] for parent in parents]
    text += "".join(f"; its parent {p.id} scores {number(p.mean)}" for p in known if p.scores)
    return f"{text}.\n{known[0].artifact.diff(artifact)}" if known else f"{text}: the seed."


def number(value: float) -> str:
    """Returns a score as messages show it."""
    return str(round(float(value), 4))
