"""Results in DSPy's shape, of runs that have just ended and of older ones."""

from pathlib import Path

import dspy

from tests.fakes.endpoint import Endpoint
from tests.integrations.dspy.fakes import VAL, compiled


def test_a_finished_compile_gives_its_details_again(endpoint: Endpoint, tmp_path: Path) -> None:
    told = {"track_stats": True, "track_best_outputs": True}
    _, first = compiled(endpoint, tmp_path / "run", **told)
    n_asked = len(endpoint.received)
    _, again = compiled(endpoint, tmp_path / "run", **told)
    assert len(endpoint.received) == n_asked
    was, found = first.detailed_results, again.detailed_results
    assert found.val_subscores == was.val_subscores
    assert found.total_metric_calls == was.total_metric_calls
    for position, outputs in was.best_outputs_valset.items():
        pairs = [(n, said.answer) for n, said in outputs]
        assert pairs
        # From the log, as predictions.
        assert [(n, said.answer) for n, said in found.best_outputs_valset[position]] == pairs


def test_detailed_results_are_dspys_own(endpoint: Endpoint, tmp_path: Path) -> None:
    optimizer, best = compiled(
        endpoint, tmp_path / "run", track_stats=True, track_best_outputs=True
    )
    details = best.detailed_results
    assert isinstance(details, dspy.teleprompt.gepa.gepa.DspyGEPAResult)
    assert details.parents[0] == [None]
    assert all(parent is not None and parent[0] is not None for parent in details.parents[1:])
    assert details.discovery_eval_counts[0] == 0
    # What a candidate's own validation took comes after its discovery.
    assert details.discovery_eval_counts[-1] + len(VAL) <= details.total_metric_calls
    assert sorted(details.discovery_eval_counts) == details.discovery_eval_counts
    assert details.total_metric_calls == optimizer.result.spent["metric_calls"]
    assert details.best_candidate.signature.instructions == best.signature.instructions
    assert max(details.val_aggregate_scores) == optimizer.result.best_score
    assert details.best_outputs_valset.keys() == set(range(len(VAL)))
    assert details.to_dict()["best_idx"] == details.best_idx
