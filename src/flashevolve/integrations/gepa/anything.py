"""Anything: gepa's `optimize_anything` on our engine.

It takes the arguments and the `GEPAConfig` of gepa 0.1.4 and is built from gepa's own parts: its
evaluator wrapper (`oa.log`, capture of stdout, `opt_state`), its adapter and its prompts. What runs
them is `launch.run`. This module may stand in for gepa's: it has the names that users take there.

Differences, each on purpose: with `parallel` the evaluator is called for several steps at once, by
`max_workers` threads of ours; a batch evaluator gets what waits from several steps; one evaluation
with a refiner counts as one metric call; the configuration that was handed over is not changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, cast

from gepa import optimize_anything as theirs
from gepa.adapters.optimize_anything_adapter.optimize_anything_adapter import (
    BatchEvaluatorWrapper,
    OptimizeAnythingAdapter,
)
from gepa.core.result import GEPAResult
from gepa.optimize_anything import (
    EngineConfig,
    EvaluatorWrapper,
    GEPAConfig,
    Image,
    MergeConfig,
    OptimizationState,
    RefinerConfig,
    ReflectionConfig,
    SideInfo,
    TrackingConfig,
    get_log_context,
    log,
    set_log_context,
)

from flashevolve import rundir
from flashevolve.config import Budget, Model
from flashevolve.engine.current import current
from flashevolve.engine.usercode import SyncContext, is_async
from flashevolve.errors import ConfigError
from flashevolve.integrations.gepa.launch import run
from flashevolve.integrations.gepa.models import model_of
from flashevolve.integrations.gepa.threads import awaited
from flashevolve.llm.dicts import as_messages

__all__ = [
    "EngineConfig",
    "GEPAConfig",
    "Image",
    "MergeConfig",
    "OptimizationState",
    "RefinerConfig",
    "ReflectionConfig",
    "SideInfo",
    "TrackingConfig",
    "get_log_context",
    "log",
    "optimize_anything",
    "set_log_context",
]

TEXT = "current_candidate"
"""Component of a candidate that the user knows as a single text; gepa's name for it."""
REFINER = "refiner_prompt"
ROLE = "refine"
"""Of our models, for a refiner that is given by name."""


class Adapter(OptimizeAnythingAdapter):  # type: ignore[misc]  # gepa is not typed for us
    """gepa's adapter; what it shares between calls it guards itself."""

    objectives_optional = True
    """Under the hybrid frontier a metric need not name objectives."""
    flashevolve_safe = True


def optimize_anything(
    seed_candidate: str | dict[str, str] | None = None,
    *,
    evaluator: Callable[..., Any] | None = None,
    batch_evaluator: Callable[..., Any] | None = None,
    dataset: list[Any] | None = None,
    valset: list[Any] | None = None,
    objective: str | None = None,
    background: str | None = None,
    config: GEPAConfig | None = None,
    policy: str = "reflective",
    schedule: str = "async",
    concurrency: int = 64,
    models: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    limits: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> GEPAResult:
    """Evolves any text and returns gepa's `GEPAResult`.

    The arguments up to `config` are gepa's; the others are `launch.optimize`'s.

    Raises:
        FlashEvolveError: a mistake that one line explains.
        Exception: what the evaluator raised, with `config.engine.raise_on_exception`.
    """
    config = config or GEPAConfig()
    _check(config, evaluator, batch_evaluator, objective, background)
    evaluator, batch_evaluator = _returning(evaluator), _returning(batch_evaluator)
    is_text = not isinstance(seed_candidate, Mapping)
    seed = _seed(seed_candidate, objective, background, dataset, config)
    refiner, asked = _refiner(config)
    if refiner is not None:
        seed.setdefault(REFINER, _refiner_prompt(objective, background))
    single = dataset is None and valset is None
    adapter = _adapter(config, refiner, evaluator, batch_evaluator, single, is_text)
    adapter.objective, adapter.background = objective, background
    engine, reflection = config.engine, config.reflection
    finished = run(
        seed,
        [theirs._SINGLE_INSTANCE_SENTINEL] if single else dataset or [None],
        valset,
        adapter,
        reflection_minibatch_size=_minibatch(config, single=single),
        reflection_prompt_template=_template(config, objective, background),
        stop_callbacks=_stoppers(config),
        adapter_concurrency=_n_calls(config, concurrency, by_batches=batch_evaluator is not None),
        budget=_budget(budget, engine.max_candidate_proposals),
        models={**asked, **(models or {})} or None,
        policy=policy,
        schedule=schedule,
        concurrency=concurrency,
        limits=limits,
        settings=settings,
        reflection_lm=reflection.reflection_lm,
        reflection_lm_kwargs=reflection.reflection_lm_kwargs,
        **_merging(config),
        **_tracked(config),
        **{name: getattr(reflection, name) for name in REFLECTION},
        **{name: getattr(engine, name) for name in ENGINE},
        callbacks=config.callbacks,
    )
    return replace(finished.gepa, _str_candidate_key=TEXT if is_text else None)


REFLECTION = (
    "skip_perfect_score",
    "perfect_score",
    "batch_sampler",
    "module_selector",
    "custom_candidate_proposer",
    "reflection_strategy",
)
ENGINE = (
    "run_dir",
    "seed",
    "display_progress_bar",
    "raise_on_exception",
    "track_best_outputs",
    "max_metric_calls",
    "max_reflection_cost",
    "val_evaluation_policy",
    "candidate_selection_strategy",
    "frontier_type",
    "acceptance_criterion",
    "sampling_strategy",
    "selection_strategy",
)
"""Fields that `launch.optimize` takes under the same name."""


def _returning(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Returns a function that gives what an `async def` gives; any other as it is."""
    if function is None or not is_async(function):
        return function
    asynchronous = function

    @wraps(asynchronous)
    def returning(*args: Any, **options: Any) -> Any:
        return awaited(asynchronous(*args, **options))

    return returning


def _check(
    config: GEPAConfig,
    evaluator: Any,
    batch_evaluator: Any,
    objective: str | None,
    background: str | None,
) -> None:
    if evaluator is None and batch_evaluator is None:
        raise ConfigError(
            "evaluator: expected a function of a candidate, found none. Give evaluator, "
            "batch_evaluator or both"
        )
    if batch_evaluator is None and not callable(evaluator):
        raise ConfigError(f"evaluator: expected a function of a candidate, found {evaluator!r:.60}")
    if config.tracking.wandb_step_metric is not None:
        raise ConfigError(
            "tracking.wandb_step_metric: expected None, which is all that our tracking has, found "
            f"{config.tracking.wandb_step_metric!r}. Remove it, and wandb_attach_existing with it"
        )
    own = config.reflection.reflection_prompt_template
    if (objective or background) and own not in (None, _default_template()):
        raise ConfigError(
            "reflection.reflection_prompt_template: expected none of your own beside objective or "
            "background, of which one is made, found one. Remove one of the two"
        )
    storage = config.engine.cache_evaluation_storage
    if config.engine.cache_evaluation and storage == "disk" and not config.engine.run_dir:
        raise ConfigError(
            "engine.cache_evaluation_storage: expected a run_dir to keep 'disk' in, found none. "
            "Give engine.run_dir"
        )


def _seed(
    given: str | Mapping[str, str] | None,
    objective: str | None,
    background: str | None,
    dataset: list[Any] | None,
    config: GEPAConfig,
) -> dict[str, str]:
    """Returns the seed; where there is none, the run's own or one that a model writes."""
    if isinstance(given, str):
        return {TEXT: given}
    if given is not None:
        return dict(given)
    if not (objective or "").strip():
        raise ConfigError(
            "objective: expected what to aim at, of which a model writes the first candidate, "
            "found none. Give objective, or seed_candidate"
        )
    directory = config.engine.run_dir
    if directory is not None and rundir.holds_run(Path(directory)):
        # Another one would be another run.
        known = rundir.open_run(Path(directory)).started.artifact
        return {TEXT: known[TEXT]}
    lm = config.reflection.reflection_lm
    if lm is None:
        raise ConfigError(
            "reflection.reflection_lm: expected a model that writes the first candidate, found "
            "None. Give it, or seed_candidate"
        )
    if isinstance(lm, str):
        lm = theirs.make_litellm_lm(lm, **(config.reflection.reflection_lm_kwargs or {}))
    written: dict[str, str] = theirs._generate_seed_candidate(
        lm=lm, objective=objective, background=background, dataset=dataset
    )
    return written


def _adapter(
    config: GEPAConfig,
    refiner: RefinerConfig | None,
    evaluator: Callable[..., Any] | None,
    batch_evaluator: Callable[..., Any] | None,
    single: bool,
    is_text: bool,
) -> Adapter:
    engine = config.engine
    raises = engine.raise_on_exception
    cache = engine.cache_evaluation_storage if engine.cache_evaluation else "off"
    if cache == "auto":
        cache = "disk" if engine.run_dir else "memory"
    one = many = None
    if evaluator is not None:
        one = EvaluatorWrapper(
            evaluator,
            single,
            capture_stdio=engine.capture_stdio,
            str_candidate_mode=is_text,
            raise_on_exception=raises,
        )
    if batch_evaluator is not None:
        many = BatchEvaluatorWrapper(
            batch_evaluator,
            str_candidate_key=TEXT if is_text else None,
            raise_on_exception=raises,
            single_instance_mode=single,
        )
    return Adapter(
        evaluator=one,
        parallel=False,  # The threads are ours.
        refiner_config=refiner,
        best_example_evals_k=engine.best_example_evals_k,
        cache_mode=cache,
        cache_dir=engine.run_dir,
        batch_evaluator=many,
    )


def _n_calls(config: GEPAConfig, concurrency: int, *, by_batches: bool) -> int:
    """Returns how many calls of the evaluator run at once: one batch, or what gepa would run."""
    if by_batches or not config.engine.parallel:
        return 1
    return config.engine.max_workers or concurrency


def _refiner(config: GEPAConfig) -> tuple[RefinerConfig | None, dict[str, Model]]:
    """Returns the refiner with a function for its model, and that model if it is one of ours."""
    if config.refiner is None:
        return None, {}
    lm = config.refiner.refiner_lm or config.reflection.reflection_lm
    if not isinstance(lm, str):
        return replace(config.refiner, refiner_lm=lm), {}
    kwargs = None if config.refiner.refiner_lm else config.reflection.reflection_lm_kwargs
    model = model_of(lm, kwargs, "refiner.refiner_lm")
    return replace(config.refiner, refiner_lm=_refine), {ROLE: model}


def _refine(prompt: Any) -> str:
    """Asks our model on behalf of the evaluation that this thread works for."""
    asking = cast(SyncContext, current())
    return str(asking.chat(ROLE, as_messages(prompt)).text)


def _refiner_prompt(objective: str | None, background: str | None) -> str:
    text: str = theirs.DEFAULT_REFINER_PROMPT.format(
        objective=objective or "Maximize the score",
        background=background or "No additional background provided.",
    )
    return text


def _minibatch(config: GEPAConfig, *, single: bool) -> int | None:
    if not isinstance(config.reflection.batch_sampler, str):
        return None
    return config.reflection.reflection_minibatch_size or (1 if single else 3)


def _template(config: GEPAConfig, objective: str | None, background: str | None) -> Any:
    reflection = config.reflection
    if reflection.custom_candidate_proposer or reflection.reflection_strategy:
        own = reflection.reflection_prompt_template
        return None if own == _default_template() else own
    if objective or background:
        return theirs._build_reflection_prompt_template(objective, background)
    return reflection.reflection_prompt_template


def _default_template() -> Any:
    return theirs.optimize_anything_reflection_prompt_template


def _stoppers(config: GEPAConfig) -> list[Any] | None:
    from gepa.utils import MaxCandidateProposalsStopper

    found = config.stop_callbacks
    stoppers = [] if found is None else [found] if callable(found) else list(found)
    if config.engine.max_candidate_proposals is not None:
        # Skipped steps count for gepa, too, and make no proposal.
        stoppers.append(MaxCandidateProposalsStopper(config.engine.max_candidate_proposals))
    return stoppers or None


def _budget(budget: Budget | None, max_proposals: int | None) -> Budget | None:
    if max_proposals is None:
        return budget
    return replace(budget or Budget(), proposals=max_proposals)


def _merging(config: GEPAConfig) -> dict[str, Any]:
    if config.merge is None:
        return {"use_merge": False}
    return {
        "use_merge": True,
        "max_merge_invocations": config.merge.max_merge_invocations,
        "merge_val_overlap_floor": config.merge.merge_val_overlap_floor,
    }


def _tracked(config: GEPAConfig) -> dict[str, Any]:
    tracking = config.tracking
    names = (
        "logger",
        "use_wandb",
        "wandb_api_key",
        "wandb_init_kwargs",
        "wandb_attach_existing",
        "use_mlflow",
        "mlflow_tracking_uri",
        "mlflow_experiment_name",
        "mlflow_attach_existing",
    )
    known = {name: getattr(tracking, name) for name in names}
    return {**known, "tracking_key_prefix": tracking.key_prefix}
