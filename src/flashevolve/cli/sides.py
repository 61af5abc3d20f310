"""Sides: the two artifacts that `flashevolve diff` sets against each other.

Read from the folded state alone; a run that goes on, or was killed, has sides as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flashevolve.artifact import Artifact
from flashevolve.candidate import Candidate
from flashevolve.cli.report import answerers
from flashevolve.errors import ConfigError
from flashevolve.llm.messages import UNRECORDED_WORLD
from flashevolve.rundir import OpenRun


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two artifacts."""

    run_dir: str
    run_id: str
    candidate: int | None
    """None = the seed of a run that has not admitted it."""
    role: str
    """`seed`, `best`, or empty."""
    val: float | None
    """Mean on the validation split."""
    test: float | None
    """Mean on the test split; only seed and best have one."""
    lineage: tuple[int, ...]
    """From the seed to the candidate, by the first parent of each."""
    parents: tuple[int, ...]
    artifact: dict[str, str]

    @property
    def name(self) -> str:
        """How the side is called in a report."""
        number = "" if self.candidate is None else f"candidate {self.candidate}"
        return {"seed": "the seed", "": number}.get(self.role, f"{number}, the {self.role}")


def sides(run: OpenRun, ids: Sequence[int]) -> tuple[Side, Side]:
    """Returns what is compared within one run; raises `ConfigError` for an unknown candidate."""
    if not ids:
        return seed_side(run), best_side(run)
    new = candidate(run, ids[-1])
    if len(ids) == 2:
        return side(run, candidate(run, ids[0])), side(run, new)
    parent = run.state.pool.candidates.get(new.parents[0]) if new.parents else None
    return (side(run, parent) if parent else seed_side(run)), side(run, new)


def candidate(run: OpenRun, number: int) -> Candidate:
    """Returns a candidate of the run's pool."""
    pool = run.state.pool.candidates
    if number in pool:
        return pool[number]
    if not pool:
        raise ConfigError(f"{run.dir}: no candidate {number}: none has been admitted yet")
    closest = min(pool, key=lambda other: abs(other - number))
    known = f"{closest}, the only one"
    if len(pool) > 1:
        known = f"one from {min(pool)} to {max(pool)}, the nearest being {closest}"
    raise ConfigError(
        f"{run.dir}: no candidate {number}; expected {known}. To list them: "
        f"flashevolve show {run.dir}"
    )


def seed_side(run: OpenRun) -> Side:
    """Returns the seed, whether or not it is a candidate."""
    seed, first = Artifact(run.started.artifact), run.state.pool.candidates.get(0)
    if first is None or first.artifact != seed:
        first = Candidate(id=-1, artifact=seed, scores={})
    return side(run, first)


def best_side(run: OpenRun) -> Side:
    """Returns the best candidate; the seed until there is one."""
    best = run.state.pool.best()
    return side(run, best) if best else seed_side(run)


def side(run: OpenRun, found: Candidate) -> Side:
    """Returns a candidate as one side."""
    best, tests = run.state.pool.best(), run.state.tests
    is_seed = found.artifact == Artifact(run.started.artifact)
    test = tests.get("seed" if is_seed else "best")
    if test is not None and not is_seed and test.candidate != found.id:
        test = None
    return Side(
        run_dir=str(run.dir),
        run_id=run.started.run_id,
        candidate=found.id if found.id >= 0 else None,
        role="seed" if is_seed else "best" if best is not None and best.id == found.id else "",
        val=found.mean if found.scores else None,
        test=test.mean if test else None,
        lineage=tuple(_lineage(run, found)),
        parents=found.parents,
        artifact=found.artifact.to_json(),
    )


def _lineage(run: OpenRun, found: Candidate) -> list[int]:
    pool, chain = run.state.pool.candidates, [found.id]
    at: Candidate | None = found
    while at is not None and at.parents:
        chain.append(at.parents[0])
        at = pool.get(at.parents[0])
    return [number for number in reversed(chain) if number >= 0]


def refuse_two_worlds(first: OpenRun, second: OpenRun) -> None:
    """Refuses to set scores beside each other that come from different worlds.

    Two runs that recorded none pass; `worlds_are_unknown` says so of them.
    """
    a, b = (world(run) for run in (first, second))
    if a != b:
        raise ConfigError(
            f"{first.dir} and {second.dir}: expected runs in one world, found {a} and {b}, whose "
            "scores do not compare. To read either text: flashevolve best DIR"
        )


def worlds_are_unknown(first: OpenRun, second: OpenRun) -> bool:
    """Says whether simulated worlds had a part that were not recorded, and so may be two."""
    return any(UNRECORDED_WORLD in run.state.answered_by for run in (first, second))


SCORING_KEYS = (
    "workload",
    "metric",
    "answer",
    "pattern",
    "fields",
    "tolerance",
    "failure_score",
)
"""Of [task]: what decides the score of an output."""


def scored_alike(first: OpenRun, second: OpenRun) -> bool:
    """Says whether two runs have the same settings of how an output is scored.

    A `score` that Python handed over is in no configuration, and not compared.
    """
    a, b = (run.started.config.get("task", {}) for run in (first, second))
    return all(a.get(key) == b.get(key) for key in SCORING_KEYS)


def world(run: OpenRun) -> str:
    """Returns where the answers of a run came from, in words."""
    return answerers(run.state.answered_by)
