"""Arguments: what `gepa.optimize` takes, and what becomes of each.

`TREATMENT` is the one list: the code refuses and reports by it, and documentation is made of it.
Nothing that a user sets is ignored in silence.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from flashevolve.config import Budget
from flashevolve.errors import ConfigError, nearest
from flashevolve.integrations.gepa.port import check_adapter
from flashevolve.integrations.gepa.reflection import check_template

Kind = Literal["as gepa", "ours", "no effect"]

TREATMENT: Mapping[str, tuple[Kind, str]] = {
    "seed_candidate": ("as gepa", ""),
    "trainset": ("as gepa", "ids are taken when the run begins; a loader that grows later is not"),
    "valset": ("as gepa", "None = the training set, under ids of its own"),
    "adapter": ("as gepa", "one call at a time, since two might share something,"
        " unless adapter_concurrency=N; then batch_evaluate is not used, since one call would hold"
        " all examples. num_metric_calls is not charged: a call is paid for before it is made"),
    "task_lm": ("ours", "a name is asked by our client, not LiteLLM; a function is called as is"),
    "evaluator": ("as gepa", ""),
    "reflection_lm": ("ours", "a name is asked by our client; a reply without fences is not"
        " taken, since it may be chatter"),
    "reflection_lm_kwargs": ("ours", "what our client has; others are refused, not lost"),
    "candidate_selection_strategy": ("as gepa", "objects see a GEPAState that follows the run"),
    "frontier_type": ("as gepa", ""),
    "skip_perfect_score": ("as gepa", ""),
    "batch_sampler": ("as gepa", "an example that padding repeats counts once: results are kept by id"),
    "reflection_minibatch_size": ("as gepa", ""),
    "perfect_score": ("as gepa", ""),
    "reflection_prompt_template": ("as gepa", ""),
    "custom_candidate_proposer": ("as gepa", ""),
    "module_selector": ("as gepa", "a name moves its pointer at selection, an object is asked after"
        " the rollout, since it reads the traces"),
    "use_merge": ("as gepa", "ancestors that all score zero do not end the run: one is drawn evenly"),
    "max_merge_invocations": ("as gepa", ""),
    "merge_val_overlap_floor": ("as gepa", ""),
    "max_metric_calls": ("ours", "never overshot, since calls are reserved; a run that cannot make one step is"
        " refused"),
    "max_reflection_cost": ("ours", "dollars of role reflect, looked at after each step, so that steps under"
        " way may exceed it"),
    "stop_callbacks": ("as gepa", "asked after each step"),
    "logger": ("as gepa", "None = Python's logging, logger `flashevolve`"),
    "run_dir": ("ours", "our store, resumed without a repeated call; gepa.stop in it stops the"
        " run"),
    "callbacks": ("as gepa", "with proposal_id, since many proposals are under way"),
    "use_wandb": ("as gepa", ""),
    "wandb_api_key": ("as gepa", ""),
    "wandb_init_kwargs": ("as gepa", ""),
    "wandb_attach_existing": ("as gepa", ""),
    "use_mlflow": ("as gepa", ""),
    "mlflow_tracking_uri": ("as gepa", ""),
    "mlflow_experiment_name": ("as gepa", ""),
    "mlflow_attach_existing": ("as gepa", ""),
    "tracking_key_prefix": ("as gepa", ""),
    "track_best_outputs": ("as gepa", "after a resume, older outputs are as the log kept them: JSON or repr"),
    "display_progress_bar": ("no effect", "`flashevolve show RUN_DIR` shows a run in progress"),
    "use_cloudpickle": ("no effect", "nothing is pickled"),
    "cache_evaluation": ("no effect", "validation scores are always kept, and shared by id"),
    "seed": ("ours", "every draw has a stream of its own, so that order does not matter"),
    "raise_on_exception": ("ours", "True: the adapter's exception ends the run, which can be"
        " resumed; False: the step fails, and five in a row end the run"),
    "val_evaluation_policy": ("ours", "get_eval_batch is asked; the best is the highest mean, since our pool"
        " ranks"),
    "acceptance_criterion": ("as gepa", ""),
    "sampling_strategy": ("no effect", "steps run side by side without it; a class of your own is"
        " refused"),
    "selection_strategy": ("ours", "all that improve are taken, since steps end one by one; anything else is"
        " refused"),
    "reflection_strategy": ("as gepa", "one reflection at a time, since it may carry a session"),
}  # fmt: skip
"""Argument of gepa's -> what becomes of it, and what differs."""

SELECTIONS = ("pareto", "current_best", "epsilon_greedy", "top_k_pareto")
ACCEPTANCE = {
    "strict_improvement": "strict",
    "improvement_or_equal": "improvement_or_equal",
}
UNLIMITED = 10**9
"""Proposals of a run that only stop callbacks end."""

logger = logging.getLogger("flashevolve")


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What `optimize` was given."""

    seed_candidate: Any
    trainset: Any
    valset: Any
    adapter: Any
    task_lm: Any
    evaluator: Any
    reflection_lm: Any
    reflection_lm_kwargs: Any
    candidate_selection_strategy: Any
    frontier_type: Any
    skip_perfect_score: bool
    batch_sampler: Any
    reflection_minibatch_size: int | None
    perfect_score: Any
    reflection_prompt_template: Any
    custom_candidate_proposer: Any
    module_selector: Any
    use_merge: bool
    max_merge_invocations: int
    merge_val_overlap_floor: int
    max_metric_calls: int | None
    max_reflection_cost: float | None
    stop_callbacks: Any
    logger: Any
    run_dir: Any
    callbacks: Any
    use_wandb: bool
    wandb_api_key: str | None
    wandb_init_kwargs: Any
    wandb_attach_existing: bool
    use_mlflow: bool
    mlflow_tracking_uri: str | None
    mlflow_experiment_name: str | None
    mlflow_attach_existing: bool
    tracking_key_prefix: str
    track_best_outputs: bool
    display_progress_bar: bool
    use_cloudpickle: bool
    cache_evaluation: bool
    seed: int
    raise_on_exception: bool
    val_evaluation_policy: Any
    acceptance_criterion: Any
    sampling_strategy: Any
    selection_strategy: Any
    reflection_strategy: Any
    # Ours.
    policy: str
    schedule: str
    concurrency: int
    adapter_concurrency: int | None
    models: Any
    budget: Budget | None
    limits: Any
    metered: bool | None
    settings: Any

    def say(self, line: str) -> None:
        """Tells the user's logger, or Python's."""
        if self.logger is None:
            logger.info(line)
        else:
            self.logger.log(line)

    def warn(self, line: str) -> None:
        """Tells what the user should know before the run is over."""
        if self.logger is None:
            logger.warning(line)
        else:
            self.logger.log(line)

    @property
    def writes_texts(self) -> Callable[..., Any] | None:
        """The adapter's own proposer, if it has one."""
        found: Callable[..., Any] | None = getattr(self.adapter, "propose_new_texts", None)
        return found

    @property
    def writers(self) -> dict[str, Any]:
        """What writes new texts in place of a model, by name; None = not given."""
        return {
            "adapter.propose_new_texts": self.writes_texts,
            "custom_candidate_proposer": self.custom_candidate_proposer,
            "reflection_strategy": self.reflection_strategy,
        }

    def full_budget(self) -> Budget:
        """Returns `budget` with `max_metric_calls` in it. Raises `ConfigError`."""
        budget, calls = self.budget or Budget(), self.max_metric_calls
        if calls is not None and budget.metric_calls not in (None, calls):
            raise ConfigError(
                f"max_metric_calls: expected the same as budget.metric_calls = "
                f"{budget.metric_calls}, found {calls}. Give one of them"
            )
        if calls is not None:
            budget = replace(budget, metric_calls=calls)
        if not budget.empty:
            return budget
        if not self.stop_callbacks and self.max_reflection_cost is None:
            raise ConfigError(
                "max_metric_calls: expected a limit, found none. Give max_metric_calls, "
                "stop_callbacks, max_reflection_cost or budget=fe.Budget(...)"
            )
        return replace(budget, proposals=UNLIMITED)


def check(given: Arguments) -> None:
    """Refuses what cannot run, each in one line, before anything is called or paid for."""
    _check_seed(given.seed_candidate)
    _check_adapter(given)
    _check_choices(given)
    _check_proposer(given)
    check_template(given.reflection_prompt_template, list(given.seed_candidate))
    if given.skip_perfect_score and given.perfect_score is None:
        raise ConfigError(
            "perfect_score: expected a number with skip_perfect_score=True, found None. Give it, "
            "or set skip_perfect_score=False"
        )
    if given.adapter_concurrency is not None and given.adapter_concurrency < 1:
        raise ConfigError(
            f"adapter_concurrency: expected 1 or more, found {given.adapter_concurrency}"
        )
    defaults = {"display_progress_bar": False, "use_cloudpickle": False, "cache_evaluation": False}
    for name, default in {**defaults, "sampling_strategy": None}.items():
        if getattr(given, name) not in (default, None):
            given.say(f"{name} has no effect: {TREATMENT[name][1]}")


def _check_seed(seed: Any) -> None:
    if not isinstance(seed, Mapping) or not seed:
        raise ConfigError(
            "seed_candidate: expected component name -> text, such as "
            f"{{'system_prompt': 'Answer.'}}, found {seed!r:.60}"
        )
    for name, text in seed.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise ConfigError(f"seed_candidate[{name!r}]: expected a text, found {text!r:.60}")


def _check_adapter(given: Arguments) -> None:
    if given.adapter is None:
        if given.task_lm is None:
            raise ConfigError(
                "task_lm: expected a model to ask, since there is no adapter, found None. Give "
                "task_lm='openai/gpt-4o-mini', or adapter=..."
            )
        return
    for name in ("task_lm", "evaluator"):
        if getattr(given, name) is not None:
            raise ConfigError(
                f"{name}: expected None beside an adapter, which would not use it, found one. "
                "Remove one of the two"
            )
    check_adapter(given.adapter)


def _check_proposer(given: Arguments) -> None:
    named = [name for name, writer in given.writers.items() if writer is not None]
    if len(named) > 1:
        raise ConfigError(
            f"{named[1]}: expected one that writes new texts, found {named[0]} too. Remove one"
        )
    if named and given.reflection_prompt_template is not None:
        raise ConfigError(
            f"reflection_prompt_template: expected None beside {named[0]}, which would not use "
            "it, found one. Remove one of the two"
        )
    models = given.models if isinstance(given.models, Mapping) else {"default": given.models}
    known = any(models.get(role) is not None for role in ("reflect", "default"))
    if not named and given.reflection_lm is None and not known:
        raise ConfigError(
            "reflection_lm: expected a model that writes new texts, found None, and the adapter "
            "has no propose_new_texts. Give reflection_lm='openai/gpt-4o', or "
            "custom_candidate_proposer=..."
        )


def _check_choices(given: Arguments) -> None:
    _one_of(given, "candidate_selection_strategy", SELECTIONS, "select_candidate_idx")
    _one_of(given, "batch_sampler", ("epoch_shuffled",), "next_minibatch_ids")
    _one_of(given, "module_selector", ("round_robin", "all"), "__call__")
    _one_of(given, "acceptance_criterion", tuple(ACCEPTANCE), "should_accept")
    _one_of(given, "val_evaluation_policy", ("full_eval",), "get_eval_batch")
    _one_of(given, "frontier_type", ("instance", "objective", "hybrid", "cartesian"), None)
    if given.batch_sampler != "epoch_shuffled" and given.reflection_minibatch_size is not None:
        raise ConfigError(
            "reflection_minibatch_size: expected None beside a batch_sampler of your own, found "
            f"{given.reflection_minibatch_size}. Remove one of the two"
        )
    for name, module in (
        ("sampling_strategy", "gepa.strategies.proposal_sampling"),
        ("selection_strategy", "gepa.strategies.proposal_selection"),
    ):
        strategy = getattr(given, name)
        refused = strategy is not None and type(strategy).__module__ != module
        if name == "selection_strategy" and strategy is not None:
            refused = type(strategy).__name__ != "AllImprovements"
        if refused:
            raise ConfigError(
                f"{name}: expected None, since steps run side by side and each is judged by "
                f"itself, found {type(strategy).__name__}. Remove it; acceptance_criterion decides "
                "what is taken, and adapter_concurrency how much runs at once"
            )


def _one_of(given: Arguments, name: str, known: tuple[str, ...], method: str | None) -> None:
    value = getattr(given, name)
    if value is None and name == "val_evaluation_policy":
        return
    if isinstance(value, str) and value in known:
        return
    if not isinstance(value, str) and method and callable(getattr(value, method, None)):
        return
    hint = nearest(value, known) if isinstance(value, str) else ""
    own = f", or an object with {method}" if method and method != "__call__" else ""
    raise ConfigError(
        f"{name}: expected one of {', '.join(known)}{own}, found {value!r:.60}.{hint}"
    )


OURS = tuple(f.name for f in fields(Arguments) if f.name not in TREATMENT)
"""Arguments that gepa does not have."""
