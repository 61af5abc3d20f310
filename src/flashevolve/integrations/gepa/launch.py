"""Launch: gepa's front door, on our engine.

`optimize` takes what `gepa.optimize` 0.1.4 takes, in the same order and with the same defaults, and
returns gepa's own `GEPAResult`. What it takes besides is keyword-only. `run` returns our result
beside gepa's. What differs from gepa on purpose is listed in `arguments.TREATMENT`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashevolve.config import Budget, Model
from flashevolve.data.loaders import Splits
from flashevolve.errors import ConfigError
from flashevolve.events import ItemEnded, Record
from flashevolve.integrations.gepa.arguments import ACCEPTANCE, Arguments, check
from flashevolve.integrations.gepa.chat import ChatAdapter
from flashevolve.integrations.gepa.config import Adapted, Proposer
from flashevolve.integrations.gepa.data import table
from flashevolve.integrations.gepa.errors import AdapterFailed
from flashevolve.integrations.gepa.keeping import keep, restore
from flashevolve.integrations.gepa.mirror import Mirror
from flashevolve.integrations.gepa.models import CallableModel, model_of
from flashevolve.integrations.gepa.port import Port, no_score
from flashevolve.integrations.gepa.telling import Telling
from flashevolve.integrations.gepa.view import View
from flashevolve.integrations.gepa.watch import watch
from flashevolve.integrations.gepa.workflow import Objects
from flashevolve.launch import settings_from
from flashevolve.prepare import prepare
from flashevolve.result import Result
from flashevolve.run import Run


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A run that has ended."""

    gepa: Any
    """gepa's `GEPAResult`."""
    flashevolve: Result
    """Ours: spending, tokens, counters, the run's directory."""


def optimize(
    seed_candidate: dict[str, str],
    trainset: Any,
    valset: Any = None,
    adapter: Any = None,
    task_lm: Any = None,
    evaluator: Any = None,
    reflection_lm: Any = None,
    reflection_lm_kwargs: dict[str, Any] | None = None,
    candidate_selection_strategy: Any = "pareto",
    frontier_type: Any = "instance",
    skip_perfect_score: bool = True,
    batch_sampler: Any = "epoch_shuffled",
    reflection_minibatch_size: int | None = None,
    perfect_score: float = 1.0,
    reflection_prompt_template: str | dict[str, str] | None = None,
    custom_candidate_proposer: Any = None,
    module_selector: Any = "round_robin",
    use_merge: bool = False,
    max_merge_invocations: int = 5,
    merge_val_overlap_floor: int = 5,
    max_metric_calls: int | None = None,
    max_reflection_cost: float | None = None,
    stop_callbacks: Any = None,
    logger: Any = None,
    run_dir: str | None = None,
    callbacks: Any = None,
    use_wandb: bool = False,
    wandb_api_key: str | None = None,
    wandb_init_kwargs: dict[str, Any] | None = None,
    wandb_attach_existing: bool = False,
    use_mlflow: bool = False,
    mlflow_tracking_uri: str | None = None,
    mlflow_experiment_name: str | None = None,
    mlflow_attach_existing: bool = False,
    tracking_key_prefix: str = "",
    track_best_outputs: bool = True,
    display_progress_bar: bool = False,
    use_cloudpickle: bool = False,
    cache_evaluation: bool = False,
    seed: int = 0,
    raise_on_exception: bool = True,
    val_evaluation_policy: Any = None,
    acceptance_criterion: Any = "strict_improvement",
    sampling_strategy: Any = None,
    selection_strategy: Any = None,
    reflection_strategy: Any = None,
    *,
    policy: str = "reflective",
    schedule: str = "async",
    concurrency: int = 64,
    adapter_concurrency: int | None = None,
    models: Mapping[str, Any] | str | Model | None = None,
    budget: Budget | None = None,
    limits: Mapping[str, Any] | None = None,
    metered: bool | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Any:
    """Evolves `seed_candidate` and returns a `GEPAResult`; `gepa.optimize` with many steps at once.

    The arguments up to `reflection_strategy` are `gepa.optimize`'s. Besides:

    - `policy`: what to do with stale steps: "reflective", "guarded" or "full". Without a model of
      ours to ask, "reflective" is "full".
    - `schedule`: "async", or "sync" for one step at a time.
    - `concurrency`: requests in flight on one account, at most.
    - `adapter_concurrency`: calls of the adapter at once; None = one, or many if it is known to be
      safe. Above one, examples are evaluated one by one, a rollout's minibatch in one call.
    - `models`: role -> name or `fe.Model`, for "task", "reflect" and "repair".
    - `budget`: `fe.Budget(usd=..., seconds=...)`; `max_metric_calls` is merged into it.
    - `limits`: as `[limits]` of a configuration, such as `{"in_flight": 8}`.
    - `metered`: whether all model calls of the adapter go through us.
    - `settings`: what else `flashevolve.optimize` takes, such as `{"speculation": {...}}`.

    Raises:
        FlashEvolveError: a mistake that one line explains.
        Exception: what the adapter raised, with `raise_on_exception`; the run can be resumed.
    """
    return _run(Arguments(**locals())).gepa


def run(seed_candidate: dict[str, str], trainset: Any, *args: Any, **options: Any) -> Finished:
    """Takes what `optimize` takes; returns our result beside gepa's."""
    import inspect

    bound = inspect.signature(optimize).bind(seed_candidate, trainset, *args, **options)
    bound.apply_defaults()
    return _run(Arguments(**bound.arguments))


def _run(given: Arguments) -> Finished:
    check(given)
    train = table("train", given.trainset)
    val = table("val", given.trainset if given.valset is None else given.valset)
    splits = Splits(train=train.examples(), val=val.examples())
    order = tuple(given.seed_candidate)
    n_calls, singly = _concurrency(given)
    adapter = _adapter(given)
    view: View | None = None
    mirror = Mirror(
        lambda: view.state() if view else None,
        val,
        order,
        frontier_type=given.frontier_type,
        track_best_outputs=given.track_best_outputs,
        outputs=lambda candidate: view.outputs(candidate) if view else {},
    )
    port = Port(
        adapter,
        {"train": train, "val": val},
        mirror.texts,
        n_calls=n_calls,
        singly=singly,
        raises=given.raise_on_exception,
        traces=not isinstance(given.acceptance_criterion, str),
    )
    objects = objects_of(given, port, mirror, train, val)
    settings = _settings(given, objects, n_calls)
    prepared = prepare(settings, splits=splits, run=port.run, score=no_score)
    found = Run(prepared)
    view = View(found, port)
    restore(adapter, Path(found.dir))
    found.observe(_keeps(port, mirror, Path(found.dir)))
    stoppers = watch(found, mirror, given)
    telling = Telling(found, mirror, objects, given)
    error: BaseException | None = None
    try:
        result = found.result()
    except AdapterFailed as failed:
        error = failed.original
        how = (
            "call optimize again with the same arguments, and it goes on"
            if given.run_dir is not None
            else f"call optimize again with run_dir={str(found.dir)!r}, and it goes on"
        )
        error.add_note(f"{failed}. The run is in {found.dir}; {how}")
        raise error from None
    except BaseException as failed:
        error = failed
        raise
    finally:
        telling.close(error)
        port.close()
        if isinstance(adapter, ChatAdapter):
            adapter.close()
    if stoppers.error is not None:
        raise stoppers.error
    return Finished(gepa=_gepa_result(given, found, mirror), flashevolve=result)


def _keeps(port: Port, mirror: Mirror, directory: Path) -> Callable[[Record], None]:
    """Returns what writes the adapter's state, where that changed, after each step."""
    written: str | None = None

    def look(record: Record) -> None:
        nonlocal written
        text = port.adapter_state
        if text is None or text == written or not isinstance(record.event, ItemEnded):
            return
        keep(text, directory)
        written = text
        if mirror.state is not None:
            mirror.state.adapter_state = json.loads(text)

    return look


def _gepa_result(given: Arguments, run: Run, mirror: Mirror) -> Any:
    from gepa.core.result import GEPAResult

    state = mirror.sync()
    if state is None:
        raise ConfigError(
            f"{run.dir}: expected the seed to have its scores, found none: the run was stopped "
            "before. Call optimize again with the same run_dir"
        )
    return GEPAResult.from_state(state, run_dir=given.run_dir, seed=given.seed)


def _concurrency(given: Arguments) -> tuple[int, bool]:
    """Returns how many calls of the adapter run at once, and whether it takes examples singly."""
    adapter = given.adapter
    if getattr(adapter, "flashevolve_safe", False):
        return given.adapter_concurrency or given.concurrency, True
    if given.adapter_concurrency is not None:
        return given.adapter_concurrency, False
    if _known_safe(adapter):
        return given.concurrency, False
    if adapter is None and isinstance(given.task_lm, str):
        return 1, False
    name = "task_lm" if adapter is None else type(adapter).__name__
    given.warn(
        f"{name} is called once at a time, as by gepa; if several threads may be in it at once, "
        "adapter_concurrency=N makes N calls at once"
    )
    return 1, False


def _known_safe(adapter: Any) -> bool:
    """Says whether an adapter of gepa's is known to hold nothing that two calls would share."""
    from gepa.adapters.default_adapter.default_adapter import (
        ContainsAnswerEvaluator,
        DefaultAdapter,
    )

    return (
        type(adapter) is DefaultAdapter
        and isinstance(adapter.model, str)
        and type(adapter.evaluator) is ContainsAnswerEvaluator
    )


def _adapter(given: Arguments) -> Any:
    if given.adapter is not None:
        return given.adapter
    if isinstance(given.task_lm, str):
        return ChatAdapter(given.evaluator, n_calls=given.adapter_concurrency or 1)
    from gepa.adapters.default_adapter.default_adapter import DefaultAdapter

    return DefaultAdapter(model=given.task_lm, evaluator=given.evaluator)


def objects_of(given: Arguments, port: Port, mirror: Mirror, train: Any, val: Any) -> Objects:
    """Returns what a workflow needs of the user's objects."""

    def own(value: Any) -> Any:
        return None if isinstance(value, str) else value

    proposer: Any = given.writes_texts or given.custom_candidate_proposer
    return Objects(
        port=port,
        mirror=mirror,
        train=train,
        val=val,
        order=tuple(given.seed_candidate),
        template=given.reflection_prompt_template,
        proposer=proposer,
        proposer_name=next((name for name, one in given.writers.items() if one is not None), ""),
        reflector=given.reflection_strategy,
        selector=own(given.candidate_selection_strategy),
        sampler=own(given.batch_sampler),
        components=own(given.module_selector),
        acceptance=own(given.acceptance_criterion),
        validation=own(given.val_evaluation_policy),
        log=given.say,
        warn=given.warn,
    )


def _settings(given: Arguments, objects: Objects, n_calls: int) -> Any:
    models = _models(given, n_calls)
    policy = given.policy
    if policy in ("reflective", "regenerate") and not models:
        given.say(f"policy {policy} asks a model, and there is none of ours: full stands in for it")
        policy = "full"
    limits = dict(given.limits or {})
    if "in_flight" not in limits and not (given.adapter is None and isinstance(given.task_lm, str)):
        limits["in_flight"] = _in_flight(given, n_calls)
    return settings_from(
        seed=given.seed_candidate,
        algorithm=algorithm_of(given).with_objects(objects),
        policy=policy,
        schedule=given.schedule,
        budget=given.full_budget(),
        models=models or None,
        rng_seed=given.seed,
        run_dir=given.run_dir,
        concurrency=max(given.concurrency, n_calls),
        limits=limits,
        perfect_score=float(given.perfect_score if given.perfect_score is not None else 1.0),
        metered=_metered(given),
        has_run=True,
        **(given.settings or {}),
    )


def _in_flight(given: Arguments, n_calls: int) -> int:
    """Returns how many steps are worth having in flight: more would only grow stale in a queue."""
    if n_calls == 1 and hasattr(given.adapter, "batch_evaluate"):
        return min(given.concurrency, IN_FLIGHT_OF_A_BATCH)
    return min(given.concurrency, max(IN_FLIGHT_AT_LEAST, 2 * n_calls))


IN_FLIGHT_AT_LEAST = 4
"""Some reflect while the adapter, one call at a time, evaluates another's; hence the factor 2."""
IN_FLIGHT_OF_A_BATCH = 32
"""A call of `batch_evaluate` lasts as long as its slowest example; the more it gets, the better."""


def _metered(given: Arguments) -> bool:
    if given.metered is not None:
        return given.metered
    return given.adapter is None and isinstance(given.task_lm, str)


def _models(given: Arguments, n_calls: int) -> dict[str, Any]:
    """Returns our models by role; what `models` names goes before gepa's arguments."""
    models: dict[str, Any] = {}
    if isinstance(given.task_lm, str):
        models["task"] = given.task_lm
    lm = given.reflection_lm
    if isinstance(lm, str):
        models["reflect"] = model_of(lm, given.reflection_lm_kwargs, "reflection_lm_kwargs")
    elif lm is not None:
        if given.full_budget().tokens is not None or given.full_budget().usd is not None:
            raise ConfigError(
                "budget: expected no limit on tokens or dollars with a reflection_lm that is a "
                "function, which tells nobody what it costs, found one. Give the model by name, or "
                "limit max_metric_calls"
            )
        # Who has `batch_complete`, as gepa's own LM, is made for several prompts at once.
        n = given.concurrency if hasattr(lm, "batch_complete") else n_calls
        client = CallableModel(lm, name="reflection_lm", n_calls=n)
        models["reflect"] = Model("reflection_lm", client=client)
    if isinstance(given.models, Mapping):
        return {**models, **given.models}
    return models if given.models is None else {**models, "default": given.models}


def algorithm_of(given: Arguments) -> Adapted:
    """Returns the algorithm that the arguments ask for, without the user's objects."""
    proposer: Proposer = "model"
    if given.writes_texts is not None:
        proposer = "adapter"
    elif given.custom_candidate_proposer is not None:
        proposer = "function"
    elif given.reflection_strategy is not None:
        proposer = "strategy"
    named = {
        "candidate_selection_strategy": given.candidate_selection_strategy,
        "batch_sampler": given.batch_sampler,
        "module_selector": given.module_selector,
        "acceptance_criterion": given.acceptance_criterion,
        "val_evaluation_policy": given.val_evaluation_policy or "full_eval",
    }
    own = tuple(name for name, value in named.items() if not isinstance(value, str))
    chosen: dict[str, Any] = {}
    if "candidate_selection_strategy" not in own:
        chosen["selection"] = given.candidate_selection_strategy
    if "module_selector" not in own:
        chosen["components"] = given.module_selector
    if "acceptance_criterion" not in own:
        chosen["acceptance"] = ACCEPTANCE[given.acceptance_criterion]
    return Adapted(
        frontier=given.frontier_type,
        minibatch=_minibatch(given),
        merge=given.use_merge and len(given.seed_candidate) > 1,
        merge_max=given.max_merge_invocations,
        merge_overlap_floor=given.merge_val_overlap_floor,
        skip_perfect=given.skip_perfect_score,
        proposer=proposer,
        own=own,
        **chosen,
    )


def _minibatch(given: Arguments) -> int:
    """Returns how many examples a step takes at most."""
    if isinstance(given.batch_sampler, str):
        return given.reflection_minibatch_size or 3
    own = getattr(given.batch_sampler, "minibatch_size", None)
    return own if isinstance(own, int) and own > 0 else 3
