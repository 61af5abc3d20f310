"""Whole runs with several objectives, in virtual time."""

from pathlib import Path
from typing import Any

import pytest

import flashevolve as fe
from flashevolve.errors import ConfigError, TaskError
from flashevolve.pools.pareto import ParetoPool
from flashevolve.rundir import open_run, read_records
from flashevolve.workloads.instructions import generate
from flashevolve.workloads.instructions import score as instructions_score

DATA: dict[str, Any] = dict(generate(seed=3, n_train=12, n_val=6, n_test=0))


def score(example: Any, output: Any) -> fe.Outcome:
    """What was asked for, and brevity beside it."""
    scored = instructions_score(example, output)
    right = scored[0] if isinstance(scored, tuple) else getattr(scored, "score", scored)
    words = scored[1] if isinstance(scored, tuple) else getattr(scored, "feedback", "")
    short = max(0.0, 1 - len(str(output)) / 4000)
    return fe.Outcome(score=right, feedback=words, objectives={"right": right, "short": short})


def evolve(run_dir: Path, metric: Any = score, **options: Any) -> fe.Result:
    given: dict[str, Any] = {
        "algorithm": fe.GEPA(frontier="hybrid"),
        "budget": fe.Budget(metric_calls=150),
        "concurrency": 4,
    }
    data = {split: DATA[split] for split in ("train", "val")}
    return fe.optimize(
        seed={"system": "Follow the instructions."},
        **data,
        score=metric,
        models="sim/h100-qwen3-8b",
        run_dir=run_dir,
        id_field="key",
        input="prompt",
        **(given | options),
    )


def pool_of(run_dir: Path) -> ParetoPool:
    pool = open_run(run_dir).state.pool
    assert isinstance(pool, ParetoPool)
    return pool


@pytest.mark.parametrize("frontier", ["objective", "hybrid", "cartesian"])
def test_a_run_keeps_fronts_of_objectives_and_reads_them_back(
    frontier: Any, tmp_path: Path
) -> None:
    selection: Any = "top_k_pareto" if frontier == "objective" else "pareto"
    evolve(tmp_path, algorithm=fe.GEPA(frontier=frontier, selection=selection, top_k=2))
    pool = pool_of(tmp_path)
    assert pool.frontier == frontier
    assert len(pool.candidates) > 1
    assert all(set(c.objectives) == set(c.scores) for c in pool.candidates.values())
    n_keys = {"objective": 2, "hybrid": 8, "cartesian": 12}[frontier]
    assert len(pool.fronts) == n_keys


def test_a_run_that_was_stopped_goes_on_to_where_it_would_have_been(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    evolve(whole, schedule="sync")
    evolve(cut, schedule="sync", budget=fe.Budget(metric_calls=60))
    evolve(cut, schedule="sync")
    assert pool_of(cut).dump()["objectives"]
    ours, theirs = pool_of(cut).candidates[0], pool_of(whole).candidates[0]
    assert ours.objectives == theirs.objectives
    assert list(pool_of(cut).fronts)[:6] == [("example", e) for e in sorted(ours.scores)]


def test_a_frontier_of_objectives_needs_a_metric_that_names_them(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="frontier = 'hybrid' needs objectives, found none in the"):
        evolve(tmp_path, lambda example, output: 1.0)


def test_speculation_is_refused_where_candidates_could_not_be_believed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected 1 with frontier = 'objective'"):
        evolve(
            tmp_path,
            algorithm=fe.GEPA(frontier="objective"),
            speculation={"evaluate": 0.5},
        )


def test_candidates_are_believed_early_by_examples_under_a_hybrid_frontier(tmp_path: Path) -> None:
    evolve(tmp_path, speculation={"evaluate": 0.5}, budget=fe.Budget(metric_calls=200))
    steps = {r.event.speculation for r in read_records(tmp_path) if r.event.kind == "pool_changed"}
    assert None in steps
    assert len(pool_of(tmp_path).candidates) > 1
