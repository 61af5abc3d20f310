"""Preflight: what can only be checked with everything at hand, before money is spent.

Each check raises one line that says what to do; `preflight` runs them all. Nothing here calls a
model, writes a file or runs user code.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

from flashevolve.algorithms.combee.config import Combee
from flashevolve.algorithms.gepa.config import GEPA
from flashevolve.artifact import Artifact
from flashevolve.config.compare import compare
from flashevolve.config.settings import Budget, Model, Settings
from flashevolve.data.fingerprint import content_id
from flashevolve.data.loaders import Splits
from flashevolve.data.metrics import field_of
from flashevolve.engine.evaluation import default_messages
from flashevolve.engine.graph import REPAIR
from flashevolve.engine.item import Minimum
from flashevolve.errors import ConfigError, DataError, nearest
from flashevolve.llm.messages import Request
from flashevolve.llm.prices import Price
from flashevolve.llm.roles import KNOWN_ROLES
from flashevolve.policies.staleness import ASKING
from flashevolve.task import SPLITS, ChecksExamples, Example, ScoreFunction
from flashevolve.workloads.registry import WORKLOADS

PriceOf = Callable[[Model], Price | None]
"""A model's price, from its own settings or the price list; None = not known."""


def preflight(
    settings: Settings,
    splits: Splits,
    *,
    score: ScoreFunction,
    roles: Iterable[str],
    minimum: Minimum,
    price_of: PriceOf,
    metered: bool,
    own_run: bool = False,
) -> None:
    """Runs all checks of a new run; `roles` are those that the algorithm and task will ask.

    `own_run` is True if Python handed over a `run` that the settings do not name.

    Raises `ConfigError` or `DataError`.
    """
    if settings.task.run is None and not own_run:
        check_roles(settings.models, roles)
    models = {role: settings.role(role) for role in sorted(roles)}
    check_staleness(settings)
    check_frontier(settings)
    check_budget(settings.budget)
    check_minimum(settings.budget, minimum, settings.task.replicas)
    check_prices(settings.budget, models, price_of)
    check_metered(settings.budget, metered)
    check_examples(settings, splits, score, own_run=own_run)
    # What user code asks is not known; what another run has paid for may cost nothing.
    if settings.task.run is None and not own_run and settings.run.reuse is None:
        check_request(settings, splits.val, price_of)
    check_overlap(splits, settings.data.id)


def check_artifact(artifact: Mapping[str, str], workload: str | None = None) -> None:
    """Refuses a run with nothing to evolve, or without what its workload runs."""
    if not artifact:
        raise ConfigError(
            "artifact: expected at least one component, found none. For example "
            "--artifact.system 'Answer the question.'"
        )
    known = WORKLOADS.get(workload or "")
    needed = known.component if known else None
    if needed is not None and needed not in artifact:
        raise ConfigError(
            f"artifact: expected a component {needed!r}, which workload {workload!r} runs, found "
            f"{', '.join(artifact)}. Add --artifact.{needed} TEXT"
        )
    read = known.components if known else ()
    for name in artifact if read else ():
        if name not in read:
            raise ConfigError(
                f"artifact.{name}: expected a component that workload {workload!r} reads, one of "
                f"{', '.join(read)}.{nearest(name, read)} Rename or remove it"
            )


def shown_input(settings: Settings, examples: Iterable[Example]) -> str:
    """Returns the column that a built-in program reads, as these examples call it.

    Raises `ConfigError` if `task.input` names another one, which nothing would read, and
    `DataError` if the examples have no name in common.
    """
    name, given = settings.task.workload or "", settings.task.input
    names = (WORKLOADS[name].input, *WORKLOADS[name].other_inputs)
    if given.casefold() not in names:
        raise ConfigError(
            f"task.input: expected {' or '.join(map(repr, names))}, which workload {name!r} reads, "
            f"found {given!r}. Remove it, and rename the column in the file if need be"
        )
    columns = [{str(key).casefold() for key in example} for example in examples]
    found = next((n for n in names if all(n in each for each in columns)), None)
    # What has neither is told of with its line, by the check of the examples.
    if found is None and all(each.intersection(names) for each in columns):
        raise DataError(
            f"data.train: expected {' or '.join(map(repr, names))} in all examples, found some "
            f"with the one and some with the other. Rename one of them"
        )
    return found or names[0]


def check_roles(configured: Iterable[str], asked: Iterable[str]) -> None:
    """Refuses a model for a role that nobody asks: what was meant would fall to another model."""
    known = [*asked, *KNOWN_ROLES]
    for role in configured:
        if role not in known:
            raise ConfigError(
                f"models.{role}: expected a role that this run asks, one of "
                f"{', '.join(dict.fromkeys(known))}.{nearest(role, known)} Rename or remove it"
            )


def check_frontier(settings: Settings) -> None:
    """Refuses to believe in candidates before they can be in any front."""
    frontier = getattr(settings.options, "frontier", None)
    if frontier == "objective" and settings.speculation.evaluate < 1:
        raise ConfigError(
            "speculation.evaluate: expected 1 with frontier = 'objective', whose means need all "
            f"scores, found {settings.speculation.evaluate:g}. Set it to 1, or frontier = 'hybrid'"
        )


def check_staleness(settings: Settings) -> None:
    """Refuses settings of repair that the policy would ignore: a comparison would be of nothing."""
    policy, staleness = settings.policy, settings.staleness
    given = {"history": staleness.history != "full", "when": staleness.when != "stale"}
    for name in (name for name, is_set in given.items() if is_set and policy not in ASKING):
        raise ConfigError(
            f"staleness.{name}: expected policy reflective or regenerate, which ask a model, found "
            f"{policy}. Set --policy reflective, or remove it"
        )
    template = staleness.repair_prompt is not None
    if policy == "regenerate" and (template or staleness.repair_batch > 1):
        name = "repair_prompt" if template else "repair_batch"
        why = "shows the stale text" if template else "asks about several stale texts at once"
        raise ConfigError(
            f"staleness.{name}: expected none with policy regenerate, which withholds the stale "
            f"text, found one that {why}. Remove it, or set --policy reflective"
        )
    if template and staleness.repair_batch > 1:
        raise ConfigError(
            f"staleness.repair_batch: expected 1 with a repair_prompt of your own, which asks "
            f"about one text, found {staleness.repair_batch}. Remove one of the two"
        )


def check_budget(budget: Budget) -> None:
    """Refuses a run without a limit, with three examples of one."""
    if budget.empty:
        raise ConfigError(
            "budget: expected at least one limit, found none. For example "
            "--budget.metric-calls 2000, --budget.usd 5 or --budget.seconds 3600"
        )


def check_minimum(budget: Budget, minimum: Minimum, replicas: int = 1) -> None:
    """Refuses a budget that ends before one step does."""
    metric_calls = minimum.metric_calls + replicas * minimum.shared
    times = f", each on val {replicas} times" if replicas > 1 else ""
    limits = {
        "metric_calls": (budget.metric_calls, metric_calls),
        "proposals": (budget.proposals, minimum.proposals),
    }
    for name, (limit, needed) in limits.items():
        if limit is not None and limit < needed:
            why = f" ({minimum.why}{times})" if minimum.why and name == "metric_calls" else ""
            raise ConfigError(
                f"budget.{name}: expected at least {needed}{why}, which one step needs, "
                f"found {limit}. Raise it: --budget.{name.replace('_', '-')} {needed}"
            )


def check_control(settings: Settings, stages: Iterable[str]) -> None:
    """Refuses bounds that cross, and workers for stages that the algorithm does not have."""
    control, limits = settings.control, settings.limits
    k_max, of = limits.max_workers, "limits.concurrency"
    if control.k_max:
        k_max, of = control.k_max, "control.k_max"
    elif limits.workers or limits.in_flight:
        of = "limits.workers" if limits.workers else "limits.in_flight"
    if control.k_min > k_max:
        raise ConfigError(
            f"control.k_min: expected at most {of} = {k_max}, found {control.k_min}. "
            f"Lower control.k_min, or raise {of}"
        )
    known = [*stages, *([REPAIR] if settings.policy in ASKING else [])]
    for stage, workers in control.workers.items():
        if stage not in known:
            raise ConfigError(
                f"control.workers.{stage}: expected a stage of {settings.algorithm!r}, one of "
                f"{', '.join(known)}.{nearest(stage, known)} Rename or remove it"
            )
        if control.mode != "fixed" and not control.k_min <= workers <= k_max:
            raise ConfigError(
                f"control.workers.{stage}: expected {control.k_min} to {k_max}, the bounds "
                f"control.k_min and {of}, found {workers}. Change one of them, or set "
                'control.mode = "fixed"'
            )


def without_effect(settings: Settings) -> list[str]:
    """Returns a line for each setting that this run would not heed."""
    found, options = [], settings.options
    ahead = min(settings.speculation.rollout, settings.speculation.evaluate) < 1
    if isinstance(options, GEPA) and options.parents * options.proposals > 1 and ahead:
        found.append(
            "speculation has no effect: a step of several proposals waits for all its requests. "
            "Set gepa.parents = 1 and gepa.proposals = 1, or leave speculation out"
        )
    if isinstance(options, Combee) and options.batch != "dynamic":
        default = Combee()
        for key in ("batch_trials", "batch_tau_s", "batch_max"):
            if getattr(options, key) != getattr(default, key):
                found.append(
                    f'combee.{key} has no effect on a fixed batch. Set combee.batch = "dynamic", '
                    "or leave it out"
                )
    control = settings.control
    if control.mode == "paper" and control.window_s < control.tick_s:
        found.append(
            f"control.window_s = {control.window_s:g} is shorter than control.tick_s = "
            f"{control.tick_s:g}: what happens between two windows decides nothing. Raise "
            "control.window_s"
        )
    return found


def check_prices(budget: Budget, models: Mapping[str, Iterable[Model]], price_of: PriceOf) -> None:
    """Refuses a money budget if a model's price is unknown."""
    if budget.usd is None:
        return
    for role, candidates in models.items():
        for model in candidates:
            if price_of(model) is None:
                raise ConfigError(
                    f"budget.usd: expected a known price for every model, found none for "
                    f"{model.name!r} (role {role}). Give it, 0 if it is free: "
                    f"--models.{role}.price '{{input_usd_per_mtok = 0.1, "
                    f"output_usd_per_mtok = 0.4}}', or limit --budget.tokens instead"
                )


def check_metered(budget: Budget, metered: bool) -> None:
    """Refuses token and money budgets that could not see what user code spends."""
    unseen = [name for name in ("tokens", "usd") if getattr(budget, name) is not None]
    if unseen and not metered:
        raise ConfigError(
            f"budget.{unseen[0]}: expected a task whose model calls can be counted, found user "
            f"code with a client of its own. Let it call ctx.chat, or return an Outcome with usage "
            f"for each example, and set task.metered = true; or limit --budget.metric-calls"
        )


def check_examples(
    settings: Settings, splits: Splits, score: ScoreFunction, *, own_run: bool
) -> None:
    """Refuses examples that lack what the metric or the user message is made of."""
    inner = score
    while isinstance(inner, partial):
        inner = inner.func
    for split in SPLITS:
        try:
            if isinstance(inner, ChecksExamples):
                inner.check_examples(splits[split])
            if settings.task.run is None and not own_run:
                for example in splits[split]:
                    field_of(settings.task.input, "task.input", example)
        except DataError as error:
            raise DataError(f"data.{split}: {error}") from None


def check_request(settings: Settings, val: Iterable[Example], price_of: PriceOf) -> None:
    """Refuses a token or money budget below what a single request for the seed may cost.

    The seed is run on every example of val, so the largest of these requests is surely made.
    """
    seed = Artifact(settings.artifact)
    messages = [default_messages(seed, example, settings.task.input) for example in val]
    budget, needed_tokens, needed_usd = settings.budget, [], []
    for model in settings.role("task"):
        most = model.max_output_tokens
        bound = max(Request(messages=tuple(m)).input_bound_tokens for m in messages)
        needed_tokens.append(bound + most)
        price = price_of(model)
        usd = price.cost_usd(tokens_in=bound, tokens_out=most) if price else 0.0
        needed_usd.append(ceil(usd * 1e6 - 1e-3) / 1e6)
    # Where a role has several models, the cheapest may be the one that is asked.
    for name, limit, needed in (
        ("tokens", budget.tokens, min(needed_tokens)),
        ("usd", budget.usd, min(needed_usd)),
    ):
        if limit is not None and limit < needed:
            raise ConfigError(
                f"budget.{name}: expected at least {needed}, which one request for the seed may "
                f"cost (its longest input and max_output_tokens), found {limit}. Raise it: "
                f"--budget.{name} {needed}, or lower max_output_tokens of the task's model"
            )


def check_overlap(splits: Splits, id_field: str = "id") -> None:
    """Refuses the same content in two splits under different ids."""
    seen: dict[str, tuple[str, Example]] = {}
    for split in SPLITS:
        for example in splits[split]:
            known, twin = seen.setdefault(_content(example, id_field), (split, example))
            if known != split:
                raise DataError(
                    f"data.{split}: example {example.id!r} has the same content as {known} example "
                    f"{twin.id!r}; its score would say nothing. Remove it from one of both"
                )


def check_same_run(
    run_dir: Path,
    recorded: Mapping[str, Any],
    now: Mapping[str, Any],
    recorded_data: Mapping[str, Any],
    data: Mapping[str, Any],
) -> None:
    """Refuses to continue a run directory with what a resume may not change.

    `recorded` and `now` are `dump`s; the others hold a fingerprint by split.
    """
    differing = compare(recorded, now)
    differing += [
        f"contents of {name}"
        for name, key in {**{f"data.{s}": s for s in SPLITS}, "task.corpus": "corpus"}.items()
        if recorded_data.get(key) != data.get(key)
    ]
    if differing:
        shown = ", ".join(differing[:5]) + (", ..." if len(differing) > 5 else "")
        raise ConfigError(
            f"{run_dir}: expected the configuration that this run was started with, found "
            f"another: {shown}. Set it back, or choose another --run.dir"
        )


def _content(example: Example, id_field: str) -> str:
    data = {key: value for key, value in example.data.items() if key != id_field}
    try:
        return content_id(data) if data else example.id
    except TypeError:  # not JSON: nothing but its id tells it apart
        return example.id
