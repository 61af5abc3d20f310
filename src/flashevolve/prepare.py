"""Prepare: from settings to a checked plan of a run, before anything is written or paid for."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from flashevolve._version import __version__
from flashevolve.artifact import Artifact
from flashevolve.config import Model, Settings, dump
from flashevolve.config.compare import ADDED_LATER
from flashevolve.data.fingerprint import file_fingerprint, fingerprint
from flashevolve.data.imports import load_function
from flashevolve.data.loaders import Splits, check_text
from flashevolve.data.metrics import score_function, workload_of, workload_run
from flashevolve.data.splits import load_data
from flashevolve.engine.engine import Options
from flashevolve.engine.session import Plan, limits_of
from flashevolve.engine.speculation import check_speculation
from flashevolve.engine.usercode import LatencyOf, takes_context
from flashevolve.engine.workflow import Setup, Workflow
from flashevolve.errors import ConfigError
from flashevolve.events import RunStarted
from flashevolve.llm.calls import Endpoint, Reuse
from flashevolve.llm.deadline import TailDeadline
from flashevolve.llm.limiter import Limiter
from flashevolve.llm.messages import json_bound_tokens
from flashevolve.llm.prices import Price
from flashevolve.llm.registry import account, connect, key_env
from flashevolve.llm.registry import price as price_of
from flashevolve.llm.retry import RetryPolicy
from flashevolve.policies.budget import Resource
from flashevolve.policies.control import Control
from flashevolve.policies.speculation import Speculation
from flashevolve.policies.staleness import ASKING, Staleness
from flashevolve.preflight import (
    check_artifact,
    check_control,
    preflight,
    shown_input,
    without_effect,
)
from flashevolve.task import SPLITS, RunFunction, ScoreFunction, Task
from flashevolve.workloads.registry import WORKLOADS

if TYPE_CHECKING:
    from flashevolve.simulate.world import World

DEFAULT_ROLE = ""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A checked run that has not begun."""

    settings: Settings
    splits: Splits
    task: Task
    workflow: Workflow[Any]
    seed: Artifact
    world: "World | None"
    """The simulated world; None for real models."""
    start: RunStarted
    """The first event of a new run; its `run_id` is filled in by whoever knows the directory."""
    prices: Mapping[str, Price]
    """By model name; a resumed run keeps those that it began with."""

    @property
    def simulated(self) -> bool:
        """Whether its models answer in virtual time."""
        return self.world is not None

    @property
    def limits(self) -> dict[Resource, float]:
        """What the budget limits, for the ledger."""
        b = self.settings.budget
        return limits_of(
            metric_calls=b.metric_calls, proposals=b.proposals, tokens=b.tokens, usd=b.usd
        )

    def with_recorded_prices(self, recorded: Mapping[str, Mapping[str, float]]) -> "Prepared":
        """Returns a copy that keeps the prices a run began with, where none is configured."""
        own = {model.name for model in all_models(self.settings) if model.price is not None}
        kept = {name: Price(**price) for name, price in recorded.items() if name not in own}
        return replace(self, prices={**self.prices, **kept})

    def continuing(self, recorded: Mapping[str, Any]) -> "Prepared":
        """Returns a copy that goes on as a run with the configuration `recorded` did.

        A run from before there was a choice had fixed workers: unless one is made, it keeps them.
        """
        control = self.settings.control
        if "control" in recorded or "mode" in control.model_fields_set:
            return self
        fixed = control.model_copy(update={"mode": ADDED_LATER["control", "mode"]})
        return replace(self, settings=self.settings.model_copy(update={"control": fixed}))

    def plan(
        self, start: RunStarted, changes: Mapping[str, Any], reuse: Reuse | None = None
    ) -> Plan:
        """Returns what a session needs."""
        settings = self.settings
        limits = settings.limits
        return Plan(
            workflow=self.workflow,
            task=self.task,
            seed=self.seed,
            endpoints=self._endpoints,
            options=self._options(),
            history_tokens=settings.staleness.history_tokens,
            repair_prompt=settings.staleness.repair_prompt,
            repair_batch=settings.staleness.repair_batch,
            history=settings.staleness.history,
            gap_rule=settings.staleness.gap,
            gateway_port=settings.gateway.port,
            key_envs=frozenset(filter(None, map(key_env, all_models(settings)))),
            max_threads=limits.max_threads,
            max_parallel=limits.concurrency,
            retry=RetryPolicy(
                max_attempts=1 + limits.retries,
                max_total_s=limits.retry_total_s,
                first_wait_s=limits.retry_wait_s,
            ),
            start=start,
            reuse=reuse,
            changes=changes,
            score_latency_s=self._score_latency_s(),
        )

    def _score_latency_s(self) -> LatencyOf | None:
        """Returns what scoring takes in the simulated world, if that says it for this task."""
        workload = workload_of(self.task.score)
        if self.world is None or workload not in self.world.latency:
            return None
        return partial(self.world.latency_s, workload)

    def _options(self) -> Options:
        settings = self.settings
        limits = settings.limits
        # One step in flight is the sync schedule: a barrier per stage, and nothing ever stale.
        sync = settings.schedule == "sync"
        staleness = Staleness(
            settings.policy, settings.delta_max, settings.staleness.gap, settings.staleness.when
        )
        return Options(
            in_flight=1 if sync else limits.max_in_flight,
            workers=1 if sync else limits.max_workers,
            queue=1 if sync else limits.queue_items,
            control=Control() if sync else control_of(settings),
            staleness=staleness,
            speculation=speculation_of(settings),
            rng_seed=settings.seed,
            deadline_s=settings.budget.seconds,
            grace_s=settings.budget.grace_s,
        )

    def _endpoints(
        self, report: Callable[[str, int, str], None]
    ) -> Mapping[str, Sequence[Endpoint]]:
        """Connects every role's models; those of one account share a limiter."""
        limiters: dict[str, Limiter] = {}
        shared: dict[str, Any] = {}

        def endpoint(model: Model) -> Endpoint:
            name = account(model)
            if name not in limiters:
                ceiling = self.settings.limits.concurrency
                limiters[name] = Limiter(name, ceiling, on_change=report)
            return Endpoint(
                label=model.name,
                model=connect(model, os.environ, shared, self.settings.simulation.world),
                limiter=limiters[name],
                price=self.prices.get(model.name),
                parameters={
                    "max_output_tokens": model.max_output_tokens,
                    "temperature": model.temperature,
                    "reasoning_effort": model.reasoning_effort,
                },
                extra_input_tokens=json_bound_tokens(model.extra_body) if model.extra_body else 0,
                weight=model.weight,
                deadline=TailDeadline(model.timeout_s),
            )

        settings = self.settings
        roles = {role: [endpoint(m) for m in models] for role, models in settings.models.items()}
        if settings.model is not None:
            roles[DEFAULT_ROLE] = [endpoint(settings.model)]
        return roles


def prepare(
    settings: Settings,
    *,
    splits: Splits | None = None,
    run: RunFunction | None = None,
    score: ScoreFunction | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Prepared:
    """Loads, imports and checks everything that a run needs.

    `splits`, `run` and `score` stand in for what the settings name, where Python hands them over;
    `environ` is where keys are looked for.

    Raises `ConfigError`, `DataError` or `TaskError`, each one line.
    """
    splits = splits if splits is not None else load_data(settings.data)
    base = settings.run.base
    is_built_in = run is None and settings.task.run is None
    if run is None and settings.task.run is not None:
        run = load_function(settings.task.run, base, key="task.run")
    elif is_built_in:
        # What a built-in task asks of its models goes through us.
        run = workload_run(settings.task, [e for split in SPLITS for e in splits[split]])
    if score is None:
        score = score_function(settings.task, base)
    task = Task(
        train=splits.train,
        val=splits.val,
        test=splits.test,
        run=run,
        input=settings.task.input,
        score=score,
        failure_score=settings.task.failure_score,
        perfect_score=settings.task.perfect_score,
        replicas=settings.task.replicas,
        metered=settings.task.all_metered,
    )
    check_artifact(settings.artifact, settings.task.workload)
    for name, text in settings.artifact.items():
        check_text([name, text], f"artifact.{name.encode(errors='replace').decode()}")
    seed = Artifact(settings.artifact)
    shown = settings.task.input if run is None else None
    if is_built_in and run is not None:
        column = shown_input(settings, splits.train)
        shown = column if _shows_input_only(settings) else None
    setup = Setup(
        seed=seed,
        train_ids=tuple(e.id for e in splits.train),
        val_ids=tuple(e.id for e in splits.val),
        perfect_score=settings.task.perfect_score,
        input=shown,
    )
    workflow = settings.options.workflow(setup)
    check_control(settings, [stage.name for stage in workflow.stages])
    for line in without_effect(settings):
        warnings.warn(line, stacklevel=2)
    check_speculation(workflow, speculation_of(settings))
    world = _world(settings)
    _check(settings, splits, task, workflow, environ)
    prices = _prices(settings)
    return Prepared(
        settings=settings,
        splits=splits,
        task=task,
        workflow=workflow,
        seed=seed,
        world=world,
        start=_first_event(settings, splits, seed, workflow, world, prices),
        prices=prices,
    )


def _shows_input_only(settings: Settings) -> bool:
    """Says whether a built-in task runs on more of an example than reflection should see."""
    workload = WORKLOADS.get(settings.task.workload or "")
    return settings.task.run is None and workload is not None and workload.shows_input_only


def _check(
    settings: Settings,
    splits: Splits,
    task: Task,
    workflow: Workflow[Any],
    environ: Mapping[str, str],
) -> None:
    roles = set(workflow.roles)
    asks = takes_context(task.score, "score")
    if task.run is None:
        roles.add("task")
    else:
        takes_context(task.run, "run")
        asks = True
    if asks:
        # User code may ask any role: what its models cost must be known as well.
        roles |= settings.models.keys() | ({"task"} if settings.model else set())
    never_stale = settings.schedule == "sync" and settings.staleness.when == "stale"
    if settings.policy in ASKING and not never_stale:
        roles.add("repair")
    preflight(
        settings,
        splits,
        score=task.score,
        roles=roles,
        minimum=workflow.minimum(),
        price_of=price_of,
        metered=task.metered,
        own_run=task.run is not None,
    )
    _warn_of_free_models(settings)
    for role in sorted(roles):
        for model in settings.role(role):
            # Sends nothing; refuses a missing key or an unknown preset while no run exists yet.
            try:
                connect(model, environ, {}, settings.simulation.world)
            except ConfigError as error:
                if not account(model, environ).startswith("sim/"):
                    raise
                key = f"models.{role}.name" if role in settings.models else "model.name"
                raise ConfigError(f"{key}: {error}") from None


def control_of(settings: Settings) -> Control:
    """Returns the control policy with its derived defaults."""
    given = settings.control
    return Control(
        mode=given.mode,
        window_s=given.window_s,
        tick_s=given.tick_s,
        k_min=given.k_min,
        k_max=given.k_max or settings.limits.max_workers,
        workers=given.workers,
    )


def speculation_of(settings: Settings) -> Speculation:
    """Returns how much of its results a stage waits for."""
    given = settings.speculation.model_dump()
    return Speculation(**given, perfect_score=settings.task.perfect_score)


def all_models(settings: Settings) -> list[Model]:
    """Returns the configured models, the default first."""
    models = [settings.model] if settings.model is not None else []
    return models + [m for own in settings.models.values() for m in own]


def _warn_of_free_models(settings: Settings) -> None:
    """Says which models a budget in dollars takes as free although they might not be."""
    if settings.budget.usd is None:
        return
    for model in all_models(settings):
        if price_of(model, local_is_free=False) is None and price_of(model) is not None:
            warnings.warn(
                f"model {model.name!r} is on this machine or network and counts as free in "
                "budget.usd; if a proxy there sends a bill, give the model a price",
                stacklevel=4,
            )


def _prices(settings: Settings) -> dict[str, Price]:
    prices = {model.name: price_of(model) for model in all_models(settings)}
    return {name: price for name, price in prices.items() if price is not None}


def _world(settings: Settings) -> "World | None":
    """Returns the world in which the models are simulated; None if they are real."""
    kinds = {account(model).startswith("sim/") for model in all_models(settings)}
    if kinds == {True, False}:
        raise ConfigError(
            "models: expected all simulated (sim/...) or none, found both; simulated models answer "
            "in virtual time and real ones do not"
        )
    if kinds != {True}:
        return None
    # Nobody who calls real models should pay for importing the simulation.
    from flashevolve.simulate.world import load_world

    return load_world(settings.simulation.world)


def _first_event(
    settings: Settings,
    splits: Splits,
    seed: Artifact,
    workflow: Workflow[Any],
    world: "World | None",
    prices: Mapping[str, Price],
) -> RunStarted:
    pool = workflow.new_pool()
    pool_class = type(pool)
    return RunStarted(
        run_id="",
        algorithm=settings.algorithm,
        policy=settings.policy,
        schedule=settings.schedule,
        rng_seed=settings.seed,
        artifact=seed.to_json(),
        config=dump(settings),
        data=_fingerprints(settings, splits),
        pool=f"{pool_class.__module__}:{pool_class.__qualname__}",
        pool_state=pool.dump(),
        stages=[stage.name for stage in workflow.stages],
        simulated=world is not None,
        prices={name: asdict(price) for name, price in prices.items()},
        package=__version__,
        world=world.hash if world is not None else "",
    )


def _fingerprints(settings: Settings, splits: Splits) -> dict[str, dict[str, Any]]:
    found = {str(split): fingerprint(splits[split]) for split in SPLITS}
    if settings.task.corpus is not None:
        found["corpus"] = file_fingerprint(settings.task.corpus)
    return found


def models_in_words(settings: Settings) -> str:
    """Returns the models' names, the default first, for one line of a report."""
    return ", ".join(dict.fromkeys(model.name for model in all_models(settings)))
