"""The Python front door: `optimize`, `aoptimize`, `start` and `resume`.

`optimize` runs to the end, also inside a running event loop (in a thread with a loop of its own);
`aoptimize` runs on the caller's loop, except when the models are simulated, since virtual time
needs its own; `start` returns a `Run` to watch and stop.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flashevolve import rundir
from flashevolve.config import Budget, Model, Settings, resolve
from flashevolve.data.loaders import load_splits
from flashevolve.errors import ConfigError, nearest
from flashevolve.prepare import prepare
from flashevolve.result import Result
from flashevolve.run import Run
from flashevolve.task import RunFunction, ScoreFunction

Examples = Sequence[Mapping[str, Any]] | str | Path


def settings_from(
    *,
    seed: Mapping[str, str],
    algorithm: Any = "gepa",
    policy: str = "reflective",
    schedule: str = "async",
    budget: Budget | None = None,
    models: Mapping[str, Any] | str | Model | None = None,
    rng_seed: int = 0,
    run_dir: str | Path | None = None,
    concurrency: int = 64,
    limits: Mapping[str, Any] | None = None,
    staleness: Mapping[str, Any] | None = None,
    control: Mapping[str, Any] | None = None,
    speculation: Mapping[str, Any] | None = None,
    gateway: Mapping[str, Any] | None = None,
    input: str = "input",
    failure_score: float = 0.0,
    perfect_score: float = 1.0,
    replicas: int = 1,
    metered: bool | None = None,
    world: str | Path | None = None,
    has_run: bool = False,
) -> Settings:
    """Returns the settings that `optimize`'s arguments describe. Raises `ConfigError`."""
    tree: dict[str, Any] = {
        "algorithm": algorithm,
        "policy": policy,
        "schedule": schedule,
        "seed": rng_seed,
        "artifact": dict(seed),
        "task": {
            "input": input,
            "failure_score": failure_score,
            "perfect_score": perfect_score,
            "replicas": replicas,
            "metered": (not has_run) if metered is None else metered,
        },
        "budget": budget if budget is not None else {},
        "limits": {"concurrency": concurrency, **(limits or {})},
        "staleness": dict(staleness or {}),
        "control": dict(control or {}),
        "speculation": dict(speculation or {}),
        "gateway": dict(gateway or {}),
        "simulation": {} if world is None else {"world": str(Path(world).absolute())},
        "run": {} if run_dir is None else {"dir": str(Path(run_dir).absolute())},
    }
    if isinstance(models, Mapping):
        tree["models"] = {role: model for role, model in models.items() if role != "default"}
        if "default" in models:
            tree["model"] = models["default"]
        elif "task" in models or "reflect" in models:
            # A role that is not named falls back on the strongest that is.
            tree["model"] = models.get("reflect", models.get("task"))
    elif models is not None:
        tree["model"] = models
    return resolve(tree, source="optimize()")


def start(
    *,
    seed: Mapping[str, str],
    train: Examples,
    val: Examples,
    test: Examples | None = None,
    run: RunFunction | None = None,
    score: ScoreFunction,
    id_field: str = "id",
    **options: Any,
) -> Run:
    """Starts a run and returns it; takes what `optimize` takes."""
    return _new(seed, train, val, test, run, score, id_field, options).start()


def _new(
    seed: Mapping[str, str],
    train: Examples,
    val: Examples,
    test: Examples | None,
    run: RunFunction | None,
    score: ScoreFunction,
    id_field: str,
    options: Mapping[str, Any],
) -> Run:
    known = settings_from.__kwdefaults__ or {}
    for name in options:
        if name not in known or name == "has_run":
            raise ConfigError(f"optimize() has no argument {name!r}.{nearest(name, known)}")
    _check_arguments(seed, run, score, options)
    settings = settings_from(seed=seed, has_run=run is not None, **options)
    splits = load_splits(train, val, test, id_field=id_field)
    return Run(prepare(settings, splits=splits, run=run, score=score))


def _check_arguments(seed: Any, run: Any, score: Any, options: Mapping[str, Any]) -> None:
    """Refuses what the types forbid and people write nevertheless, each in one line."""
    if not isinstance(seed, Mapping):
        raise ConfigError(
            f"seed: expected component name -> text, such as {{'system': 'Answer.'}}, "
            f"found {seed!r:.60}"
        )
    if run is not None and not callable(run):
        raise ConfigError(f"run: expected a function or None, found {run!r:.60}")
    if not callable(score):
        raise ConfigError(
            f"score: expected a function, found {score!r:.60}. Built-in metrics are named in a "
            f"configuration file"
        )
    algorithm = options.get("algorithm")
    if isinstance(algorithm, type):
        name = algorithm.__name__
        raise ConfigError(
            f"algorithm: expected a name or an instance, found the class {name}. Write {name}()"
        )


def optimize(
    *,
    seed: Mapping[str, str],
    train: Examples,
    val: Examples,
    test: Examples | None = None,
    run: RunFunction | None = None,
    score: ScoreFunction,
    algorithm: Any = "gepa",
    policy: str = "reflective",
    schedule: str = "async",
    budget: Budget | None = None,
    models: Mapping[str, Any] | str | Model | None = None,
    rng_seed: int = 0,
    run_dir: str | Path | None = None,
    concurrency: int = 64,
    id_field: str = "id",
    **options: Any,
) -> Result:
    """Evolves `seed` until the budget ends; returns the best artifact and its scores.

    Args:
        seed: component name -> text; where the evolution starts.
        train: examples to learn from: a sequence of mappings, or a JSONL, JSON or CSV file.
        val: examples that rank the candidates.
        test: examples on which seed and best are scored once, at the end.
        run: `run(artifact, example[, ctx]) -> output`, sync or async; None = one chat call with
            the artifact as system prompt and `example["input"]` as user message.
        score: `score(example, output[, ctx]) -> float | (float, feedback) | Outcome`, sync or
            async; a judging model is asked by `ctx.chat`.
        algorithm: `fe.GEPA(...)`, or a name.
        policy: what to do with stale steps: "reflective", "guarded" or "full"; "regenerate" is a
            control, to be compared with.
        schedule: "async", or "sync" for one step at a time.
        budget: `fe.Budget(metric_calls=..., usd=...)`; at least one limit.
        models: role -> name or `fe.Model`; `{"default": ...}` or a single one serves all roles.
        rng_seed: seed of everything that is drawn at random.
        run_dir: where the run lives; an existing one is resumed. None = a new one in `runs/`.
        concurrency: requests in flight on one account, at most.
        id_field: field of an example that names it.
        options: `input`, `failure_score`, `perfect_score`, `metered`; `replicas`, the times that
            each example of validation and test is run; `world`, a file with a simulated world of
            your own; and the configuration's tables `limits`, `staleness`, `control`,
            `speculation` and `gateway`, such as `{"threads": 8}`, `{"delta_max": 4}`,
            `{"mode": "fixed"}`, `{"evaluate": 0.25}` and `{"port": 8123}`.

    Raises:
        FlashEvolveError: a mistake that one line explains; nothing was spent if it could be known.
    """
    options |= {
        "algorithm": algorithm,
        "policy": policy,
        "schedule": schedule,
        "budget": budget,
        "models": models,
        "rng_seed": rng_seed,
        "run_dir": run_dir,
        "concurrency": concurrency,
    }
    return _new(seed, train, val, test, run, score, id_field, options).result()


async def aoptimize(
    *,
    seed: Mapping[str, str],
    train: Examples,
    val: Examples,
    test: Examples | None = None,
    run: RunFunction | None = None,
    score: ScoreFunction,
    id_field: str = "id",
    **options: Any,
) -> Result:
    """Like `optimize`, on the caller's event loop (in a thread if the models are simulated)."""
    return await _new(seed, train, val, test, run, score, id_field, options).aresult()


def resume(run_dir: str | Path, changes: Mapping[str, Any] | None = None) -> Run:
    """Returns a run directory's run, to be continued with what its first event recorded.

    `changes` is a tree of settings to change: budget, concurrency, endpoint, key. A run that was
    given Python functions is resumed by calling `optimize` again with the same arguments.
    """
    run_dir = Path(run_dir)
    opened = rundir.open_run(run_dir)
    tree = _overlay(opened.started.config, changes or {})
    tree["run"] = {**tree.get("run", {}), "dir": str(run_dir.absolute())}
    settings = resolve(tree, source=str(run_dir))
    if settings.task.metric is None and settings.task.workload is None:
        raise ConfigError(
            f"{run_dir}: this run was started from Python with functions that its directory does "
            f"not hold; call optimize again with the same arguments and run_dir={str(run_dir)!r}"
        )
    return Run(prepare(settings))


def _overlay(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(tree)
    for key, value in changes.items():
        below = merged.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = _overlay(below, value) if both and below is not None else value
    return merged
