"""Whole runs in the simulated world: what must not matter does not."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, ClassVar

import pytest

import flashevolve as fe
from flashevolve.algorithms.gepa.sources import Step
from flashevolve.algorithms.gepa.workflow import GEPAWorkflow
from flashevolve.engine.item import Selection
from flashevolve.engine.workflow import Setup, Source
from flashevolve.events import OutcomeRecorded
from flashevolve.pools.pool import Pool
from flashevolve.result import Result
from flashevolve.rundir import read_records
from flashevolve.workloads.instructions import generate, score

Scores = dict[tuple[str, str, int], float]
NAMES = {"rollout": "look", "propose": "write", "screen": "sieve", "evaluate": "weigh"}
N_SEEDS = 24


def best_of(result: Result) -> float:
    """Returns the best validation score of a run that has one."""
    assert result.best_score is not None
    return result.best_score


def run(data: Mapping[str, Any], seed: int, where: Path, **options: Any) -> tuple[Result, Scores]:
    """Returns a synchronous run's result, and its validation scores by text, example, replica."""
    arguments: dict[str, Any] = {
        "seed": {"system": "Answer the request."},
        "train": data["train"],
        "val": data["val"],
        "score": score,
        "input": "prompt",
        "id_field": "key",
        "algorithm": fe.GEPA(),
        "schedule": "sync",
        "models": "sim/h100-qwen3-8b",
        "budget": fe.Budget(metric_calls=300),
        "rng_seed": seed,
        "run_dir": where,
        **options,
    }
    result = fe.optimize(**arguments)
    found = [r.event for r in read_records(where) if isinstance(r.event, OutcomeRecorded)]
    return result, {(o.artifact, o.example, o.replica): o.score for o in found if o.split == "val"}


def permuted(data: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Returns the data with one split in another order."""
    return {**data, split: random.Random("order").sample(data[split], len(data[split]))}


def test_the_order_of_validation_examples_changes_nothing_in_a_run(tmp_path: Path) -> None:
    data = generate(1, 30, 30, 1)
    one, scores = run(data, 1, tmp_path / "one")
    other, same_scores = run(permuted(data, "val"), 1, tmp_path / "other")
    assert one.counters["admitted"] > 1
    assert scores == same_scores
    assert (one.best, one.best_score, one.counters) == (
        other.best, other.best_score, other.counters
    )  # fmt: skip


def same_within_noise(ones: list[float], others: list[float]) -> bool:
    """Compares two arms of runs, paired by seed, by three standard errors."""
    gaps = [one - other for one, other in zip(ones, others, strict=True)]
    assert stdev(gaps) > 0, "the arms do not differ at all, so that this would show nothing"
    return abs(fmean(gaps)) < 3 * stdev(gaps) / float(len(gaps) ** 0.5)


@pytest.mark.slow
def test_the_order_of_training_examples_is_chance_and_scores_belong_to_their_examples(
    tmp_path: Path,
) -> None:
    """Other minibatches are drawn, so other texts come out; none of them is scored otherwise."""
    ones: list[float] = []
    others: list[float] = []
    for seed in range(N_SEEDS):
        data = generate(seed, 30, 30, 1)
        one, scores = run(data, seed, tmp_path / f"{seed} one")
        other, other_scores = run(permuted(data, "train"), seed, tmp_path / f"{seed} other")
        common = scores.keys() & other_scores.keys()
        assert len(common) >= 30
        assert {key: scores[key] for key in common} == {key: other_scores[key] for key in common}
        ones.append(best_of(one))
        others.append(best_of(other))
    assert same_within_noise(ones, others)


class Entering:
    """A source whose items enter the stages under their other names."""

    def __init__(self, source: Source[Step]) -> None:
        self.name = source.name
        self._source = source

    def select(self, pool: Pool, rng: random.Random) -> Selection[Step] | None:
        found = self._source.select(pool, rng)
        if found is None or found.enter is None:
            return found
        return replace(found, enter=NAMES[found.enter])


class RenamedWorkflow(GEPAWorkflow):
    """GEPA with other names for its stages."""

    gate: ClassVar[str | None] = NAMES["screen"]

    def __init__(self, config: fe.GEPA, setup: Setup) -> None:
        super().__init__(config, setup)
        self.sources = tuple(Entering(source) for source in self.sources)
        self.stages = tuple(replace(stage, name=NAMES[stage.name]) for stage in self.stages)


class Renamed(fe.GEPA):
    """The configuration of that."""

    def workflow(self, setup: Setup) -> GEPAWorkflow:
        return RenamedWorkflow(self, setup)


@pytest.mark.slow
def test_renamed_stages_change_nothing_beyond_chance(tmp_path: Path) -> None:
    ones: list[float] = []
    others: list[float] = []
    for seed in range(N_SEEDS):
        data = generate(seed, 30, 30, 1)
        ones.append(best_of(run(data, seed, tmp_path / f"{seed} one")[0]))
        renamed, _ = run(data, seed, tmp_path / f"{seed} other", algorithm=Renamed())
        others.append(best_of(renamed))
        assert renamed.counters["proposed"] > 5
    assert same_within_noise(ones, others)
