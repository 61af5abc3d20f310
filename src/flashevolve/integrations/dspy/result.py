"""Result: a run's pool as DSPy's `DspyGEPAResult`, also of a run that had ended before."""

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import dspy
from dspy.teleprompt.gepa.gepa import DspyGEPAResult

from flashevolve import events as ev
from flashevolve.engine.state import RunState
from flashevolve.integrations.gepa.view import View
from flashevolve.pools.pareto import pareto
from flashevolve.rundir import read_records


def detailed(
    state: RunState,
    view: View,
    build: Any,
    *,
    run_dir: Path,
    seed: int,
    track_outputs: bool,
) -> DspyGEPAResult:
    """Returns the confirmed candidates in order of admission, which gives them their indices.

    `build` makes a program of an artifact. Validation examples are keyed by their position. Outputs
    from before a resume are predictions of what the log kept: what was not JSON is its text.
    """
    pool = pareto(state.pool)
    found = [c for _, c in sorted(pool.candidates.items()) if c.status == "confirmed"]
    index = {candidate.id: n for n, candidate in enumerate(found)}
    subscores = [{_position(e): s for e, s in c.scores.items()} for c in found]
    best: dict[int, set[int]] = {}
    for position in subscores[0] if subscores else ():
        column = [scores.get(position, float("-inf")) for scores in subscores]
        best[position] = {n for n, score in enumerate(column) if score == max(column)}
    outputs = None
    if track_outputs:
        known = [{_position(e): said for e, said in view.outputs(c).items()} for c in found]
        outputs = {
            position: [
                (n, _prediction(known[n][position]))
                for n in sorted(winners)
                if position in known[n]
            ]
            for position, winners in best.items()
        }
    discovered = _discoveries(run_dir)
    return DspyGEPAResult(
        candidates=[build(dict(c.artifact)) for c in found],
        parents=[[index.get(p) for p in c.parents] or [None] for c in found],
        val_aggregate_scores=[c.mean for c in found],
        val_subscores=subscores,
        per_val_instance_best_candidates=best,
        # As gepa counts: without the candidate's own validation, and 0 for the seed. A child may
        # have all its scores before the seed has: no count is below that of an earlier candidate.
        discovery_eval_counts=list(
            accumulate(
                (max(0, discovered[c.ticket] - len(c.scores)) if c.parents else 0 for c in found),
                max,
            )
        ),
        best_outputs_valset=outputs,
        total_metric_calls=int(state.ledger.spent["metric_calls"]),
        num_full_val_evals=len(found),
        log_dir=str(run_dir),
        seed=seed,
    )


def _discoveries(run_dir: Path) -> dict[int, int]:
    """Returns by ticket how many metric calls had been made when its candidate was admitted."""
    n_calls, found = 0, dict[int, int]()
    for record in read_records(run_dir):
        if isinstance(record.event, ev.OutcomeRecorded) and record.event.split != "test":
            n_calls += 1
        elif isinstance(record.event, ev.PoolChanged) and record.event.admits:
            found[record.event.ticket] = n_calls
    return found


def _prediction(output: Any) -> Any:
    """Returns a program's output; the log keeps a prediction as its fields."""
    return dspy.Prediction(**output) if isinstance(output, Mapping) else output


def _position(example_id: str) -> int:
    return int(example_id.rpartition("/")[2])
