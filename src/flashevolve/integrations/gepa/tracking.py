"""Tracking: gepa's own experiment tracker, for W&B and MLflow, fed as one more callback.

It logs what gepa logs, under gepa's names: metrics and tables of each accepted candidate, the
candidate tree, proposals with their prompts, config and summary. The step is the number of steps
that have ended, which only grows; a ticket may come after a later one, and W&B drops such rows.
Begun and ended on the run's loop, since MLflow keeps its active run per thread.
"""

import contextlib
from typing import Any

from flashevolve.integrations.gepa.arguments import Arguments
from flashevolve.integrations.gepa.mirror import Mirror


def tracker_of(given: Arguments) -> Any | None:
    """Returns gepa's tracker; None if nothing is to be tracked."""
    if not (given.use_wandb or given.use_mlflow):
        return None
    from gepa.logging.experiment_tracker import create_experiment_tracker

    return create_experiment_tracker(
        use_wandb=given.use_wandb,
        wandb_api_key=given.wandb_api_key,
        wandb_init_kwargs=given.wandb_init_kwargs,
        wandb_attach_existing=given.wandb_attach_existing,
        use_mlflow=given.use_mlflow,
        mlflow_tracking_uri=given.mlflow_tracking_uri,
        mlflow_experiment_name=given.mlflow_experiment_name,
        mlflow_attach_existing=given.mlflow_attach_existing,
        key_prefix=given.tracking_key_prefix,
    )


class Tracking:
    """A callback that logs to a tracker."""

    def __init__(self, tracker: Any, mirror: Mirror, given: Arguments) -> None:
        self._tracker, self._mirror, self._given = tracker, mirror, given
        self._stack = contextlib.ExitStack()
        self._asked: dict[int, dict[str, Any]] = {}
        """Proposal -> the event of its end, until it is accepted or rejected."""
        self._screened: dict[int, list[dict[str, Any]]] = {}
        """Proposal -> the ends of its evaluations: the parent's, then the child's."""

    def on_optimization_start(self, event: dict[str, Any]) -> None:
        """Begins the tracker's run and logs the configuration."""
        self._stack.enter_context(self._tracker)
        given, config = self._given, event["config"]
        self._tracker.log_config(
            {
                "seed": config["seed"],
                "perfect_score": config["perfect_score"],
                "frontier_type": given.frontier_type,
                "track_best_outputs": config["track_best_outputs"],
                "use_cloudpickle": given.use_cloudpickle,
                "raise_on_exception": given.raise_on_exception,
                "trainset_size": event["trainset_size"],
                "valset_size": event["valset_size"],
                "seed_candidate_components": sorted(event["seed_candidate"]),
                "val_evaluation_policy": type(given.val_evaluation_policy).__name__,
                "has_merge_proposer": given.use_merge,
                "run_dir": given.run_dir,
                "policy": given.policy,
                "schedule": given.schedule,
            }
        )

    def on_valset_evaluated(self, event: dict[str, Any]) -> None:
        """Logs an accepted candidate: gepa's metrics and tables."""
        from gepa.core.state import ValsetEvaluation
        from gepa.logging.utils import log_detailed_metrics_after_discovering_new_program
        from gepa.strategies.eval_policy import FullEvaluationPolicy
        from gepa.visualization import candidate_tree_html

        state, index = self._mirror.sync(), event["candidate_idx"]
        policy = FullEvaluationPolicy()
        log_detailed_metrics_after_discovering_new_program(
            logger=_Silent(),
            gepa_state=state,
            new_program_idx=index,
            valset_evaluation=ValsetEvaluation(
                outputs_by_val_id={}, scores_by_val_id=event["scores_by_val_id"]
            ),
            objective_scores=state.prog_candidate_objective_scores[index],
            experiment_tracker=self._tracker,
            linear_pareto_front_program_idx=policy.get_best_program(state),
            valset_size=event["total_valset_size"],
            val_evaluation_policy=policy,
        )
        names = sorted(event["candidate"])
        known = ("parent_ids", "average_score", "is_best_program")
        parents, score, is_best = (event[name] for name in known)
        columns = ["iteration", "candidate_idx", "parent_ids", "valset_score", "is_best"]
        row = [event["iteration"], index, str(parents), score, is_best]
        self._tracker.log_table(
            "candidates",
            columns=[*columns, *(f"text:{name}" for name in names)],
            data=[[*row, *(event["candidate"][name] for name in names)]],
        )
        self._tracker.log_html(candidate_tree_html(state), key="candidate_tree")

    def on_proposal_end(self, event: dict[str, Any]) -> None:
        """Notes what the reflecting model was asked and said."""
        self._asked[event["proposal_id"]] = event

    def on_evaluation_end(self, event: dict[str, Any]) -> None:
        """Notes how parent and child did on the minibatch, and logs it once both are known."""
        known = self._screened.setdefault(event["proposal_id"], [])
        known.append(event)
        if event["candidate_idx"] is None and len(known) > 1:
            before, after = sum(known[0]["scores"]), sum(event["scores"])
            self._log(
                {
                    "subsample_score": before,
                    "new_subsample_score": after,
                    "subsample/before": before,
                    "subsample/after": after,
                }
            )

    def on_candidate_selected(self, event: dict[str, Any]) -> None:
        """Logs which candidate becomes a parent."""
        index, iteration = event["candidate_idx"], event["iteration"]
        self._log({"iteration": iteration, "selected_program_candidate": index})

    def on_candidate_accepted(self, event: dict[str, Any]) -> None:
        """Logs the calls of an accepted proposal."""
        self._log_calls(event, "accepted", event["new_candidate_idx"])

    def on_candidate_rejected(self, event: dict[str, Any]) -> None:
        """Logs the calls of a rejected proposal."""
        self._log_calls(event, "rejected", -1)

    def on_iteration_end(self, event: dict[str, Any]) -> None:
        """Forgets the calls of a step that came to nothing."""
        self._asked.pop(event["proposal_id"], None)
        self._screened.pop(event["proposal_id"], None)

    def on_optimization_end(self, event: dict[str, Any]) -> None:
        """Logs the summary and ends the tracker's run."""
        state, best = event["final_state"], event["best_candidate_idx"]
        seed, texts = state.program_candidates[0], state.program_candidates[best]
        summary = {
            "best_candidate_idx": best,
            "best_valset_score": state.program_full_scores_val_set[best],
            "total_iterations": event["total_iterations"],
            "total_candidates": len(state.program_candidates),
        }
        for name in sorted(seed):
            summary |= {f"seed/{name}": seed[name], f"best/{name}": texts[name]}
        self._tracker.log_summary(summary)
        self.close()

    def close(self) -> None:
        """Ends the tracker's run; a second call does nothing."""
        self._stack.close()

    def _log(self, metrics: dict[str, Any]) -> None:
        state = self._mirror.sync()
        known = {"total_metric_calls": state.total_num_evals}
        self._tracker.log_metrics({**metrics, **known}, step=state.i + 1)

    def _log_calls(self, event: dict[str, Any], status: str, index: int) -> None:
        asked = self._asked.pop(event["proposal_id"], None)
        if asked is None or not asked["prompts"]:
            return
        screened = self._screened.get(event["proposal_id"], [])
        sums = [sum(evaluated["scores"]) for evaluated in screened]
        before, after = (sums[0], sums[-1]) if len(sums) > 1 else (0.0, 0.0)
        parents = str(screened[-1]["parent_ids"] if screened else [])
        rows = [
            [
                event["iteration"],
                name,
                status,
                index,
                parents,
                before,
                after,
                str(prompt),
                asked["raw_lm_outputs"].get(name, ""),
                asked["new_instructions"].get(name, ""),
            ]
            for name, prompt in sorted(asked["prompts"].items())
        ]
        columns = ["iteration", "component", "status", "candidate_idx", "parent_ids"]
        columns += ["subsample_score_before", "subsample_score_after", "prompt", "raw_lm_output"]
        self._tracker.log_table("proposals", columns=[*columns, "proposed_text"], data=rows)


class _Silent:
    """A logger for what is told elsewhere."""

    def log(self, message: str) -> None:
        """Says nothing."""
